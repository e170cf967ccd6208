/** Calls that came in one turn of the event loop take the next stretch together. */
import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { loopTurn } from '../../src/stages/loop-turn.ts';

it('lets all go on in one turn, in the order in which they asked', async () => {
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

it('begins a new turn for who asks after its end', async () => {
  const endOfTurn = loopTurn();
  const first = endOfTurn();
  await first;

  const second = endOfTurn();

  expect(second).not.toBe(first);
  await expect(second).resolves.toBeUndefined();
});

it('comes although a test of the host has stopped the clocks', async () => {
  vi.useFakeTimers();
  try {
    await expect(loopTurn()()).resolves.toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

it('is a gateway’s own', () => {
  expect(loopTurn()()).not.toBe(loopTurn()());
});
