/** Holds what the quota store has charged against what the usage log says of it. */
import type { MaybePromise } from '../../ports/call-options.ts';
import { defaultPartition } from '../../ports/quota-input.ts';
import type { QuotaStore } from '../../ports/quota-store.ts';
import type { UsageCharges, UsageChargesFilter, UsageQueries } from './usage-report.ts';

/** Where the books and the log are. */
export interface ReconcileSources {
  readonly quota: Pick<QuotaStore, 'read'>;
  /** The SQLite or PostgreSQL usage sink, or anything else that sums charges up. */
  readonly usage: Pick<UsageQueries, 'usageCharges'>;
}

/** One subject and period, as both sides have it. */
export interface Reconciliation extends UsageCharges {
  /** What the quota store has charged. */
  readonly usedNanos: bigint;
  /**
   * `usedNanos − bookedNanos`: charges that no record in the log says are booked. A gateway that
   * was killed had not written their records, or had not heard that they landed. Never below zero,
   * unless rows of the books were deleted or changed by hand.
   */
  readonly beyondLogNanos: bigint;
}

/**
 * The subjects and periods whose books and log differ. The log is read first, so that a charge
 * which lands meanwhile shows as beyond the log, and never as one that the books lack. A subject
 * and period that the filter names is looked up in the books even if the log does not know it.
 *
 * @throws RangeError where the filter is none; StoreUnavailable, StoreCorrupt
 */
export async function reconcile(
  { quota, usage }: ReconcileSources,
  filter: UsageChargesFilter = {},
): Promise<readonly Reconciliation[]> {
  const logged = await usage.usageCharges(filter);
  const differing: Reconciliation[] = [];
  for (const charges of withNamed(logged, filter)) {
    const { subject, period, partition, bookedNanos, unbookedNanos } = charges;
    const usedNanos = await usedOf(quota.read(subject, period, partition));
    const beyondLogNanos = usedNanos - bookedNanos;
    if (beyondLogNanos === 0n && unbookedNanos === 0n) continue;
    differing.push({ ...charges, usedNanos, beyondLogNanos });
  }
  return differing;
}

async function usedOf(state: MaybePromise<{ readonly used: bigint } | undefined>): Promise<bigint> {
  return (await state)?.used ?? 0n;
}

function withNamed(
  logged: readonly UsageCharges[],
  { partition = defaultPartition, subject, period }: UsageChargesFilter,
): readonly UsageCharges[] {
  if (subject === undefined || period === undefined) return logged;
  const isKnown = logged.some((charges) => charges.partition === partition);
  const none = { partition, subject, period, bookedNanos: 0n, unbookedNanos: 0n };
  return isKnown ? logged : [...logged, none];
}
