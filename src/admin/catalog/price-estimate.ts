/** What the last 30 days of a model would have cost at another price. */
import type { Nanos, Price } from '../../money.ts';
import { costOf } from '../../prices/cost.ts';
import type { UsageReportRow } from '../../stores/sql/usage/report.ts';
import type { AdminDeps } from '../deps.ts';
import { adminUsage } from '../usage/usage.ts';

/**
 * Sums over the last 30 days of the usage log; undefined if the log can't be queried. The two costs
 * are those of the same tokens, at the rates without tiers, fees and multipliers: compare them with
 * each other. They are undefined where sums of tokens don't decide, as for images of several sizes.
 */
export interface PriceEstimate {
  /** How many calls the estimate rests on. */
  readonly calls: number | undefined;
  /** What was charged. */
  readonly chargedNanos: bigint | undefined;
  /** What they cost at the price until now, in nanos. */
  readonly beforeNanos: Nanos | undefined;
  /** What they would have cost at the new price, in nanos. */
  readonly afterNanos: Nanos | undefined;
}

const unknown: PriceEstimate = {
  calls: undefined,
  chargedNanos: undefined,
  beforeNanos: undefined,
  afterNanos: undefined,
};

const spanMs = 30 * 86_400_000;

export async function priceEstimate(
  deps: AdminDeps,
  modelId: string,
  { before, after }: { readonly before: Price | undefined; readonly after: Price },
): Promise<PriceEstimate> {
  if (deps.stores.usage.usageReport === undefined) return unknown;
  const toMs = deps.clock.now();
  const { data } = await adminUsage(deps).report({
    by: 'model',
    modelId,
    fromMs: toMs - spanMs,
    toMs,
  });
  const [row] = data;
  if (row === undefined) return { calls: 0, chargedNanos: 0n, beforeNanos: 0n, afterNanos: 0n };
  return {
    calls: row.calls,
    chargedNanos: row.chargeNanos,
    beforeNanos: before && plainCost(row, before),
    afterNanos: plainCost(row, after),
  };
}

type Counts = Omit<UsageReportRow, 'costNanos' | 'marginNanos'>;

function plainCost(counts: Counts, price: Price): Nanos | undefined {
  if (price.per === 'free') return 0n;
  if (price.per === 'token') return costOf(counts, { per: 'token', rates: price.rates });
  const [row, ...others] = price.rows;
  const isOne = row !== undefined && others.length === 0;
  return isOne ? row.nanos * BigInt(counts.images) : undefined;
}
