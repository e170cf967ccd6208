/**
 * A model of token buckets, to which the limiters are compared: it has big integers and fractions
 * instead of doubles, and forgets no bucket. Time counts in 1/60,000 of the period.
 */
import fc from 'fast-check';
import type { RateDecision, RatePeriodMs, RateTake } from '../../src/ports/limits/rate-limiter.ts';

/** A missing amount, as a fraction with the denominator 60,000. */
interface ModelBucket {
  missing: bigint;
  at: bigint;
  limit: bigint;
}

/** The model of one limiter. */
export interface RateModel {
  take(takes: readonly RateTake[], nowMs: number): RateDecision;
  adjust(takes: readonly RateTake[], nowMs: number): void;
}

const unit = 60_000n;

/** Makes a model whose buckets are full. */
export function rateModel(): RateModel {
  const buckets = new Map<string, ModelBucket>();

  const current = ({ owner, bucket, limit, periodMs }: RateTake, nowMs: number): ModelBucket => {
    const name = JSON.stringify([owner, bucket, periodMs]);
    const at = BigInt(nowMs) / BigInt(periodMs / 60_000);
    const found = buckets.get(name) ?? { missing: 0n, at, limit: BigInt(limit) };
    found.missing = atLeastZero(found.missing - (at - found.at) * found.limit);
    found.at = at;
    // A full bucket has no history.
    if (found.missing === 0n) found.limit = BigInt(limit);
    buckets.set(name, found);
    return found;
  };
  const waitMs = (take: RateTake, nowMs: number): number => {
    const { missing, at, limit } = current(take, nowMs);
    const lacking = missing - BigInt(take.limit - take.amount) * unit;
    if (lacking <= 0n) return 0;
    const ticks = (lacking + limit - 1n) / limit;
    return Number((at + ticks) * BigInt(take.periodMs / 60_000)) - nowMs;
  };
  const remaining = (take: RateTake, nowMs: number): number =>
    Number(atLeastZero(BigInt(take.limit) * unit - current(take, nowMs).missing) / unit);

  return {
    take: (takes, nowMs) => {
      const waits = takes.map((take) => waitMs(take, nowMs));
      const retryAfterMs = Math.max(...waits);
      const granted = retryAfterMs === 0;
      if (granted) {
        for (const take of takes) {
          const bucket = current(take, nowMs);
          bucket.missing += BigInt(take.amount) * unit;
          bucket.limit = BigInt(take.limit);
        }
      }
      const left = takes.map((take) => remaining(take, nowMs));
      return granted
        ? { granted, remaining: left }
        : { granted, refused: waits.indexOf(retryAfterMs), retryAfterMs, remaining: left };
    },
    adjust: (takes, nowMs) => {
      for (const take of takes) {
        const bucket = current(take, nowMs);
        const adjusted = atLeastZero(bucket.missing + BigInt(take.amount) * unit);
        const most = bucket.limit * unit;
        bucket.missing = adjusted < most ? adjusted : most;
      }
    },
  };
}

function atLeastZero(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

/** One step of a random sequence; after it, time passes. */
export interface RateStep {
  readonly operation: 'take' | 'adjust';
  readonly takes: readonly RateTake[];
  readonly thenMs: number;
}

/** What the steps may contain. */
export interface StepChoices {
  readonly limits: readonly number[];
  readonly owners: readonly string[];
  /** How many owners one step may name. */
  readonly maxOwners: number;
  /** Also lets time pass by whole hours and days. */
  readonly mayPassDays: boolean;
}

const periods: readonly RatePeriodMs[] = [60_000, 3_600_000, 86_400_000];

/** Random sequences of steps, in each of which the takes of one owner follow one another. */
export function rateSteps(choices: StepChoices): fc.Arbitrary<readonly RateStep[]> {
  const one = fc.record({
    owner: fc.constantFrom(...choices.owners),
    name: fc.constantFrom('calls', 'tokens'),
    periodMs: fc.constantFrom(...periods),
    limit: fc.constantFrom(...choices.limits),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    sign: fc.constantFrom(1, -1),
  });
  const step = fc.record({
    operation: fc.constantFrom('take' as const, 'take' as const, 'adjust' as const),
    takes: fc.uniqueArray(one, {
      minLength: 1,
      maxLength: 4,
      selector: ({ owner, name, periodMs }) => `${owner} ${name} ${periodMs}`,
    }),
    thenMs: choices.mayPassDays
      ? fc.oneof(fc.nat(3_000), fc.nat(70_000), fc.nat(90_000_000))
      : fc.oneof(fc.nat(3_000), fc.nat(70_000)),
  });
  return fc.array(
    step.map(({ operation, takes, thenMs }) => ({
      operation,
      thenMs,
      takes: ofFewOwners(takes, choices.maxOwners).map(
        ({ owner, name, periodMs, limit, share, sign }) => ({
          owner,
          bucket: `${name}.${periodMs}`,
          periodMs,
          limit,
          amount: Math.max(1, Math.round(limit * share)) * (operation === 'take' ? 1 : sign),
        }),
      ),
    })),
    { minLength: 1, maxLength: 25 },
  );
}

function ofFewOwners<T extends { readonly owner: string }>(
  takes: readonly T[],
  max: number,
): readonly T[] {
  const owners = [...new Set(takes.map(({ owner }) => owner))].slice(0, max);
  return owners.flatMap((owner) => takes.filter((take) => take.owner === owner));
}
