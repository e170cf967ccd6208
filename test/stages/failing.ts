/** How stores and hooks fail, and time that goes on while somebody waits. */
import { StoreUnavailable } from '../../src/ports/call-options.ts';
import type { FakeClock } from '../../src/testing/fake-clock.ts';

/** Ways for a host's function to fail; one that hangs needs the clock moved on. */
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

/** The answer, with time going on as long as it takes, a second at a time. */
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

/** Lets time pass a second at a time, with what is due in between. */
export async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.advance(1_000);
    await turns();
  }
}

/** Two turns of the event loop: promises and what was pushed have gone their way. */
export function turns(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

/** What no type would let a port answer. */
export function mad(answer: unknown): () => never {
  return JSON.parse('{}', () => () => answer);
}
