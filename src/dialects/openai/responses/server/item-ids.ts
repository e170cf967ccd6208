/** Makes the ids of a reply and of its items. */

import { hashOf } from '../../../../canonical/call-ids.ts';
export type IdPrefix = 'resp_tg_' | 'msg_tg_' | 'rs_tg_' | 'fc_tg_' | 'ctc_tg_' | 'ig_tg_';

const longest = 40;
const hashLength = 24;

/** Ids are unique within one reply. Clients and stores require letters, digits, `-` and `_`. */
export function itemIds(newId: () => string): (prefix: IdPrefix) => string {
  const used = new Set<string>();
  return (prefix) => {
    const id = plainId(newId());
    let unique = id;
    for (let count = 2; used.has(unique); count += 1) {
      const suffix = `_${count}`;
      unique = `${id.slice(0, longest - suffix.length)}${suffix}`;
    }
    used.add(unique);
    return `${prefix}${unique}`;
  };
}

/** Two different texts stay different, because the hash of a text that was changed is added. */
function plainId(text: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(text)) return text;
  const plain = text.replace(/[^A-Za-z0-9_-]/g, '').slice(0, longest - hashLength);
  return `${plain}${hashOf(text).slice(0, hashLength)}`;
}
