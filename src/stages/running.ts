/**
 * The calls that are running, and the one timer of a gateway: it renews their leases in one batch,
 * grows holds that a long stream outgrows, and ends calls whose time is up.
 */
import { UpstreamError } from '../errors.ts';
import type { Nanos } from '../money.ts';
import type { Settings } from '../options.ts';
import type { ExtendInput, ExtendResult } from '../ports/quota-store.ts';
import type { PortGuard } from './port-guard.ts';
import type { Settlement } from './settle.ts';

/** One call, from the moment it was admitted to the end of its reply. */
export interface RunningCall {
  /** The caller has gone. */
  readonly hasLeft: boolean;
  /** Notes that the caller has gone, and aborts what runs for it unless that must run on. */
  leave(): void;
  /** From now on the caller's going no longer ends the upstream call. */
  detach(): void;
  /** How to end what runs upstream just now. */
  onAbort(abort: (reason: Error) => void): void;
  abort(reason: UpstreamError): void;
  /** Keeps the hold of this settlement alive until `done`; the call may take `totalMs`. */
  keep(settlement: Settlement, totalMs: number): void;
  /** How much of the hold the reply has used up so far. */
  observe(observedNanos: () => Nanos): void;
  done(): void;
}

export interface RunningCalls {
  /** A new call, or undefined where the gateway is full. */
  begin(): RunningCall | undefined;
  size(): number;
  /** Resolves once nothing runs. */
  idle(): Promise<void>;
  abortAll(reason: UpstreamError): void;
  /** What the timer does, every second. */
  tick(): Promise<void>;
}

interface Entry {
  settlement: Settlement | undefined;
  deadlineMs: number;
  renewedMs: number;
  observed: (() => Nanos) | undefined;
  refused: boolean;
  abort: (reason: UpstreamError) => void;
}

/** A stream that has used this share of its hold asks for as much again. */
const growAtPercent = 60n;

export function runningCalls(settings: () => Settings, guard: PortGuard): RunningCalls {
  const entries = new Set<Entry>();
  let whenIdle: (() => void)[] = [];

  const remove = (entry: Entry): void => {
    if (!entries.delete(entry) || entries.size > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  };

  const begin = (): RunningCall | undefined => {
    if (entries.size >= settings().maxConcurrentCalls) return undefined;
    let left = false;
    let detached = false;
    let abortCall: ((reason: Error) => void) | undefined;
    const entry: Entry = {
      settlement: undefined,
      deadlineMs: Number.POSITIVE_INFINITY,
      renewedMs: 0,
      observed: undefined,
      refused: false,
      abort: (reason) => abortCall?.(reason),
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
      detach: () => {
        detached = true;
      },
      onAbort: (abort) => {
        abortCall = abort;
        if (left && !detached) abort(new UpstreamError('sent', 'caller_left'));
      },
      abort: entry.abort,
      keep: (settlement, totalMs) => {
        const nowMs = settings().clock.monotonicMs();
        entry.settlement = settlement;
        entry.deadlineMs = nowMs + totalMs;
        entry.renewedMs = nowMs;
      },
      observe: (observedNanos) => {
        entry.observed = observedNanos;
      },
      done: () => remove(entry),
    };
  };

  /** What to add to a hold, or undefined where it is still ample. */
  const growth = ({ settlement, observed }: Entry): Nanos | undefined => {
    if (settlement === undefined || observed === undefined) return undefined;
    const held = settlement.heldNanos();
    return held > 0n && observed() * 100n >= held * growAtPercent
      ? settlement.reservation.nanos
      : undefined;
  };

  const settled = (
    entry: Entry,
    add: Nanos | undefined,
    result: ExtendResult | undefined,
  ): void => {
    if (result?.status === 'held' && add !== undefined) entry.settlement?.grown(add);
    entry.refused = result?.status === 'insufficient';
  };

  const renew = async (due: readonly Entry[]): Promise<void> => {
    const asked = due.map((entry) => ({ entry, add: growth(entry) }));
    const inputs = asked.flatMap(({ entry, add }) => extendInput(entry, add, settings().leaseMs));
    if (inputs.length === 0) return;
    try {
      const results = await guard.ask('quota', 'extend', (options) =>
        settings().quota.extend(inputs, options),
      );
      for (const [index, { entry, add }] of asked.entries()) settled(entry, add, results[index]);
    } catch {
      // Reported by the guard; the lease outlives two more tries.
    }
  };

  return {
    begin,
    size: () => entries.size,
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
      const due: Entry[] = [];
      for (const entry of [...entries]) {
        if (nowMs >= entry.deadlineMs) {
          entry.abort(new UpstreamError('body', 'total_timeout', { timedOut: true }));
        } else if (entry.refused && isUsedUp(entry)) {
          entry.abort(new UpstreamError('body', 'hold_used_up'));
        } else if (entry.settlement !== undefined && nowMs - entry.renewedMs >= renewEveryMs) {
          entry.renewedMs = nowMs;
          due.push(entry);
        }
      }
      await renew(due);
    },
  };
}

function isUsedUp({ settlement, observed }: Entry): boolean {
  return settlement !== undefined && observed !== undefined && observed() >= settlement.heldNanos();
}

function extendInput(
  { settlement }: Entry,
  add: Nanos | undefined,
  ttlMs: number,
): readonly ExtendInput[] {
  if (settlement === undefined) return [];
  const { id, partition, lines, nanos } = settlement.reservation;
  const grow =
    add === undefined ? {} : { add: lines.map(({ amount }) => (amount === nanos ? add : 0n)) };
  return [{ id, partition, ttlMs, ...grow }];
}
