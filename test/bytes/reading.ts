/** What the tests of `readBody` share: a body being read, with a budget and a clock that tell. */
import { Readable } from 'node:stream';
import { bytesOf } from '../../src/bytes/body/body.ts';
import { type ByteBudget, byteBudget } from '../../src/bytes/body/budget.ts';
import { readBody } from '../../src/bytes/body/read.ts';
import type { GatewayRequest, IncomingHeaders } from '../../src/http.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

/** One body being read. */
export interface Reading {
  /** All of its bytes. */
  readonly result: Promise<Uint8Array>;
  readonly budget: CountedBudget;
  readonly clock: CountedClock;
  readonly leave: () => void;
}

/** A budget that tells what is taken of it. */
export interface CountedBudget extends ByteBudget {
  heldBytes(): number;
}

/** A clock that tells how many timers it was asked for, and how many still run. */
export interface CountedClock extends FakeClock {
  started(): number;
  running(): number;
}

/** Begins to read a body: of 1000 bytes at most, with room for it, unless said otherwise. */
export function reading(
  body: GatewayRequest['body'],
  given: {
    readonly headers?: IncomingHeaders;
    readonly budget?: ByteBudget;
    readonly maxBytes?: number;
  } = {},
): Reading {
  const { headers = {}, maxBytes = 1000 } = given;
  const leavers: (() => void)[] = [];
  const budget = countedBudget(given.budget ?? byteBudget(1e9));
  const clock = countedClock();
  const onClose = (listener: () => void) => {
    leavers.push(listener);
  };
  const read = async () => {
    const limits = { maxBytes, budget, clock };
    const whole = await readBody({ headers, body, onClose }, limits);
    return bytesOf(whole, 0, whole.text.length);
  };
  const leave = () => {
    for (const listener of leavers) listener();
  };
  return { result: read(), budget, clock, leave };
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

/** A stream that the test pushes into. */
export function pushable(): Readable {
  return new Readable({ read() {} });
}

/** Of the events that a reader listens to; streams have listeners of their own for others. */
export function listenersOf(stream: Readable): readonly (string | symbol)[] {
  const events = ['data', 'end', 'error', 'close', 'readable', 'aborted'];
  return events.filter((event) => stream.listenerCount(event) > 0);
}
