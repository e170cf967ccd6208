/** Ends a gateway in order: calls first, then what they still owe the stores, then the sockets. */
import type { Clock } from '../clock.ts';
import { UpstreamError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { UpstreamClient } from '../ports/upstream-client.ts';
import type { UsageSink } from '../ports/usage-sink.ts';
import type { Outbox } from './outbox.ts';
import { isAnything } from './port-answers.ts';
import { portGuard } from './port-guard.ts';
import type { RunningCalls } from './running.ts';

/** What there is to end. */
export interface ShutDownDeps {
  readonly calls: RunningCalls;
  readonly outbox: Outbox;
  readonly usage: UsageSink | undefined;
  readonly upstream: UpstreamClient;
  readonly emit: EventListener;
  readonly clock: Clock;
  readonly stopTimer: () => void;
}

/** How long calls may run on where the host says nothing. */
const defaultDrainMs = 10_000;
/** What a timer can wait at most, 24 days: `Infinity` would make it fire at once. */
const longestDrainMs = 2 ** 31 - 1;
/** How long calls that were cut, and stores that are down, may take to come to an end. */
const graceMs = 2_000;
/** How long a usage sink may take to write what it has buffered. */
const flushMs = 10_000;

/**
 * Lets running calls end for `drainMs`, cuts those that are left with an error of their dialect,
 * and closes what is ours. Never rejects: a sink that can't be flushed is reported.
 */
export async function shutDown(drainMs: number | undefined, ground: ShutDownDeps): Promise<void> {
  const { calls, outbox, usage, upstream, emit, clock, stopTimer } = ground;
  const guard = portGuard(undefined, { clock, storeTimeoutMs: flushMs }, emit);
  await atMost(drainWaitMs(drainMs), calls.idle(), clock);
  calls.abortAll(new UpstreamError('body', 'draining'));
  await atMost(graceMs, calls.idle(), clock);
  stopTimer();
  await atMost(graceMs, outbox.flush(), clock);
  outbox.abandon();
  try {
    await guard.ask('usage', 'close', isAnything, () => usage?.close());
  } catch {
    // Reported by the guard.
  }
  await atMost(graceMs, closed(upstream), clock);
}

function drainWaitMs(drainMs: number = defaultDrainMs): number {
  const waitMs = Math.min(Math.max(drainMs, 1), longestDrainMs);
  return Number.isNaN(waitMs) ? defaultDrainMs : waitMs;
}

async function closed(upstream: UpstreamClient): Promise<void> {
  try {
    await upstream.close();
  } catch {
    // The client is a host's own and failed to close: nothing here could close it better.
  }
}

/** Waits until it is done, or for so long. */
function atMost(waitMs: number, done: Promise<void>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(waitMs, () => {
      stop();
      resolve();
    });
    void done.then(() => {
      stop();
      resolve();
    });
  });
}
