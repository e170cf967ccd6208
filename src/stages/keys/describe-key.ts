/** Answers `GET /v1/key`: the limit and the usage of a key, for its owner. */
import type { JsonObject } from '../../json.ts';
import { maxNanos, type Nanos } from '../../money.ts';
import type { QuotaPeriod, QuotaSubject } from '../../ports/keys/key-store.ts';
import { defaultPartition, nextPeriodMs, periodName } from '../../ports/limits/quota-input.ts';
import type { QuotaState } from '../../ports/limits/quota-store.ts';
import { formatMoney } from '../../prices/amount.ts';
import type { Caller } from '../../protocols/protocol.ts';
import type { Authenticated } from '../call-record.ts';
import { isQuotaStateOrMissing } from '../ports/port-answers.ts';
import { limit } from '../rates/limit.ts';
import { visibleSubjects } from '../settle/reserve.ts';

interface Balance {
  readonly subject: QuotaSubject;
  readonly limit: Nanos;
  readonly used: Nanos;
  readonly held: Nanos;
  /** What can still be held; 0 if the subject is in debt or disabled. */
  readonly remaining: Nanos;
}

/**
 * The document has the members of OpenRouter's `GET /api/v1/key`, as numbers in currency units,
 * and under `tollgate` the exact amounts of each visible subject. Unknown values are null: a quota
 * store keeps the usage for the subject's own period, so that only one of the usages is known.
 *
 * @throws GatewayError `rate_limited`, `store_unavailable`
 */
export async function describeKey(
  authenticated: Authenticated,
  caller: Caller,
): Promise<JsonObject> {
  await limit(authenticated, caller);
  const { key, received } = authenticated;
  const nowMs = received.settings.clock.now();
  const balances = await Promise.all(
    visibleSubjects(key).map((subject) => balanceOf(subject, authenticated, nowMs)),
  );
  const own = balances.find(({ subject }) => subject.id === key.id);
  const main = own ?? balances[0];
  return {
    data: {
      label: key.id,
      limit: main === undefined ? null : units(main.limit),
      limit_remaining: main === undefined ? null : units(main.remaining),
      limit_reset: main === undefined ? null : resetNames[main.subject.period],
      usage: usedIn('total', own),
      usage_daily: usedIn('day', own),
      usage_weekly: usedIn('week', own),
      usage_monthly: usedIn('month', own),
      ...(key.expiresAtMs === undefined ? {} : { expires_at: isoDate(key.expiresAtMs) }),
    },
    tollgate: { quota: balances.map((balance) => exactAmounts(balance, nowMs)) },
  };
}

const resetNames = { total: null, day: 'daily', week: 'weekly', month: 'monthly' } as const;

async function balanceOf(
  subject: QuotaSubject,
  { key, received: { settings, ports } }: Authenticated,
  nowMs: number,
): Promise<Balance> {
  const period = periodName(subject, nowMs);
  const partition = key.quotaPartition ?? defaultPartition;
  const state = await ports.ask('quota', 'read', isQuotaStateOrMissing, (options) =>
    settings.quota.read(subject.id, period, partition, options),
  );
  return { subject, ...amountsOf(subject, state ?? undefined) };
}

/** The limit in the key's record counts before that in the store, as it does for a reserve. */
function amountsOf(
  { limitNanos }: QuotaSubject,
  state: QuotaState | undefined,
): Omit<Balance, 'subject'> {
  const total = clamped((limitNanos ?? state?.limit ?? 0n) + (state?.extra ?? 0n));
  const used = state?.used ?? 0n;
  const held = state?.held ?? 0n;
  const remaining = state?.enabled === false ? 0n : clamped(total - used - held);
  return { limit: total, used, held, remaining };
}

function clamped(amount: bigint): Nanos {
  if (amount < 0n) return 0n;
  return amount > maxNanos ? maxNanos : amount;
}

/** The usage of a month that begins on another day is not that of the calendar month. */
function usedIn(period: QuotaPeriod, own: Balance | undefined): number | null {
  if (own?.subject.period !== period) return null;
  return (own.subject.anchorDay ?? 1) === 1 ? units(own.used) : null;
}

function exactAmounts(balance: Balance, nowMs: number): JsonObject {
  const { id, period, anchorDay, models } = balance.subject;
  const nextMs = nextPeriodMs(balance.subject, nowMs);
  return {
    subject: id,
    period,
    ...(anchorDay === undefined ? {} : { anchor_day: anchorDay }),
    ...(models === undefined ? {} : { models }),
    limit: formatMoney(balance.limit),
    used: formatMoney(balance.used),
    held: formatMoney(balance.held),
    remaining: formatMoney(balance.remaining),
    resets_at: nextMs === undefined ? null : isoDate(nextMs),
  };
}

/** The nearest double. Every amount is below 2^53 nanos, so its conversion is exact. */
function units(nanos: Nanos): number {
  return Number(nanos) / 1_000_000_000;
}

/** The last date that JavaScript can write: a host may state a later end of a key. */
const lastDateMs = 8_640_000_000_000_000;

function isoDate(ms: number): string {
  return new Date(Math.min(ms, lastDateMs)).toISOString();
}
