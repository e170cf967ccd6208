/** How a call ended, as a word and an icon: many people can't tell the colours apart. */
import { type Child, el } from '../dom.ts';
import { wordsOf } from '../format.ts';
import { type IconName, icon } from '../icons.ts';
import type { Call, Refusal } from '../wire.ts';

type Tone = 'ok' | 'warn' | 'bad' | 'off';

interface Look {
  readonly tone: Tone;
  readonly icon: IconName;
}

const looks: Readonly<Record<string, Look>> = {
  complete: { tone: 'ok', icon: 'ok' },
  not_run: { tone: 'bad', icon: 'bad' },
  truncated: { tone: 'bad', icon: 'bad' },
  broken: { tone: 'bad', icon: 'bad' },
  cut: { tone: 'bad', icon: 'bad' },
  caller_left: { tone: 'off', icon: 'next' },
  unknown: { tone: 'warn', icon: 'question' },
};

const refusalLook: Look = { tone: 'warn', icon: 'off' };
/** A call that may have run, and whose hold has ended: charged nothing, or by the operator. */
const failedLook: Look = { tone: 'bad', icon: 'bad' };

export const outcomeNames: readonly string[] = [...Object.keys(looks), 'refused'];

export function outcomeWord(outcome: string): string {
  return outcome === 'unknown' ? 'failed or in doubt' : wordsOf(outcome);
}

export function outcomeBadge(row: Call | Refusal): Child {
  const { tone, icon: name, word } = badgeOf(row);
  const { reason, status } = row;
  const more = [reason === null ? '' : wordsOf(reason), status === 200 ? '' : String(status)];
  return el('span', { class: 'outcome' }, [
    el('span', { class: `badge badge-${tone}` }, icon(name), word),
    el('span', { class: 'reason' }, more.filter((text) => text !== '').join(', ')),
  ]);
}

function badgeOf(row: Call | Refusal): Look & { readonly word: string } {
  if (row.kind === 'refusal') return { ...refusalLook, word: row.code };
  const { outcome, booked } = row;
  const look = looks[outcome] ?? { tone: 'off', icon: 'question' };
  if (outcome !== 'unknown') return { ...look, word: wordsOf(outcome) };
  return booked ? { ...failedLook, word: 'failed' } : { ...look, word: 'in doubt' };
}
