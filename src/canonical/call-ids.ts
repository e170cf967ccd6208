/** Ids of tool calls: made up where a provider gives none, and fit for every provider. */
import { createHash } from 'node:crypto';

const longest = 64;
const hashLength = 12;
const madeUpLength = 24;

/** `call_` and 24 letters and digits, from the host's own source of ids. */
export function newCallId(ids: () => string): string {
  const text = ids().replace(/[^A-Za-z0-9]/g, '');
  const filled = text.length < madeUpLength ? `${text}${hashOf(text)}` : text;
  return `call_${filled.slice(-madeUpLength)}`;
}

/**
 * The id in letters, digits, `_` and `-`, 64 at most, as strict providers want it. One that must
 * change changes the same way at the call and at its result.
 */
export function portableCallId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  const plain = id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, longest - hashLength - 1);
  return `${plain}_${hashOf(id).slice(0, hashLength)}`;
}

/** For a history without ids: always the same for one place, so that prompt caches stay warm. */
export function derivedCallId(turn: number, part: number): string {
  return `call_t${turn}p${part}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
