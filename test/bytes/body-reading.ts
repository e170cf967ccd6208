/**
 * Shared by the tests of `readBody`: a body being read, with a budget and a clock that can be
 * inspected.
 */
import { Readable } from 'node:stream';
import { originalBytes } from '../../src/bytes/body/body.ts';
import type { ByteBudget } from '../../src/bytes/body/fair-shares.ts';
import { contentLengthOf } from '../../src/bytes/body/headers.ts';
import { readBody } from '../../src/bytes/body/read.ts';
import type { GatewayRequest, IncomingHeaders } from '../../src/http.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

/** A body that is being read. */
export interface Reading {
  /** Resolves to all of its bytes. */
  readonly result: Promise<Uint8Array>;
  readonly budget: CountedBudget;
  readonly clock: CountedClock;
  readonly disconnect: () => void;
}

/** A budget that counts the bytes taken. */
export interface CountedBudget extends ByteBudget {
  heldBytes(): number;
}

/** A clock that counts the timers started and running. */
export interface CountedClock extends FakeClock {
  started(): number;
  running(): number;
}

/** Starts reading a body, by default of at most 1,000 bytes and with enough budget. */
export function reading(
  body: GatewayRequest['body'],
  given: {
    readonly headers?: IncomingHeaders;
    readonly budget?: ByteBudget;
    readonly maxBytes?: number;
  } = {},
): Reading {
  const { headers = {}, maxBytes = 1000 } = given;
  const closeListeners: (() => void)[] = [];
  const budget = countedBudget(given.budget ?? byteBudget(1e9));
  const clock = countedClock();
  const onClose = (listener: () => void) => {
    closeListeners.push(listener);
  };
  const read = async () => {
    const limits = { maxBytes, announcedBytes: contentLengthOf(headers), budget, clock };
    const whole = await readBody({ headers, body, onClose }, limits);
    return originalBytes(whole, 0, whole.text.length);
  };
  const disconnect = () => {
    for (const listener of closeListeners) listener();
  };
  return { result: read(), budget, clock, disconnect };
}

/** A budget that no other call shares. */
export function byteBudget(maxBytes: number): ByteBudget {
  let takenBytes = 0;
  return {
    take(bytes) {
      if (takenBytes + bytes > maxBytes) return false;
      takenBytes += bytes;
      return true;
    },
    give(bytes) {
      takenBytes -= bytes;
    },
  };
}

function countedBudget(budget: ByteBudget): CountedBudget {
  let held = 0;
  return {
    take(bytes) {
      const taken = budget.take(bytes);
      if (taken) held += bytes;
      return taken;
    },
    give(bytes) {
      held -= bytes;
      budget.give(bytes);
    },
    heldBytes: () => held,
  };
}

function countedClock(): CountedClock {
  const clock = fakeClock();
  let started = 0;
  let running = 0;
  return {
    ...clock,
    every(intervalMs, tick) {
      const stop = clock.every(intervalMs, tick);
      started += 1;
      running += 1;
      return () => {
        stop();
        running -= 1;
      };
    },
    started: () => started,
    running: () => running,
  };
}

/** A stream for the test to push into. */
export function pushable(): Readable {
  return new Readable({ read() {} });
}

/**
 * The events with listeners, of those that a reader uses; streams have internal listeners for
 * others.
 */
export function listenersOf(stream: Readable): readonly (string | symbol)[] {
  const events = ['data', 'end', 'error', 'close', 'readable', 'aborted'];
  return events.filter((event) => stream.listenerCount(event) > 0);
}
