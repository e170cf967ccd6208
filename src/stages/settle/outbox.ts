/**
 * Delivers the ends of calls to the stores. What a store can't take now is kept in a bounded list
 * and retried with the same id, so that a caller never waits for it and nothing is charged twice.
 */
import type { Clock } from '../../clock.ts';
import type { EventListener, HoldEnd } from '../../events/events.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { QuotaLine, QuotaStore, SettleResult } from '../../ports/limits/quota-store.ts';
import type { UsageRecord, UsageSink } from '../../ports/usage-sink.ts';
import {
  isAnything,
  isExtendResults,
  isReleaseResult,
  isSettleResult,
} from '../ports/port-answers.ts';
import { isPending, type PortCalls, whenKnown } from '../ports/port-calls.ts';

export interface Delivery {
  readonly requestId: string;
  readonly end: HoldEnd;
  readonly quota: QuotaStore;
  readonly ports: PortCalls;
  /** Emits in the asynchronous context of the call. */
  readonly emit: EventListener;
  /** Called with the answer to a charge that the store has taken; never throws. */
  readonly onSettled?: (result: SettleResult, lines: readonly QuotaLine[]) => void;
  /** Called once if the store takes it in a later attempt; never rejects. */
  onLateDelivery?: () => MaybePromise<void>;
}

export interface Outbox {
  /** True if the store has taken it now; else it is retried. Never throws or rejects. */
  deliver(delivery: Delivery): MaybePromise<boolean>;
  /** A failure is reported and not retried, because the sink may have written the record. */
  log(record: UsageRecord, sink: UsageSink | undefined, ports: PortCalls): MaybePromise<void>;
  waiting(): { readonly waiting: number; readonly oldestMs: number | undefined };
  /** Retries what is due. Called by the gateway's timer; never rejects. */
  retry(): Promise<void>;
  /** Retries everything once, at shutdown. Never rejects. */
  flush(): Promise<void>;
  /** Reports what still waits to the host and drops it. Later failures are reported at once. */
  abandon(): void;
}

interface QueuedDelivery {
  readonly delivery: Delivery;
  readonly sinceMs: number;
  readonly dueMs: number;
  readonly waitMs: number;
}

/** Shorter than any store remembers ended holds: a later settle could charge twice. */
const maxAgeMs = 15 * 60_000;
const minWaitMs = 100;
const maxWaitMs = 10_000;
const maxWaiting = 100_000;
/** How many deliveries are tried at once, so that a store that has recovered is not overloaded. */
const batchSize = 64;

interface OutboxState {
  readonly clock: Clock;
  readonly queue: Set<QueuedDelivery>;
  currentPass: Promise<void> | undefined;
  isAbandoned: boolean;
}

export function outbox(clock: Clock): Outbox {
  const queue = new Set<QueuedDelivery>();
  const state: OutboxState = { clock, queue, currentPass: undefined, isAbandoned: false };
  return {
    deliver: (delivery) =>
      whenKnown(tryDelivery(delivery), (isTaken) => isTaken || enqueueNew(state, delivery)),
    log: (record, sink, ports) => {
      if (sink === undefined) return undefined;
      try {
        const answer = ports.ask('usage', 'record', isAnything, () => sink.record(record));
        return isPending(answer) ? answer.catch(reportedAlready) : undefined;
      } catch {
        return reportedAlready();
      }
    },
    waiting: () => waitingIn(state),
    retry: async () => {
      if (state.currentPass !== undefined) return;
      const nowMs = clock.monotonicMs();
      const due = [...queue].filter(({ dueMs }) => dueMs <= nowMs);
      state.currentPass = retryAll(state, due);
      await state.currentPass;
      state.currentPass = undefined;
    },
    flush: async () => {
      await state.currentPass;
      await retryAll(state, [...queue]);
    },
    abandon: () => {
      state.isAbandoned = true;
      for (const { delivery } of queue) reportLost(delivery);
      queue.clear();
    },
  };
}

/** `ports.ask` has emitted an event. */
function reportedAlready(): void {}

function waitingIn({ queue, clock }: OutboxState): ReturnType<Outbox['waiting']> {
  let sinceMs: number | undefined;
  for (const entry of queue) sinceMs = Math.min(sinceMs ?? entry.sinceMs, entry.sinceMs);
  const oldestMs = sinceMs === undefined ? undefined : clock.monotonicMs() - sinceMs;
  return { waiting: queue.size, oldestMs };
}

function enqueueNew(state: OutboxState, delivery: Delivery): false {
  const nowMs = state.clock.monotonicMs();
  enqueue(state, { delivery, sinceMs: nowMs, dueMs: nowMs + minWaitMs, waitMs: minWaitMs });
  return false;
}

function enqueue(state: OutboxState, entry: QueuedDelivery): void {
  if (!state.isAbandoned && state.queue.size < maxWaiting) state.queue.add(entry);
  else reportLost(entry.delivery);
}

function reportLost({ requestId, end, emit }: Delivery): void {
  emit({ type: 'settlement_lost', requestId, end });
}

async function retryAll(state: OutboxState, due: readonly QueuedDelivery[]): Promise<void> {
  for (let start = 0; start < due.length; start += batchSize) {
    const batch = due.slice(start, start + batchSize);
    await Promise.all(batch.map((entry) => retryOne(state, entry)));
  }
}

async function retryOne(state: OutboxState, entry: QueuedDelivery): Promise<void> {
  const { queue, clock } = state;
  const { delivery, sinceMs } = entry;
  const nowMs = clock.monotonicMs();
  if (nowMs - sinceMs > maxAgeMs) {
    queue.delete(entry);
    return reportLost(delivery);
  }
  const isTaken = await tryDelivery(delivery);
  if (isTaken) await delivery.onLateDelivery?.();
  // An entry that was abandoned meanwhile has been reported already.
  if (!queue.delete(entry) || isTaken) return;
  const waitMs = Math.min(entry.waitMs * 2, maxWaitMs);
  enqueue(state, { delivery, sinceMs, waitMs, dueMs: nowMs + waitMs });
}

/** True if the store has taken it. `ports.ask` reports what the store throws. */
function tryDelivery(delivery: Delivery): MaybePromise<boolean> {
  try {
    const answer = askToEnd(delivery);
    return isPending(answer) ? answer.then(isTaken, isNotTaken) : true;
  } catch {
    return false;
  }
}

const isTaken = (): boolean => true;
const isNotTaken = (): boolean => false;

function askToEnd({ end, quota, ports, onSettled }: Delivery): MaybePromise<unknown> {
  switch (end.operation) {
    case 'settle':
      return whenKnown(
        ports.ask('quota', 'settle', isSettleResult, (options) => quota.settle(end.input, options)),
        (result) => onSettled?.(result, end.input.lines),
      );
    case 'release':
      return ports.ask('quota', 'release', isReleaseResult, (options) =>
        quota.release(end.input, options),
      );
    case 'extend':
      return ports.ask<unknown>('quota', 'extend', isExtendResults(1), (options) =>
        quota.extend([end.input], options),
      );
  }
}
