/** How a call ended, as a word and an icon: many people can't tell the colours apart. */
import { type Child, el } from '../dom.ts';
import { wordsOf } from '../format.ts';
import { type IconName, icon } from '../icons.ts';
import type { Call, Refusal } from '../wire.ts';

type Tone = 'ok' | 'warn' | 'bad' | 'off';

const looks: Readonly<Record<string, { readonly tone: Tone; readonly icon: IconName }>> = {
  complete: { tone: 'ok', icon: 'ok' },
  refused: { tone: 'warn', icon: 'off' },
  not_run: { tone: 'bad', icon: 'bad' },
  failed: { tone: 'bad', icon: 'bad' },
  truncated: { tone: 'bad', icon: 'bad' },
  broken: { tone: 'bad', icon: 'bad' },
  cut: { tone: 'bad', icon: 'bad' },
  caller_left: { tone: 'off', icon: 'next' },
  unknown: { tone: 'warn', icon: 'question' },
};

/** The outcomes that can be filtered by. */
export const outcomeNames: readonly string[] = Object.keys(looks);

/** The word for an outcome. */
export function outcomeWord(outcome: string): string {
  return outcome === 'unknown' ? 'in doubt' : wordsOf(outcome);
}

/** The outcome of a call, or the code of a refusal, and the reason. */
export function outcomeBadge(row: Call | Refusal): Child {
  const isRefusal = row.kind === 'refusal';
  const outcome = isRefusal ? 'refused' : row.outcome;
  const { tone, icon: name } = looks[outcome] ?? { tone: 'off', icon: 'question' };
  // Resolved calls keep their outcome, and are booked then.
  const word = isRefusal
    ? row.code
    : row.kind === 'call' && row.booked && outcome === 'unknown'
      ? 'resolved'
      : outcomeWord(outcome);
  const { reason } = row;
  return el(
    'span',
    { class: 'outcome' },
    el('span', { class: `badge badge-${tone}` }, icon(name), word),
    reason === null ? undefined : el('span', { class: 'reason' }, wordsOf(reason)),
  );
}
