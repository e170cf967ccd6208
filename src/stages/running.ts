/**
 * The calls that are running, and the one timer of a gateway: it renews their leases in one batch,
 * grows holds that a long stream outgrows, and ends calls whose time is up.
 */
import { UpstreamError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { Nanos } from '../money.ts';
import type { Settings } from '../options.ts';
import type { ExtendInput, ExtendResult, QuotaStore } from '../ports/quota-store.ts';
import { isExtendResults } from './port-answers.ts';
import type { PortGuard } from './port-guard.ts';
import type { Settlement } from './settle.ts';

/** One call, from the moment it was admitted to the end of its reply. */
export interface RunningCall {
  /** The caller has gone. */
  readonly hasLeft: boolean;
  /** Notes that the caller has gone, and aborts what runs for it unless that must run on. */
  leave(): void;
  /** Something of the call has gone out to an upstream. */
  readonly hasSent: boolean;
  /** Notes that it goes out now, to a channel that allows it `totalMs` from its start. */
  send(totalMs: number): void;
  /** From now on the caller's going no longer ends the upstream call. */
  detach(): void;
  /** How to end what runs upstream just now; done at once where the call was aborted before. */
  onAbort(abort: (reason: Error) => void): void;
  /** Keeps the hold of this settlement alive until `done`; the call may take `totalMs`. */
  keep(settlement: Settlement, totalMs: number): void;
  /** How much of the hold the reply has used up so far. */
  observe(observedNanos: () => Nanos): void;
  /** What to give back when the call is done. */
  onDone(giveBack: () => void): void;
  done(): void;
}

/** All of them. */
export interface RunningCalls {
  /** A new call, or undefined where the gateway is full. */
  begin(): RunningCall | undefined;
  /** Resolves once nothing runs. */
  idle(): Promise<void>;
  abortAll(reason: UpstreamError): void;
  /** What the timer does, every second. Never rejects. */
  tick(): Promise<void>;
}

interface Entry {
  settlement: Settlement | undefined;
  deadlineMs: number;
  renewedMs: number;
  observed: () => Nanos;
  refused: boolean;
  /** The store has no such hold any more: there is nothing to renew. */
  lapsed: boolean;
  giveBack: () => void;
  readonly abort: (reason: UpstreamError) => void;
}

/** An entry whose hold stands. */
type HoldingEntry = Entry & { readonly settlement: Settlement };

/** A stream that has used this share of its hold asks for as much again. */
const growAtPercent = 60n;

/** No calls yet. `guard` asks the quota store on behalf of all of them. */
export function runningCalls(
  settings: () => Settings,
  guard: PortGuard,
  emit: EventListener,
): RunningCalls {
  const entries = new Set<Entry>();
  let whenIdle: (() => void)[] = [];

  const remove = (entry: Entry): void => {
    if (!entries.delete(entry)) return;
    entry.giveBack();
    if (entries.size > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  };

  const begin = (): RunningCall | undefined => {
    if (entries.size >= settings().maxConcurrentCalls) return undefined;
    let left = false;
    let detached = false;
    let sent = false;
    let keptMs = 0;
    let aborted: UpstreamError | undefined;
    let abortUpstream: (reason: Error) => void = () => {};
    const entry: Entry = {
      settlement: undefined,
      deadlineMs: Number.POSITIVE_INFINITY,
      renewedMs: 0,
      observed: () => 0n,
      refused: false,
      lapsed: false,
      giveBack: () => {},
      abort: (reason) => {
        aborted ??= reason;
        tellQuietly(abortUpstream, aborted);
      },
    };
    entries.add(entry);
    return {
      get hasLeft() {
        return left;
      },
      leave: () => {
        left = true;
        if (!detached) entry.abort(new UpstreamError('sent', 'caller_left'));
      },
      get hasSent() {
        return sent;
      },
      send: (totalMs) => {
        sent = true;
        entry.deadlineMs = keptMs + totalMs;
      },
      detach: () => {
        detached = true;
      },
      onAbort: (abort) => {
        abortUpstream = abort;
        if (aborted !== undefined) tellQuietly(abort, aborted);
      },
      keep: (settlement, totalMs) => {
        keptMs = settings().clock.monotonicMs();
        entry.settlement = settlement;
        entry.deadlineMs = keptMs + totalMs;
        entry.renewedMs = keptMs;
      },
      observe: (observedNanos) => {
        entry.observed = observedNanos;
      },
      onDone: (giveBack) => {
        entry.giveBack = giveBack;
      },
      done: () => remove(entry),
    };
  };

  const renew = async (quota: QuotaStore, due: readonly HoldingEntry[]): Promise<void> => {
    const { leaseMs } = settings();
    try {
      const asked = due.map((entry) => ({ entry, add: growthOf(entry) }));
      const inputs = asked.map(({ entry, add }) => extendInput(entry, add, leaseMs));
      const results = await guard.ask(
        'quota',
        'extend',
        isExtendResults(inputs.length),
        (options) => quota.extend(inputs, options),
      );
      for (const [index, { entry, add }] of asked.entries()) {
        noteAnswer(entry, add, results[index], emit);
      }
    } catch {
      // Reported by the guard; the lease outlives two more tries.
    }
  };

  return {
    begin,
    idle: () =>
      entries.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            whenIdle.push(resolve);
          }),
    abortAll: (reason) => {
      for (const entry of [...entries]) entry.abort(reason);
    },
    tick: async () => {
      const nowMs = settings().clock.monotonicMs();
      const renewEveryMs = settings().leaseMs / 3;
      const due: HoldingEntry[] = [];
      for (const entry of [...entries].filter(isHolding)) {
        if (nowMs >= entry.deadlineMs) {
          entry.abort(new UpstreamError('body', 'total_timeout', { timedOut: true }));
        } else if (entry.refused && entry.observed() >= entry.settlement.heldNanos()) {
          entry.abort(new UpstreamError('body', 'hold_used_up'));
        } else if (!entry.lapsed && nowMs - entry.renewedMs >= renewEveryMs) {
          entry.renewedMs = nowMs;
          due.push(entry);
        }
      }
      // One store as a rule; two while calls still run that began before the host swapped it.
      const stores = [...new Set(due.map(({ settlement }) => settlement.quota))];
      await Promise.all(
        stores.map((quota) => {
          const held = due.filter(({ settlement }) => settlement.quota === quota);
          const renewal = renew(quota, held);
          for (const { settlement } of held) settlement.renewing(renewal);
          return renewal;
        }),
      );
    },
  };
}

/** A hold that is being ended has no lease to renew: an image may have got a longer one. */
function isHolding(entry: Entry): entry is HoldingEntry {
  return entry.settlement?.isOpen() === true;
}

/** What to add to a hold, or undefined where it is still ample. */
function growthOf({ settlement, observed }: HoldingEntry): Nanos | undefined {
  const held = settlement.heldNanos();
  const isAmple = observed() * 100n < held * growAtPercent;
  return held === 0n || isAmple ? undefined : settlement.reservation.nanos;
}

function noteAnswer(
  entry: HoldingEntry,
  add: Nanos | undefined,
  result: ExtendResult | undefined,
  emit: EventListener,
): void {
  const { settlement } = entry;
  if (result?.status === 'held' && add !== undefined) settlement.grown(add);
  entry.refused = result?.status === 'insufficient';
  // A hold that its own call has ended meanwhile is gone too, as it should be.
  if (result?.status !== 'gone' || !settlement.isOpen()) return;
  entry.lapsed = true;
  emit({ type: 'hold_lapsed', requestId: settlement.requestId, reason: result.as });
}

/** The listener may be that of a host's own client: what it throws must not end the process. */
function tellQuietly(abort: (reason: Error) => void, reason: UpstreamError): void {
  try {
    abort(reason);
  } catch {
    // The call ends all the same: see `sendUpstream`.
  }
}

function extendInput(
  { settlement }: HoldingEntry,
  add: Nanos | undefined,
  ttlMs: number,
): ExtendInput {
  const { id, partition, lines, nanos } = settlement.reservation;
  const grow =
    add === undefined ? {} : { add: lines.map(({ amount }) => (amount === nanos ? add : 0n)) };
  return { id, partition, ttlMs, ...grow };
}
