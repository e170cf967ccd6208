// suite: quick runtime
/** Calls that arrived in one turn of the event loop run the next stages together. */
import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { loopTurn } from '../../src/stages/loop-turn.ts';

it('resumes all callers in one turn, in the order in which they waited', async () => {
  const endOfTurn = loopTurn();
  const went: string[] = [];
  const calls = ['first', 'second'].map((name) => endOfTurn().then(() => went.push(name)));

  await Promise.resolve();
  const before = [...went];
  await setImmediate();

  expect(before).toEqual([]);
  expect(went).toEqual(['first', 'second']);
  await Promise.all(calls);
});

it('begins a new turn for callers after its end', async () => {
  const endOfTurn = loopTurn();
  const first = endOfTurn();
  await first;

  const second = endOfTurn();

  expect(second).not.toBe(first);
  await expect(second).resolves.toBeUndefined();
});

it('works although a host’s test has replaced the global timers', async () => {
  vi.useFakeTimers();
  try {
    await expect(loopTurn()()).resolves.toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

it('is separate for each gateway', () => {
  expect(loopTurn()()).not.toBe(loopTurn()());
});
