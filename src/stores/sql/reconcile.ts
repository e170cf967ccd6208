/** Compares the charges in the quota store with those in the usage log. */
import type { z } from 'zod';
import type { MaybePromise } from '../../ports/call-options.ts';
import { defaultPartition } from '../../ports/limits/quota-input.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import { checkSetUp, methods, strict, type Wording } from '../../ports/set-up.ts';
import type { UsageCharges, UsageChargesFilter, UsageQueries } from './usage/report.ts';

/** The quota store and the usage log to compare. */
export interface ReconcileSources {
  /** The store whose balances are compared. */
  readonly quota: Pick<QuotaStore, 'read'>;
  /** A usage sink for memory, SQLite or PostgreSQL, or anything else that sums up charges. */
  readonly usage: Pick<UsageQueries, 'usageCharges'>;
}

/** The charges of one subject and period in both sources. */
export interface Reconciliation extends UsageCharges {
  /** What the quota store has charged. */
  readonly usedNanos: bigint;
  /**
   * `usedNanos − bookedNanos`: charges that no record in the log shows as booked. A gateway was
   * killed before it wrote their records, or before it received the store's reply. Never below
   * zero, unless rows of the quota store were deleted or changed by hand.
   */
  readonly unloggedNanos: bigint;
}

const sourcesSchema = strict('must be the two stores to compare: { quota, usage }', {
  quota: methods('read'),
  usage: methods('usageCharges'),
} satisfies Record<keyof ReconcileSources, z.ZodType>);

const wording: Wording = {
  root: 'reconcile: sources',
  remedyFor: ([name]) =>
    name === 'usage' ? 'Give it a usage sink for memory, SQLite or PostgreSQL' : undefined,
  names: 'the type ReconcileSources',
};

/**
 * The subjects and periods whose quota store and log differ. The log is read first, so that a
 * charge made meanwhile appears as unlogged, and never as missing from the quota store. A subject
 * and period that the filter names is read from the quota store even if the log has no record of
 * it.
 *
 * @throws RangeError where the filter is not valid; ConfigurationError where a source is not;
 *   StoreUnavailable, StoreCorrupt
 */
export async function reconcile(
  sources: ReconcileSources,
  filter: UsageChargesFilter = {},
): Promise<readonly Reconciliation[]> {
  checkSetUp(sourcesSchema, sources, wording);
  const { quota, usage } = sources;
  const logged = await usage.usageCharges(filter);
  const differing: Reconciliation[] = [];
  for (const charges of withNamed(logged, filter)) {
    const { subject, period, partition, bookedNanos, unbookedNanos } = charges;
    const usedNanos = await usedOf(quota.read(subject, period, partition));
    const unloggedNanos = usedNanos - bookedNanos;
    if (unloggedNanos === 0n && unbookedNanos === 0n) continue;
    differing.push({ ...charges, usedNanos, unloggedNanos });
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
