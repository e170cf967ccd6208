// suite: quick
/** Answers of stores that are promises of another kind than this realm's. */
import { expect, it } from 'vitest';
import { isAnything } from '../../../src/stages/ports/port-answers.ts';
import { isPending, portCalls } from '../../../src/stages/ports/port-calls.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';

const then = (resolve: (value: string) => void): void => resolve('kept');

it.each([
  ['an object', { then }],
  ['a function, as RPC stubs are', Object.assign(() => {}, { then })],
])('waits for a thenable that is %s', async (_kind, thenable) => {
  const emit = Object.assign(() => {}, { wants: () => true });
  const ports = portCalls({ requestId: 'r' }, { clock: fakeClock(), storeTimeoutMs: 50 }, emit);

  const answer = ports.ask<unknown>('usage', 'record', isAnything, () => thenable);

  expect(isPending(answer)).toBe(true);
  expect(await answer).toBe('kept');
});
