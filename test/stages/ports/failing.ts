/** Ways in which stores and hooks fail, and helpers that let time pass during a wait. */
import { StoreUnavailable } from '../../../src/ports/call-options.ts';
import type { FakeClock } from '../../../src/testing/fake-clock.ts';

/** Ways for a host's function to fail; for the one that hangs a test must advance the clock. */
export const failures: readonly {
  readonly how: string;
  readonly fail: () => Promise<never>;
}[] = [
  {
    how: 'throws',
    fail: () => {
      throw new StoreUnavailable('down');
    },
  },
  { how: 'rejects', fail: () => Promise.reject(new StoreUnavailable('down')) },
  { how: 'hangs', fail: () => new Promise(() => {}) },
];

/** Waits for a result, advancing the clock a second at a time. */
export async function inTime<T>(clock: FakeClock, answer: Promise<T>): Promise<T> {
  let isOver = false;
  const over = answer.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await turns();
    if (!isOver) clock.advance(1_000);
  }
  return over;
}

/** Lets time pass a second at a time, running what is due in between. */
export async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.advance(1_000);
    await turns();
  }
}

/** Waits two turns of the event loop, in which promises and pushed chunks are handled. */
export function turns(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

/** A port function with a result that its type does not allow. */
export function untyped(answer: unknown): () => never {
  return JSON.parse('{}', () => () => answer);
}
