/** The attempts of a call in their order, each as long as it took. */
import { type Child, el } from '../dom.ts';
import { durationText, sentence, wordsOf } from '../format.ts';
import { icon } from '../icons.ts';
import type { Attempt, CallDetail } from '../wire.ts';

type Why = Pick<Attempt, 'reason' | 'meaning' | 'remedy'>;

export function timeline({ attempts, durationMs }: CallDetail): HTMLElement {
  const tried = attempts.reduce((sum, attempt) => sum + attempt.durationMs, 0);
  const wholeMs = Math.max(1, durationMs, tried);
  let startMs = 0;
  const rows = attempts.map((attempt, index) => {
    const row = rowOf(attempt, index, startMs / wholeMs, attempt.durationMs / wholeMs);
    startMs += attempt.durationMs;
    return row;
  });
  return el('section', { class: 'timeline' }, [
    el('h3', {}, attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`),
    rows.length === 0 ? el('p', { class: 'hint' }, 'No channel was tried.') : el('ol', {}, rows),
  ]);
}

function rowOf(attempt: Attempt, index: number, start: number, share: number): HTMLElement {
  const { channelId, status, reason, mayHaveRun, durationMs } = attempt;
  const isServed = reason === null;
  const bar = el('span', { class: isServed ? 'span served' : 'span failed' });
  bar.style.marginLeft = `${(start * 100).toFixed(2)}%`;
  bar.style.width = `${Math.max(0.6, share * 100).toFixed(2)}%`;
  return el('li', {}, [
    el('p', { class: 'attempt-head' }, [
      icon(isServed ? 'ok' : 'bad'),
      el('span', { class: 'hint' }, `${index + 1}.`),
      el('span', { class: 'id' }, channelId),
      el('span', { class: 'attempt-status' }, status === null ? 'no reply' : String(status)),
      el('span', { class: 'attempt-time' }, durationText(durationMs)),
    ]),
    el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
    isServed ? undefined : whyOf(attempt),
    mayHaveRun && !isServed
      ? el('p', { class: 'hint' }, 'It may have run, and the account may be billed for it.')
      : undefined,
  ]);
}

export function whyOf({ reason, meaning, remedy }: Why): Child {
  const why = meaning ?? (reason === null ? undefined : wordsOf(reason));
  if (why === undefined) return undefined;
  return [
    el('p', { class: 'why' }, sentence(why)),
    remedy === null ? undefined : el('p', { class: 'hint' }, sentence(remedy)),
  ];
}
