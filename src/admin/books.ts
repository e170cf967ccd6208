/** Compares the usage log with the books of the quota store, in small reads. */
import type { QuotaStore } from '../ports/quota-store.ts';
import { memoryUsageQueries } from '../stores/memory/usage-queries.ts';
import { type Reconciliation, reconcile } from '../stores/sql/reconcile.ts';
import {
  checkChargesFilter,
  type UsageCharges,
  type UsageChargesFilter,
  type UsageQueries,
} from '../stores/sql/usage-report.ts';
import { type Step, type WalkDeps, type WalkOptions, walkLog } from './log-walk.ts';

/**
 * Where the log and the quota store differ; see `reconcile`. A log in this process is summed up
 * page by page: its own query is one statement over the whole log, which blocks the event loop.
 */
export async function books(
  deps: WalkDeps & { readonly quota: QuotaStore },
  usageCharges: UsageQueries['usageCharges'],
  filter: UsageChargesFilter,
  options?: WalkOptions,
): Promise<readonly Reconciliation[]> {
  const { usage, quota, inOwnTurn } = deps;
  return reconcile(
    {
      quota: { read: (...of) => inOwnTurn(() => quota.read(...of)) },
      usage: {
        usageCharges: usage.isInProcess ? () => charges(deps, filter, options) : usageCharges,
      },
    },
    filter,
  );
}

const pageRows = 50;

async function charges(
  deps: WalkDeps,
  filter: UsageChargesFilter,
  options?: WalkOptions,
): Promise<readonly UsageCharges[]> {
  checkChargesFilter(filter);
  const sums = new Map<string, UsageCharges>();
  const read = ({ after, ...span }: Step) =>
    deps.usage.usageRecords?.(span, {
      limit: pageRows,
      ...(after === undefined ? {} : { after }),
    }) ?? { records: [], next: undefined };
  for await (const { records } of walkLog(deps, {}, read, options)) {
    const ofPage = memoryUsageQueries(() => ({ records, firstSeq: 0 })).usageCharges(filter);
    for (const charge of ofPage) addTo(sums, charge);
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum);
}

function addTo(sums: Map<string, UsageCharges>, charge: UsageCharges): void {
  const { partition, subject, period, bookedNanos, unbookedNanos } = charge;
  const name = JSON.stringify([partition, subject, period]);
  const sum = sums.get(name);
  sums.set(name, {
    ...{ partition, subject, period },
    bookedNanos: bookedNanos + (sum?.bookedNanos ?? 0n),
    unbookedNanos: unbookedNanos + (sum?.unbookedNanos ?? 0n),
  });
}
