// suite: quick runtime
/** Calls that arrived in one turn of the event loop run the next stages together. */
import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { type LoopTurn, loopTurn } from '../../src/stages/loop-turn.ts';

/** Which of these callers have been called back, in their order. */
function waiting(endOfTurn: LoopTurn, ...names: readonly string[]): readonly string[] {
  const went: string[] = [];
  for (const name of names) endOfTurn(() => went.push(name));
  return went;
}

it('resumes all callers in one turn, in the order in which they waited', async () => {
  const went = waiting(loopTurn(), 'first', 'second');

  await Promise.resolve();
  const before = [...went];
  await setImmediate();

  expect(before).toEqual([]);
  expect(went).toEqual(['first', 'second']);
});

it('begins a new turn for callers after its end, also for one that waits again', async () => {
  const endOfTurn = loopTurn();
  let turns = 0;
  endOfTurn(() => endOfTurn(() => (turns += 1)));
  await setImmediate();
  const later = waiting(endOfTurn, 'later');
  const before = [turns, ...later];

  await setImmediate();

  expect(before).toEqual([0]);
  expect([turns, ...later]).toEqual([1, 'later']);
});

it('works although a host’s test has replaced the global timers', async () => {
  vi.useFakeTimers();
  try {
    await expect(new Promise<void>(loopTurn())).resolves.toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});
