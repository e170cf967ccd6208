/**
 * Ends the hold of a call whose outcome was unknown, once the host has found out what became of it
 * (QUOTA §2.6): the one thing about money that the gateway can't know by itself.
 */
import { ConfigurationError } from '../errors.ts';
import { maxNanos, type Nanos } from '../money.ts';
import type { Settings } from '../options.ts';
import type { QuotaLine, ReleaseResult, SettleResult } from '../ports/quota-store.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import { priceSchema } from '../prices/schema.ts';
import { isAnything, isResolveResult } from './port-answers.ts';
import type { PortGuard } from './port-guard.ts';

/** What a host found out. Where it ran and no charge is named, it costs what was held. */
export type UnknownResolution =
  | { readonly ran: false }
  | { readonly ran: true; readonly chargeNanos?: Nanos };

/** How the store took it; `already` and `conflict` change nothing. */
export type ResolveResult = SettleResult | ReleaseResult;

/**
 * Settles or releases the hold, and writes what came of it to the usage log.
 *
 * @throws ConfigurationError where the record or the charge is not one
 * @throws GatewayError `store_unavailable`; nothing may have changed, and it can be tried again
 */
export async function resolveUnknown(
  record: UsageRecord,
  resolution: UnknownResolution,
  { quota, usage }: Settings,
  guard: PortGuard,
): Promise<ResolveResult> {
  if (!isOpen(record)) {
    throw new ConfigurationError(
      'resolveUnknown: record must be a usage record with the outcome "unknown", its amounts ' +
        'bigint. Nothing is open about any other.',
    );
  }
  const chargeNanos = chargeOf(record, resolution);
  const { reservationId: id, partition } = record;
  const lines = record.lines.map(({ subject, period, heldNanos }) => ({
    subject,
    period,
    amount: heldNanos === 0n ? 0n : chargeNanos,
  }));
  const result = await guard.ask<ResolveResult>(
    'quota',
    resolution.ran ? 'settle' : 'release',
    isResolveResult,
    (options) =>
      resolution.ran
        ? quota.settle({ id, partition, lines, basis: 'policy' }, options)
        : quota.release({ id, partition, lines }, options),
  );
  if (!isNews(result, lines)) return result;
  const outcome = resolution.ran ? 'complete' : 'not_run';
  const resolved = {
    ...record,
    outcome,
    reason: 'resolved',
    basis: 'policy',
    chargeNanos,
    booked: true,
    revision: record.revision + 1,
  } as const;
  try {
    await guard.ask('usage', 'record', isAnything, () => usage?.record(resolved));
  } catch {
    // Reported by the guard; the hold has ended all the same.
  }
  return result;
}

/**
 * Whether the log is to say so. A hold whose lease ran out goes back by itself; that it was right
 * is news all the same. So is what was done before and may not have been heard of: the same charge,
 * or the same release.
 */
function isNews(result: ResolveResult, lines: readonly Pick<QuotaLine, 'amount'>[]): boolean {
  if (result.status !== 'already') return result.status !== 'conflict';
  if ('as' in result) return result.as !== 'settled';
  return result.charged.every((amount, index) => amount === lines[index]?.amount);
}

/** A host may have read it back from a log, where amounts are text. */
function isOpen(record: UsageRecord | undefined): boolean {
  return (
    record?.outcome === 'unknown' &&
    Number.isSafeInteger(record.revision) &&
    Array.isArray(record.lines) &&
    [record, ...record.lines].every(({ heldNanos }) => typeof heldNanos === 'bigint') &&
    priceSchema.safeParse(record.price).success
  );
}

function chargeOf(record: UsageRecord, resolution: UnknownResolution): Nanos {
  if (!resolution.ran) return 0n;
  const { chargeNanos = record.heldNanos } = resolution;
  if (typeof chargeNanos === 'bigint' && chargeNanos >= 0n && chargeNanos <= maxNanos) {
    return chargeNanos;
  }
  throw new ConfigurationError(
    'resolveUnknown: chargeNanos must be a bigint from 0 to 2^53 - 1. ' +
      'Leave it out for what was held.',
  );
}
