/**
 * The calls that are running, and the one timer of a gateway: it renews their leases in one batch,
 * grows holds that a long stream outgrows, and ends calls whose time is up.
 */
import { fairShares } from '../bytes/fair-shares.ts';
import { UpstreamError } from '../errors.ts';
import { type EventListener, quietly } from '../events.ts';
import type { Nanos } from '../money.ts';
import type { Settings } from '../options.ts';
import type { PortGuard } from './port-guard.ts';
import { overloaded, tooManyInFlight } from './refuse.ts';
import { type KeptHold, renewLeases } from './renew-leases.ts';
import type { Settlement } from './settle.ts';
import {
  type AttemptWatch,
  overdue as isLate,
  type LastHeard,
  type Waits,
  watchAttempt,
} from './watch-attempt.ts';

/** What the store said to a hold that wants to grow; `denied` where it gave no answer, too. */
export type Growth = 'granted' | 'denied' | 'lapsed';

/** How a reply uses up its hold. */
export interface HoldUse {
  /** How much it has used up so far. */
  readonly nanos: () => Nanos;
  /** The reply is held back until its hold has grown, and nobody is asking for it. */
  readonly isWaiting: () => boolean;
  /** Asks again. */
  readonly retry: () => void;
}

/** One call, from the moment it was admitted to the end of its reply. */
export interface RunningCall {
  /** The caller has gone. */
  readonly hasLeft: boolean;
  /** Notes that the caller has gone, and aborts what runs for it unless that must run on. */
  leave(): void;
  /** Something of the call has gone out to an upstream. */
  readonly hasSent: boolean;
  /** Notes that it goes out now, to a channel that allows it these waits. */
  send(waits: Waits, lastHeard: LastHeard): void;
  /** How many channels it has gone out to. */
  readonly tries: number;
  /** The watch of the try that went out last, undefined while nothing has. */
  readonly attempt: AttemptWatch | undefined;
  /** From now on the caller's going no longer ends the upstream call. */
  detach(): void;
  /** How to end what runs upstream just now; done at once where the call was aborted before. */
  onAbort(abort: (reason: Error) => void): void;
  /** Keeps the hold of this settlement alive until `done`; the call may take `totalMs`. */
  keep(settlement: Settlement, totalMs: number): void;
  /** From now on the reply uses up its hold, which may have to grow. */
  observe(use: HoldUse): void;
  /** Asks the store for more hold, at once; cuts the call where it is used up and there is none. */
  grow(): Promise<Growth>;
  /**
   * From now on the call no longer counts against its key's limit: the end of its hold is on its
   * way to the store, and a caller that has its reply may send the next call.
   */
  uncount(): void;
  /** What else to give back once the call is done; at once where it is done already. */
  onDone(giveBack: () => void): void;
  done(): void;
}

/** A call that wants to begin, before its body is read. */
export interface BeginningCall {
  readonly keyId: string;
  /**
   * How many such calls of the key may run at once in this process; undefined: not limited here.
   */
  readonly maxInFlight: number | undefined;
  /** It has not announced a body above 64 KiB. */
  readonly isSmall: boolean;
}

/** All of them. */
export interface RunningCalls {
  /**
   * A new call.
   *
   * @throws GatewayError `overloaded` where the gateway is full, or the key has its share of it;
   *   `rate_limited` where as many calls of the key run as may
   */
  begin(call: BeginningCall): RunningCall;
  /** Resolves once nothing runs. */
  idle(): Promise<void>;
  abortAll(reason: UpstreamError): void;
  /** What the timer does, every second. Never rejects. */
  tick(): Promise<void>;
}

/** A call, and what the timer knows of it. One object for both: most calls end before a tick. */
interface Entry extends RunningCall, Omit<KeptHold, 'settlement'> {
  /** Where it stands among the others; undefined once it is done. */
  place: number | undefined;
  hasLeft: boolean;
  hasSent: boolean;
  tries: number;
  attempt: AttemptWatch | undefined;
  settlement: Settlement | undefined;
  keptMs: number;
  deadlineMs: number;
  renewedMs: number;
  observed: () => Nanos;
  use: HoldUse | undefined;
  /** A wait was found to be over, and is about to be looked at again. */
  isDoubted: boolean;
  isDetached: boolean;
  isCounted: boolean;
  aborted: UpstreamError | undefined;
  abortUpstream: (reason: Error) => void;
  readonly giveBacks: (() => void)[];
}

/** An entry whose hold stands. */
type HoldingEntry = Entry & KeptHold;

/** No calls yet. `guard` asks the quota store on behalf of all of them. */
export function runningCalls(
  settings: () => Settings,
  guard: PortGuard,
  emit: EventListener,
): RunningCalls {
  // No Set: V8 makes it a new table every few dozen calls, and the old ones, once they are in the
  // old generation, keep every call that stood in them from the young collector.
  const entries: Entry[] = [];
  const slots = fairShares(() => settings().maxConcurrentCalls);
  const countByKey = new Map<string, number>();
  let whenIdle: (() => void)[] = [];

  const remove = (entry: Entry): void => {
    const { place } = entry;
    if (place === undefined) return;
    entry.place = undefined;
    const last = entries.pop();
    if (last !== undefined && last !== entry) {
      last.place = place;
      entries[place] = last;
    }
    entry.uncount();
    for (const giveBack of entry.giveBacks) giveBack();
    if (entries.length > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  };

  const count = (keyId: string, maxInFlight: number): void => {
    const before = countByKey.get(keyId) ?? 0;
    if (before >= maxInFlight) throw tooManyInFlight();
    countByKey.set(keyId, before + 1);
  };

  const uncount = (keyId: string): void => {
    const left = (countByKey.get(keyId) ?? 0) - 1;
    if (left > 0) countByKey.set(keyId, left);
    else countByKey.delete(keyId);
  };

  const begin = ({ keyId, maxInFlight, isSmall }: BeginningCall): RunningCall => {
    if (!slots.take(keyId, 1, { own: 0, isSmall })) throw overloaded();
    try {
      if (maxInFlight !== undefined) count(keyId, maxInFlight);
    } catch (error) {
      slots.give(keyId, 1);
      throw error;
    }
    const entry: Entry = {
      place: entries.length,
      hasLeft: false,
      hasSent: false,
      tries: 0,
      attempt: undefined,
      settlement: undefined,
      keptMs: 0,
      deadlineMs: Number.POSITIVE_INFINITY,
      renewedMs: 0,
      observed: nothingYet,
      use: undefined,
      refused: false,
      lapsed: false,
      isDoubted: false,
      isDetached: false,
      isCounted: maxInFlight !== undefined,
      aborted: undefined,
      abortUpstream: nobody,
      giveBacks: [() => slots.give(keyId, 1)],
      leave: () => {
        entry.hasLeft = true;
        if (!entry.isDetached) abort(entry, new UpstreamError('sent', 'caller_left'));
      },
      send: (waits, lastHeard) => {
        entry.hasSent = true;
        entry.tries += 1;
        entry.deadlineMs = entry.keptMs + waits.totalMs;
        const { clock, callerStallMs } = settings();
        // Only the try ends: the next one must not find the call aborted.
        const end = (reason: UpstreamError): void => entry.abortUpstream(reason);
        entry.attempt = watchAttempt({ waits, callerStallMs, clock, end }, lastHeard);
      },
      detach: () => {
        entry.isDetached = true;
      },
      onAbort: (abortUpstream) => {
        entry.abortUpstream = abortUpstream;
        const reason = entry.aborted;
        if (reason !== undefined) quietly(() => abortUpstream(reason));
      },
      keep: (settlement, totalMs) => {
        const nowMs = settings().clock.monotonicMs();
        entry.settlement = settlement;
        entry.keptMs = nowMs;
        entry.deadlineMs = nowMs + totalMs;
        entry.renewedMs = nowMs;
      },
      observe: (use) => {
        entry.use = use;
        entry.observed = use.nanos;
      },
      grow: () => grow(entry),
      onDone: (giveBack) => {
        if (entry.place !== undefined) entry.giveBacks.push(giveBack);
        else giveBack();
      },
      uncount: () => {
        if (!entry.isCounted) return;
        entry.isCounted = false;
        uncount(keyId);
      },
      done: () => remove(entry),
    };
    entries.push(entry);
    return entry;
  };

  const grow = async (entry: Entry): Promise<Growth> => {
    if (!isHolding(entry) || entry.lapsed) return 'lapsed';
    const { settlement } = entry;
    const before = settlement.heldNanos();
    const { leaseMs, clock } = settings();
    entry.renewedMs = clock.monotonicMs();
    const renewal = renewLeases([entry], settlement.quota, leaseMs, guard, emit);
    settlement.renewing(renewal);
    await renewal;
    if (entry.lapsed) return 'lapsed';
    if (settlement.heldNanos() > before) return 'granted';
    if (isHolding(entry)) overdue(entry, clock.monotonicMs())?.();
    return 'denied';
  };

  /**
   * A host that blocked the event loop makes every wait look over: the turn that ends here has
   * delivered what could be read all the while (FAULTS F74).
   */
  const doubt = (entry: Entry): void => {
    if (entry.isDoubted) return;
    entry.isDoubted = true;
    setImmediate(() => {
      entry.isDoubted = false;
      if (entry.place === undefined || !isHolding(entry)) return;
      quietly(() => overdue(entry, settings().clock.monotonicMs())?.());
    });
  };

  return {
    begin,
    idle: () =>
      entries.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            whenIdle.push(resolve);
          }),
    abortAll: (reason) => {
      for (const entry of [...entries]) abort(entry, reason);
    },
    tick: async () => {
      const nowMs = settings().clock.monotonicMs();
      const renewEveryMs = settings().leaseMs / 3;
      const due: HoldingEntry[] = [];
      for (const entry of entries.filter(isHolding)) {
        if (overdue(entry, nowMs) !== undefined) doubt(entry);
        // A reply that waits for its hold asks every second.
        if (entry.use?.isWaiting()) entry.use.retry();
        else if (!entry.lapsed && nowMs - entry.renewedMs >= renewEveryMs) {
          entry.renewedMs = nowMs;
          due.push(entry);
        }
      }
      await Promise.all(
        batchesOf(due).map((held) => {
          const [{ settlement }] = held;
          const renewal = renewLeases(held, settlement.quota, settings().leaseMs, guard, emit);
          for (const hold of held) hold.settlement.renewing(renewal);
          return renewal;
        }),
      );
    },
  };
}

/** Ends what runs upstream for the call, now and whatever begins later; the first reason counts. */
function abort(entry: Entry, reason: UpstreamError): void {
  entry.aborted ??= reason;
  const first = entry.aborted;
  quietly(() => entry.abortUpstream(first));
}

function nothingYet(): Nanos {
  return 0n;
}

function nobody(): void {}

type Batch = readonly [HoldingEntry, ...HoldingEntry[]];

/**
 * One for each store and partition, so that one that is down takes no other's answer along. Two
 * stores there are while calls still run that began before the host swapped it.
 */
function batchesOf(due: readonly HoldingEntry[]): readonly Batch[] {
  const batches: [HoldingEntry, ...HoldingEntry[]][] = [];
  for (const entry of due) {
    const batch = batches.find(([first]) => isTogether(first, entry));
    if (batch === undefined) batches.push([entry]);
    else batch.push(entry);
  }
  return batches;
}

function isTogether({ settlement: a }: HoldingEntry, { settlement: b }: HoldingEntry): boolean {
  return a.quota === b.quota && a.reservation.partition === b.reservation.partition;
}

/** A hold that is being ended has no lease to renew: an image may have got a longer one. */
function isHolding(entry: Entry): entry is HoldingEntry {
  return entry.settlement?.isOpen() === true;
}

/** What to do about a call whose time is up, or undefined. */
function overdue(entry: HoldingEntry, nowMs: number): (() => void) | undefined {
  if (nowMs >= entry.deadlineMs) {
    return () => abort(entry, new UpstreamError('body', 'total_timeout', { timedOut: true }));
  }
  if (entry.refused && entry.observed() >= entry.settlement.heldNanos()) {
    return () => abort(entry, new UpstreamError('body', 'hold_used_up'));
  }
  return entry.attempt === undefined ? undefined : isLate(entry.attempt, nowMs);
}
