/** Holds the quota of a call on every subject its key is charged to, in one atomic step. */
import { GatewayError, isGatewayError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { Nanos } from '../money.ts';
import type { Settings } from '../options.ts';
import { StoreUnavailable } from '../ports/call-options.ts';
import type { ApiKey, QuotaSubject } from '../ports/key-store.ts';
import { defaultPartition } from '../ports/quota-input.ts';
import type { QuotaLine, ReserveInput, ReserveResult } from '../ports/quota-store.ts';
import { formatMoney } from '../prices/amount.ts';
import type { Admitted } from './call-record.ts';
import { isReleaseResult, isReserveResult } from './port-answers.ts';
import type { PortGuard } from './port-guard.ts';
import { quotaLevels } from './quota-levels.ts';
import { tooManyInFlight } from './refuse.ts';
import type { Reservation } from './settlement.ts';

/** Holds quota for a key's calls. */
export type Reserve = (admitted: Admitted) => Promise<Reservation>;

/**
 * Makes the step that holds quota.
 *
 * The step throws a GatewayError `insufficient_quota`, `rate_limited` for too many at once, or
 * `store_unavailable`.
 */
export function reserver(emit: EventListener): Reserve {
  const nameOf = periodNames();
  const noteLevels = quotaLevels(emit);
  return async ({ key, hold: { nanos }, received: { settings, guard } }) => {
    if (key.quota.length === 0) throw noQuota('unknown_subject');
    const subjects = heldSubjects(key);
    const nowMs = settings.clock.now();
    const lines = subjects.map((subject) => lineOf(subject, nameOf(subject.period, nowMs), nanos));
    const partition = key.quotaPartition ?? defaultPartition;
    const hold = { id: settings.ids(), partition, lines, nanos };
    try {
      const result = await guard.ask('quota', 'reserve', isReserveResult(lines.length), (options) =>
        settings.quota.reserve(inputOf(hold, subjects, settings), options),
      );
      noteLevels(lines, result);
      if (result.status === 'held') return hold;
      throw refusalOf(result, { keyId: key.id, nanos });
    } catch (error) {
      // The hold may stand although no answer came.
      if (mayHaveRun(error)) void releaseBlindly(hold, settings, guard);
      throw error;
    }
  };
}

function inputOf(
  { id, partition, lines }: Reservation,
  subjects: readonly HeldSubject[],
  { leaseMs: ttlMs }: Settings,
): ReserveInput {
  const onExpire = 'release';
  if (!subjects.some(isCapped)) return { id, partition, lines, ttlMs, onExpire };
  const maxConcurrentCalls = subjects.map((subject) => subject.maxConcurrentCalls);
  return { id, partition, lines, ttlMs, onExpire, maxConcurrentCalls };
}

function isCapped({ maxConcurrentCalls }: HeldSubject): boolean {
  return maxConcurrentCalls !== undefined;
}

/**
 * False where the store says that nothing was done: one that is gone need not be asked again for
 * each refusal.
 */
function mayHaveRun(error: unknown): boolean {
  if (!isGatewayError(error) || error.code !== 'store_unavailable') return false;
  const { cause } = error;
  return !(cause instanceof StoreUnavailable && cause.outcome === 'not_done');
}

/** A release that overtakes the reserve blocks it. */
async function releaseBlindly(
  { id, partition, lines }: Reservation,
  { quota }: Settings,
  guard: PortGuard,
): Promise<void> {
  try {
    await guard.ask('quota', 'release', isReleaseResult, (options) =>
      quota.release({ id, partition, lines }, options),
    );
  } catch {
    // Reported by the guard; a hold that stands all the same ends with its lease.
  }
}

/** A subject of a hold; one that only counts calls holds no money. */
type HeldSubject = QuotaSubject & { readonly counts?: true };

/**
 * Sorted, as stores lock them. A cap on the key's calls gets a line of its own where it has none.
 */
function heldSubjects(key: ApiKey): readonly HeldSubject[] {
  const { id, quota, maxConcurrentCalls } = key;
  if (maxConcurrentCalls === undefined) return sorted(quota);
  if (quota.some((subject) => subject.id === id)) {
    return sorted(
      quota.map((subject) =>
        subject.id === id
          ? {
              ...subject,
              maxConcurrentCalls: Math.min(
                maxConcurrentCalls,
                subject.maxConcurrentCalls ?? maxConcurrentCalls,
              ),
            }
          : subject,
      ),
    );
  }
  return sorted([
    ...quota,
    { id, period: 'total', limitNanos: 0n, maxConcurrentCalls, counts: true },
  ]);
}

function sorted(subjects: readonly HeldSubject[]): readonly HeldSubject[] {
  return isInOrder(subjects) ? subjects : [...subjects].sort(byId);
}

function isInOrder(subjects: readonly HeldSubject[]): boolean {
  let before: HeldSubject | undefined;
  for (const subject of subjects) {
    if (before !== undefined && before.id > subject.id) return false;
    before = subject;
  }
  return true;
}

function byId(a: HeldSubject, b: HeldSubject): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function lineOf({ id, limitNanos, counts }: HeldSubject, period: string, nanos: Nanos): QuotaLine {
  const amount = counts ? 0n : nanos;
  return limitNanos === undefined
    ? { subject: id, period, amount }
    : { subject: id, period, amount, limit: limitNanos };
}

const dayMs = 86_400_000;

/** {@link periodName}, worked out again when the day turns. */
function periodNames(): typeof periodName {
  let knownDay: number | undefined;
  let month = '';
  let date = '';
  return (period, nowMs) => {
    if (period === 'total') return '';
    const day = Math.floor(nowMs / dayMs);
    if (day !== knownDay) {
      month = periodName('month', nowMs);
      date = periodName('day', nowMs);
      knownDay = day;
    }
    return period === 'month' ? month : date;
  };
}

/** The UTC name of the span that is running: `2026-11-20`, `2026-11`, or nothing for all time. */
export function periodName(period: QuotaSubject['period'], nowMs: number): string {
  switch (period) {
    case 'total':
      return '';
    case 'month':
      return new Date(nowMs).toISOString().slice(0, 7);
    case 'day':
      return new Date(nowMs).toISOString().slice(0, 10);
  }
}

/** The call that a hold was for. */
export interface RefusedCall {
  readonly keyId: string;
  /** What it may cost. */
  readonly nanos: Nanos;
  /** What of that is held already. */
  readonly heldNanos?: Nanos;
}

/** The error of a hold that its store refused, or could not let grow. */
export function refusalOf(
  result: Exclude<ReserveResult, { readonly status: 'held' }>,
  call: RefusedCall,
): GatewayError {
  if (result.status === 'too_many_in_flight') return tooManyInFlight();
  return result.status === 'insufficient' ? notEnough(result, call) : noQuota(result.status);
}

/** The key's owner may know its own balance; that of the group is the host's business. */
function notEnough(
  { subject, available }: Extract<ReserveResult, { readonly status: 'insufficient' }>,
  { keyId, nanos, heldNanos = 0n }: RefusedCall,
): GatewayError {
  const cost = `This request may cost up to ${formatMoney(nanos)}`;
  const left = available + heldNanos;
  const why =
    subject === keyId
      ? `${cost}, and ${formatMoney(left > 0n ? left : 0n)} is left of this key's quota.`
      : `${cost}, and the quota of this key's group is not sufficient.`;
  return new GatewayError('insufficient_quota', `${why} ${askForMore}`, {
    reason: 'insufficient',
  });
}

const askForMore = 'Ask whoever issued the key.';

function noQuota(reason: string): GatewayError {
  return new GatewayError(
    'insufficient_quota',
    `The quota of this key or of its group is not sufficient for this request. ${askForMore}`,
    { reason },
  );
}
