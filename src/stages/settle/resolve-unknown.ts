/**
 * Ends the hold of a call whose outcome was unknown, once the host has found out whether it ran.
 * This is the one fact about money that the gateway can't find out itself.
 */

import { ConfigurationError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import { maxNanos, type Nanos } from '../../money.ts';
import type { Settings } from '../../options.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type {
  QuotaLine,
  QuotaStore,
  ReleaseResult,
  SettleResult,
} from '../../ports/limits/quota-store.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
import { priceSchema } from '../../prices/schema.ts';
import { isAnything, isResolveResult } from '../ports/port-answers.ts';
import type { PortCalls } from '../ports/port-calls.ts';
import { reportCrossings } from './quota-levels.ts';

/** The host's finding. A call that ran without a stated charge is charged what was held. */
export type UnknownResolution =
  | { readonly ran: false }
  | {
      readonly ran: true;
      /** What the upstream billed, at the price for callers. Default: all that was held. */
      readonly chargeNanos?: Nanos;
    };

/** The store's answer; `already` and `conflict` change nothing. */
export type ResolveResult = WithoutBalances<SettleResult> | ReleaseResult;

type WithoutBalances<T> = T extends unknown ? Omit<T, 'balances'> : never;

/**
 * Settles or releases the hold, and writes the result to the usage log.
 *
 * @throws ConfigurationError if the record or the charge is not valid
 * @throws GatewayError `store_unavailable`; nothing may have changed, and it can be tried again
 */
export async function resolveUnknown(
  record: UsageRecord,
  resolution: UnknownResolution,
  { quota, usage }: Settings,
  { ports, emit }: { readonly ports: PortCalls; readonly emit: EventListener },
): Promise<ResolveResult> {
  if (!isOpen(record)) {
    throw new ConfigurationError(
      'resolveUnknown: record must be a usage record with the outcome "unknown", and its amounts ' +
        'must be bigints. Records with other outcomes need no resolution.',
    );
  }
  const chargeNanos = chargeOf(record, resolution);
  const lines = record.lines.map(({ subject, period, heldNanos }) => ({
    subject,
    period,
    amount: heldNanos === 0n ? 0n : chargeNanos,
  }));
  const ended = await endHold(record, lines, resolution, quota, ports);
  reportCrossings(ended, lines, record, emit);
  const { balances: _, ...result } = { balances: undefined, ...ended };
  if (!needsRecord(result, lines)) return result;
  const resolved = resolvedRecord(record, resolution, chargeNanos);
  try {
    await ports.ask('usage', 'record', isAnything, () => usage?.record(resolved));
  } catch {
    // `ports.ask` has reported it; the hold has ended.
  }
  return result;
}

function endHold(
  { reservationId: id, partition }: UsageRecord,
  lines: readonly QuotaLine[],
  { ran }: UnknownResolution,
  quota: QuotaStore,
  ports: PortCalls,
): MaybePromise<SettleResult | ReleaseResult> {
  return ports.ask<SettleResult | ReleaseResult>(
    'quota',
    ran ? 'settle' : 'release',
    isResolveResult,
    (options) =>
      ran
        ? quota.settle({ id, partition, lines, basis: 'policy' }, options)
        : quota.release({ id, partition, lines }, options),
  );
}

function resolvedRecord(
  record: UsageRecord,
  { ran }: UnknownResolution,
  chargeNanos: Nanos,
): UsageRecord {
  return {
    ...record,
    outcome: ran ? 'complete' : 'not_run',
    reason: 'resolved',
    basis: 'policy',
    chargeNanos,
    booked: true,
    revision: record.revision + 1,
  };
}

/**
 * True if a record must be written. A hold whose lease ran out was released by itself; the record
 * then confirms that. A repetition of the same charge or release is recorded too, because the first
 * record may have been lost.
 */
function needsRecord(result: ResolveResult, lines: readonly Pick<QuotaLine, 'amount'>[]): boolean {
  if (result.status !== 'already') return result.status !== 'conflict';
  if ('as' in result) return result.as !== 'settled';
  return result.charged.every((amount, index) => amount === lines[index]?.amount);
}

/**
 * Checks the types, because a host may have read the record from a log in which amounts are text.
 */
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
