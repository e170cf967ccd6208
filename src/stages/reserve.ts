/** Holds the quota of a call on every subject its key is charged to, in one atomic step. */
import { GatewayError, isGatewayError } from '../errors.ts';
import type { Nanos } from '../money.ts';
import type { Settings } from '../options.ts';
import type { ApiKey, QuotaSubject } from '../ports/key-store.ts';
import { defaultPartition } from '../ports/quota-input.ts';
import type { Line, ReleaseInput, ReserveResult } from '../ports/quota-store.ts';
import { isReleaseResult, isReserveResult } from './port-answers.ts';
import type { PortGuard } from './port-guard.ts';

/** A hold that stands; whoever has it must end it exactly once. */
export interface Reservation {
  readonly id: string;
  readonly partition: string;
  readonly lines: readonly Line[];
  readonly nanos: Nanos;
}

/**
 * The hold.
 *
 * @throws GatewayError `insufficient_quota`, `rate_limited` for too many at once,
 *   `store_unavailable`
 */
export async function reserve(
  key: ApiKey,
  nanos: Nanos,
  settings: Settings,
  guard: PortGuard,
): Promise<Reservation> {
  const id = settings.ids();
  const partition = key.quotaPartition ?? defaultPartition;
  if (key.quota.length === 0) throw noQuota('unknown_subject');
  const subjects = heldSubjects(key);
  const nowMs = settings.clock.now();
  const lines = subjects.map((subject) => lineOf(subject, subject.counts ? 0n : nanos, nowMs));
  const input = {
    id,
    partition,
    lines,
    ttlMs: settings.leaseMs,
    onExpire: 'release',
    maxInFlight: subjects.map(({ maxInFlight }) => maxInFlight),
  } as const;
  try {
    const result = await guard.ask('quota', 'reserve', isReserveResult(lines.length), (options) =>
      settings.quota.reserve(input, options),
    );
    if (result.status === 'held') return { id, partition, lines, nanos };
    throw refusalOf(result);
  } catch (error) {
    if (isUnanswered(error)) void releaseBlindly({ id, partition, lines }, settings, guard);
    throw error;
  }
}

function isUnanswered(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'store_unavailable';
}

/** The hold may stand although no answer came; a release that overtakes it blocks it. */
async function releaseBlindly(
  input: ReleaseInput,
  { quota }: Settings,
  guard: PortGuard,
): Promise<void> {
  try {
    await guard.ask('quota', 'release', isReleaseResult, (options) =>
      quota.release(input, options),
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
  const { id, quota, maxInFlight } = key;
  if (maxInFlight === undefined) return sorted(quota);
  if (quota.some((subject) => subject.id === id)) {
    return sorted(
      quota.map((subject) =>
        subject.id === id
          ? { ...subject, maxInFlight: Math.min(maxInFlight, subject.maxInFlight ?? maxInFlight) }
          : subject,
      ),
    );
  }
  return sorted([...quota, { id, period: 'total', limitNanos: 0n, maxInFlight, counts: true }]);
}

function sorted(subjects: readonly HeldSubject[]): readonly HeldSubject[] {
  return subjects.length < 2
    ? subjects
    : [...subjects].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

function lineOf(subject: QuotaSubject, nanos: Nanos, nowMs: number): Line {
  return {
    subject: subject.id,
    period: periodName(subject.period, nowMs),
    amount: nanos,
    ...(subject.limitNanos === undefined ? {} : { limit: subject.limitNanos }),
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

function refusalOf({ status }: ReserveResult): GatewayError {
  if (status !== 'too_many_in_flight') return noQuota(status);
  return new GatewayError(
    'rate_limited',
    'Too many requests of this key are running at once. Wait for one to end.',
    { reason: 'in_flight', retryAfterMs: 1_000 },
  );
}

/** One text for every lack: a balance is nobody's business but the host's. */
function noQuota(reason: string): GatewayError {
  return new GatewayError(
    'insufficient_quota',
    'The quota of this key or of its group is not sufficient for this request. ' +
      'Ask whoever issued the key.',
    { reason },
  );
}
