/**
 * Shuts a gateway down in order: first the calls, then what is still to be delivered to the stores,
 * then the sockets.
 */
import type { Clock } from '../clock.ts';
import { UpstreamError } from '../errors.ts';
import type { EventEmitter } from '../events/emitter.ts';
import type { UpstreamClient } from '../ports/upstream-client.ts';
import type { UsageSink } from '../ports/usage-sink.ts';
import type { Cluster } from './cluster.ts';
import { isAnything } from './ports/port-answers.ts';
import { portCalls } from './ports/port-calls.ts';
import type { RefusalRecorder } from './record-refusals.ts';
import type { RunningCalls } from './running.ts';
import type { Outbox } from './settle/outbox.ts';

export interface ShutDownDeps {
  readonly calls: RunningCalls;
  readonly outbox: Outbox;
  readonly refusals: Pick<RefusalRecorder, 'flush' | 'abandon'>;
  readonly cluster: Pick<Cluster, 'leave'>;
  readonly usage: UsageSink | undefined;
  readonly upstream: UpstreamClient;
  readonly events: Pick<EventEmitter, 'emit' | 'closeListeners'>;
  readonly clock: Clock;
  readonly stopTimer: () => void;
}

const defaultDrainMs = 10_000;
/** The longest delay of a timer, 24 days: `Infinity` would make it fire immediately. */
const maxDrainMs = 2 ** 31 - 1;
/** How long calls that were cut, and stores that are down, may take to finish. */
const graceMs = 2_000;
const retryMs = 500;
/** How long a usage sink may take to write what it has buffered. */
const flushMs = 10_000;
const listenersMs = 10_000;

/**
 * Lets running calls finish for `drainMs`, cuts the rest with an error in their dialect, and closes
 * the gateway's resources. A store that is down has the rest of that time to recover. Never
 * rejects: a sink that can't be flushed is reported.
 */
export async function shutDown(drainMs: number | undefined, deps: ShutDownDeps): Promise<void> {
  const { calls, outbox, refusals, cluster, usage, upstream, events, clock, stopTimer } = deps;
  const ports = portCalls(
    { requestId: undefined },
    { clock, storeTimeoutMs: flushMs },
    events.emit,
  );
  const drainUntilMs = clock.monotonicMs() + drainWaitMs(drainMs);
  await waitAtMost(drainWaitMs(drainMs), calls.idle(), clock);
  calls.abortAll(new UpstreamError('body', 'draining'));
  await waitAtMost(graceMs, calls.idle(), clock);
  stopTimer();
  const leftMs = drainUntilMs - clock.monotonicMs();
  await deliver(outbox, Math.max(leftMs, graceMs), clock);
  outbox.abandon();
  await waitAtMost(graceMs, Promise.all([refusals.flush(), cluster.leave()]), clock);
  try {
    await ports.ask('usage', 'close', isAnything, () => usage?.close());
  } catch {
    // `ports.ask` has reported it.
  }
  await waitAtMost(graceMs, closeClient(upstream), clock);
  refusals.abandon();
  // Last, because all of the above may emit events.
  await waitAtMost(listenersMs, events.closeListeners(), clock);
}

function drainWaitMs(drainMs: number = defaultDrainMs): number {
  const waitMs = Math.min(Math.max(drainMs, 1), maxDrainMs);
  return Number.isNaN(waitMs) ? defaultDrainMs : waitMs;
}

async function deliver(outbox: Outbox, forMs: number, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + forMs;
  for (;;) {
    await waitAtMost(Math.max(1, untilMs - clock.monotonicMs()), outbox.flush(), clock);
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0 || outbox.waiting().waiting === 0) return;
    await waitAtMost(Math.min(retryMs, leftMs), new Promise(() => {}), clock);
  }
}

async function closeClient(upstream: UpstreamClient): Promise<void> {
  try {
    await upstream.close();
  } catch {
    // A host's own client failed to close; the gateway can't do more.
  }
}

function waitAtMost(waitMs: number, done: Promise<unknown>, clock: Clock): Promise<void> {
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
