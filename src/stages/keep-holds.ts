/**
 * Keeps the holds of running calls: renews their leases in one batch, lets a hold grow that a long
 * stream outgrows, and ends calls whose time or hold is used up.
 */
import { UpstreamError } from '../errors.ts';
import { type EventListener, swallowErrors } from '../events.ts';
import type { Nanos } from '../money.ts';
import type { Settings } from '../options.ts';
import type { Disconnect } from './disconnect.ts';
import type { PortGuard } from './port-guard.ts';
import { type KeptHold, renewLeases } from './renew-leases.ts';
import type { Settlement } from './settlement.ts';

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

/** Whoever keeps the hold of one call. */
export interface HoldKeeper {
  /** Keeps the hold of this settlement alive until it closes; the call may take `totalMs`. */
  keep(settlement: Settlement, totalMs: number): void;
  /** A channel allows the call another time in all, counted from when its hold was kept. */
  allow(totalMs: number): void;
  /** From now on the reply uses up its hold, which may have to grow. */
  observe(use: HoldUse): void;
  /** Asks the store for more hold, at once; cuts the call where it is used up and there is none. */
  grow(): Promise<Growth>;
}

/** A call whose hold is to be kept. */
export interface KeptCall {
  readonly caller: Pick<Disconnect, 'abort'>;
  /** Not done yet. */
  isRunning(): boolean;
  /** What to do about a wait of its try that is over, undefined while none is. */
  overdue(nowMs: number): (() => void) | undefined;
}

/** One hold, as the timer sees it. */
export interface KeptEntry extends HoldKeeper, Omit<KeptHold, 'settlement'> {
  readonly call: KeptCall;
  settlement: Settlement | undefined;
  keptMs: number;
  deadlineMs: number;
  renewedMs: number;
  observed: () => Nanos;
  use: HoldUse | undefined;
  /** A wait was found to be over, and is about to be looked at again. */
  isDoubted: boolean;
}

/** An entry whose hold stands. */
type HoldingEntry = KeptEntry & KeptHold;

/** All of them. */
export interface HoldKeepers {
  begin(call: KeptCall): KeptEntry;
  /** What the timer does, every second. Never rejects. */
  tick(entries: readonly KeptEntry[]): Promise<void>;
}

/** `guard` asks the quota store on behalf of all calls. */
export function holdKeepers(
  settings: () => Settings,
  guard: PortGuard,
  emit: EventListener,
): HoldKeepers {
  const grow = async (entry: KeptEntry): Promise<Growth> => {
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
   * delivered what could be read all the while.
   */
  const doubt = (entry: KeptEntry): void => {
    if (entry.isDoubted) return;
    entry.isDoubted = true;
    setImmediate(() => {
      entry.isDoubted = false;
      if (!entry.call.isRunning() || !isHolding(entry)) return;
      swallowErrors(() => overdue(entry, settings().clock.monotonicMs())?.());
    });
  };

  const dueOf = (entries: readonly KeptEntry[]): readonly HoldingEntry[] => {
    const { clock, leaseMs } = settings();
    const nowMs = clock.monotonicMs();
    const due: HoldingEntry[] = [];
    for (const entry of entries.filter(isHolding)) {
      if (overdue(entry, nowMs) !== undefined) doubt(entry);
      // A reply that waits for its hold asks every second.
      if (entry.use?.isWaiting()) entry.use.retry();
      else if (!entry.lapsed && nowMs - entry.renewedMs >= leaseMs / 3) {
        entry.renewedMs = nowMs;
        due.push(entry);
      }
    }
    return due;
  };

  return {
    begin: (call) => {
      const entry: KeptEntry = {
        call,
        settlement: undefined,
        keptMs: 0,
        deadlineMs: Number.POSITIVE_INFINITY,
        renewedMs: 0,
        observed: nothingYet,
        use: undefined,
        refused: false,
        lapsed: false,
        isDoubted: false,
        keep: (settlement, totalMs) => {
          const nowMs = settings().clock.monotonicMs();
          entry.settlement = settlement;
          entry.keptMs = nowMs;
          entry.deadlineMs = nowMs + totalMs;
          entry.renewedMs = nowMs;
        },
        allow: (totalMs) => {
          entry.deadlineMs = entry.keptMs + totalMs;
        },
        observe: (use) => {
          entry.use = use;
          entry.observed = use.nanos;
        },
        grow: () => grow(entry),
      };
      return entry;
    },
    tick: async (entries) => {
      await Promise.all(
        batchesOf(dueOf(entries)).map((held) => {
          const [{ settlement }] = held;
          const renewal = renewLeases(held, settlement.quota, settings().leaseMs, guard, emit);
          for (const hold of held) hold.settlement.renewing(renewal);
          return renewal;
        }),
      );
    },
  };
}

function nothingYet(): Nanos {
  return 0n;
}

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
function isHolding(entry: KeptEntry): entry is HoldingEntry {
  return entry.settlement?.isOpen() === true;
}

/** What to do about a call whose time is up, or undefined. */
function overdue(entry: HoldingEntry, nowMs: number): (() => void) | undefined {
  const { caller } = entry.call;
  if (nowMs >= entry.deadlineMs) {
    return () => caller.abort(new UpstreamError('body', 'total_timeout', { timedOut: true }));
  }
  if (entry.refused && entry.observed() >= entry.settlement.heldNanos()) {
    return () => caller.abort(new UpstreamError('body', 'hold_used_up'));
  }
  return entry.call.overdue(nowMs);
}
