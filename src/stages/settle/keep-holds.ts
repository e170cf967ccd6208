/**
 * Keeps the holds of running calls: renews their leases in batches, grows the holds of long
 * streams, and ends calls whose time or hold is used up.
 */
import type { Clock } from '../../clock.ts';
import { UpstreamError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import { swallowErrors } from '../../events/thrown.ts';
import type { Nanos } from '../../money.ts';
import type { Settings } from '../../options.ts';
import type { ExtendInput, ExtendResult, QuotaStore } from '../../ports/limits/quota-store.ts';
import type { ModelPlan } from '../models/model-plan.ts';
import { isExtendResults } from '../ports/port-answers.ts';
import type { PortCalls } from '../ports/port-calls.ts';
import { reportBug } from '../refuse.ts';
import type { CallerConnection } from '../relay/caller-connection.ts';
import type { Settlement } from './settlement.ts';

/** The result of a request to grow a hold; `denied` also if the store did not answer. */
export type Growth = 'granted' | 'denied' | 'lapsed';

export interface HoldUse {
  readonly nanos: () => Nanos;
  /** The reply is paused until its hold grows, and no request for that is running. */
  readonly isWaiting: () => boolean;
  readonly retry: () => void;
}

export interface HoldKeeper {
  /** The call may take `totalMs`, and with other timeouts no more than `longestMs`. */
  keepAlive(settlement: Settlement, times: Pick<ModelPlan, 'totalMs' | 'longestMs'>): void;
  /** Limits the time of a call without a hold. Its attempts are watched like those of others. */
  limitTime(startedMs: number, totalMs: number): void;
  /** Replaces the total time of the call by that of its channel, from the start of the call. */
  setTotalTimeout(totalMs: number): void;
  observe(use: HoldUse): void;
  /** Cuts the call if the hold is used up and can't grow. */
  grow(): Promise<Growth>;
}

export interface KeptCall {
  readonly caller: Pick<CallerConnection, 'abort'>;
  isRunning(): boolean;
  overdueAction(nowMs: number): (() => void) | undefined;
}

export interface KeptEntry extends HoldKeeper, Omit<KeptHold, 'settlement'> {
  readonly call: KeptCall;
  settlement: Settlement | undefined;
  isWithoutHold: boolean;
  keptMs: number;
  deadlineMs: number;
  longestMs: number;
  renewedMs: number;
  observed: () => Nanos;
  use: HoldUse | undefined;
  /** A timeout seemed to have expired, and is about to be checked again. */
  isRecheckPending: boolean;
}

/** An entry whose hold has not ended. */
type HoldingEntry = KeptEntry & KeptHold;

export interface HoldKeepers {
  begin(call: KeptCall): KeptEntry;
  /** Runs the timer's work, every second. Never rejects. */
  tick(entries: readonly KeptEntry[]): Promise<void>;
}

interface KeepersDeps {
  readonly settings: () => Settings;
  /** Asks the quota store on behalf of all calls. */
  readonly ports: PortCalls;
  readonly emit: EventListener;
}

export function holdKeepers(
  settings: () => Settings,
  ports: PortCalls,
  emit: EventListener,
): HoldKeepers {
  const deps: KeepersDeps = { settings, ports, emit };
  return {
    begin: (call) => new HoldEntry(call, deps),
    tick: async (entries) => {
      await Promise.all(batchesOf(dueForRenewal(entries, deps)).map((held) => renew(held, deps)));
    },
  };
}

class HoldEntry implements KeptEntry {
  readonly call: KeptCall;
  settlement: Settlement | undefined = undefined;
  isWithoutHold = false;
  keptMs = 0;
  deadlineMs: number = Number.POSITIVE_INFINITY;
  longestMs: number = Number.POSITIVE_INFINITY;
  renewedMs = 0;
  observed: () => Nanos = nothingUsed;
  use: HoldUse | undefined = undefined;
  refused = false;
  lapsed = false;
  isRecheckPending = false;
  readonly #deps: KeepersDeps;

  constructor(call: KeptCall, deps: KeepersDeps) {
    this.call = call;
    this.#deps = deps;
  }

  keepAlive(
    settlement: Settlement,
    { totalMs, longestMs }: Pick<ModelPlan, 'totalMs' | 'longestMs'>,
  ): void {
    const { startedMs } = settlement;
    this.settlement = settlement;
    this.keptMs = startedMs;
    this.deadlineMs = startedMs + totalMs;
    this.longestMs = longestMs;
    this.renewedMs = startedMs;
  }

  limitTime(startedMs: number, totalMs: number): void {
    this.isWithoutHold = true;
    this.keptMs = startedMs;
    this.deadlineMs = startedMs + totalMs;
  }

  setTotalTimeout(totalMs: number): void {
    this.deadlineMs = this.keptMs + Math.min(totalMs, this.longestMs);
  }

  observe(use: HoldUse): void {
    this.use = use;
    this.observed = use.nanos;
  }

  grow(): Promise<Growth> {
    return grow(this, this.#deps);
  }
}

async function grow(entry: KeptEntry, deps: KeepersDeps): Promise<Growth> {
  if (!isHolding(entry) || entry.lapsed) return 'lapsed';
  const { settlement } = entry;
  const before = settlement.heldNanos;
  const { clock } = deps.settings();
  entry.renewedMs = clock.monotonicMs();
  await renew([entry], deps);
  if (entry.lapsed) return 'lapsed';
  if (settlement.heldNanos > before) return 'granted';
  if (isHolding(entry)) overdue(entry, clock.monotonicMs(), deps.emit)?.();
  return 'denied';
}

/** Renews the leases of a batch. Never rejects. */
function renew(batch: Batch, { settings, ports }: KeepersDeps): Promise<void> {
  const [{ settlement }] = batch;
  const renewal = renewLeases(batch, settlement.quota, settings().leaseMs, ports);
  for (const hold of batch) hold.settlement.trackRenewal(renewal);
  return renewal;
}

function dueForRenewal(
  entries: readonly KeptEntry[],
  { settings, emit }: KeepersDeps,
): readonly HoldingEntry[] {
  const { clock, leaseMs } = settings();
  const nowMs = clock.monotonicMs();
  const due: HoldingEntry[] = [];
  for (const entry of entries) {
    if (!isTimed(entry)) continue;
    if (overdue(entry, nowMs, emit) !== undefined) recheckLater(entry, clock, emit);
    if (!isHolding(entry)) continue;
    // A reply that is paused for its hold requests growth every second.
    if (entry.use?.isWaiting()) entry.use.retry();
    else if (!entry.lapsed && nowMs - entry.renewedMs >= leaseMs / 3) {
      entry.renewedMs = nowMs;
      due.push(entry);
    }
  }
  return due;
}

/**
 * Checks a timeout again after this turn of the event loop. If the host blocked the loop, every
 * timeout seems to have expired until the turn has delivered what arrived meanwhile.
 */
function recheckLater(entry: KeptEntry, clock: Clock, emit: EventListener): void {
  if (entry.isRecheckPending) return;
  entry.isRecheckPending = true;
  setImmediate(() => {
    entry.isRecheckPending = false;
    if (!entry.call.isRunning() || !isTimed(entry)) return;
    swallowErrors(() => overdue(entry, clock.monotonicMs(), emit)?.());
  });
}

function nothingUsed(): Nanos {
  return 0n;
}

type Batch = readonly [HoldingEntry, ...HoldingEntry[]];

/**
 * Groups the holds by store and partition, so that a failing one does not affect the others. There
 * are two stores while calls still run that began before the host replaced its store.
 */
function batchesOf(due: readonly HoldingEntry[]): readonly Batch[] {
  const batches: [HoldingEntry, ...HoldingEntry[]][] = [];
  for (const entry of due) {
    const batch = batches.find(([first]) => isSameStore(first, entry));
    if (batch === undefined) batches.push([entry]);
    else batch.push(entry);
  }
  return batches;
}

function isSameStore({ settlement: a }: HoldingEntry, { settlement: b }: HoldingEntry): boolean {
  return a.quota === b.quota && a.reservation.partition === b.reservation.partition;
}

/**
 * A settlement that is closed has no lease to renew: the hold of an image in doubt has a longer
 * lease, which a renewal would shorten.
 */
function isHolding(entry: KeptEntry): entry is HoldingEntry {
  return entry.settlement?.isOpen() === true;
}

/** True while the time of a call is limited: as long as it has a hold or, without one, runs. */
function isTimed(entry: KeptEntry): boolean {
  return entry.isWithoutHold || isHolding(entry);
}

/** If the check of one call throws, that call is ended: the others are still checked. */
function overdue(entry: KeptEntry, nowMs: number, emit: EventListener): (() => void) | undefined {
  try {
    return overdueAction(entry, nowMs);
  } catch (cause) {
    return () => {
      reportBug(cause, entry.settlement?.requestId, entry.settlement?.emit ?? emit);
      entry.call.caller.abort(new UpstreamError('body', 'internal_error', { cause }));
    };
  }
}

function overdueAction(entry: KeptEntry, nowMs: number): (() => void) | undefined {
  const { caller } = entry.call;
  if (nowMs >= entry.deadlineMs) {
    return () => caller.abort(new UpstreamError('body', 'total_timeout', { timedOut: true }));
  }
  if (entry.refused && isHolding(entry) && entry.observed() >= entry.settlement.heldNanos) {
    return () => caller.abort(new UpstreamError('body', 'hold_used_up'));
  }
  return entry.call.overdueAction(nowMs);
}

interface KeptHold {
  readonly settlement: Settlement;
  readonly observed: () => Nanos;
  /** The store refused to grow the hold. */
  refused: boolean;
  /** The store no longer has the hold, so there is nothing to renew. */
  lapsed: boolean;
}

/** A hold of which this share is used grows by its initial amount. */
const growAtPercent = 60n;

/** Never rejects: a store that is down is asked again. */
async function renewLeases(
  holds: readonly KeptHold[],
  quota: QuotaStore,
  leaseMs: number,
  ports: PortCalls,
): Promise<void> {
  try {
    const growths = holds.map((hold) => ({ hold, add: growthOf(hold) }));
    const inputs = growths.map(({ hold, add }) => extendInput(hold, add, leaseMs));
    const results = await ports.ask('quota', 'extend', isExtendResults(inputs.length), (options) =>
      quota.extend(inputs, options),
    );
    for (const [index, { hold, add }] of growths.entries()) {
      applyAnswer(hold, add, results[index]);
    }
  } catch {
    // `ports.ask` has reported it; the lease is long enough for two more attempts.
  }
}

function growthOf({ settlement, observed }: KeptHold): Nanos | undefined {
  const held = settlement.heldNanos;
  const isSufficient = observed() * 100n < held * growAtPercent;
  return held === 0n || isSufficient ? undefined : settlement.reservation.nanos;
}

/** The input that renews a lease and adds to every line that holds money. */
export function extendInput(
  { settlement }: Pick<KeptHold, 'settlement'>,
  add: Nanos | undefined,
  ttlMs: number,
): ExtendInput {
  const { id, partition, subjects } = settlement.reservation;
  const grow =
    add === undefined
      ? {}
      : { add: subjects.map(({ onlyCountsCalls }) => (onlyCountsCalls ? 0n : add)) };
  return { id, partition, ttlMs, ...grow };
}

function applyAnswer(
  hold: KeptHold,
  add: Nanos | undefined,
  result: ExtendResult | undefined,
): void {
  const { settlement } = hold;
  if (result?.status === 'held' && add !== undefined) settlement.addHeld(add);
  hold.refused = result?.status === 'insufficient';
  // A hold that its own call has ended meanwhile is `gone` too; that is expected.
  if (result?.status !== 'gone' || !settlement.isOpen()) return;
  hold.lapsed = true;
  settlement.emit({ type: 'hold_lapsed', requestId: settlement.requestId, reason: result.as });
}
