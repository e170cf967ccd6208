/**
 * Random limits of a key, several of which may be about one bucket, compared with a model in which
 * every stated limit has a bucket of its own.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { ApiKey } from '../../src/ports/keys/key-store.ts';
import type { RateLimiter, RatePeriodMs, RateTake } from '../../src/ports/limits/rate-limiter.ts';
import type { AmountPerPeriod, KeyRateLimits, RateLimits } from '../../src/ports/limits/rates.ts';
import { limitsOfCalls, limitsOfModel } from '../../src/stages/rates/applied-limits.ts';
import { model } from '../support/models.ts';
import { type RateModel, rateModel } from './rate-model.ts';

/** The limits of a key and of its model, and its calls: their tokens, and the time after each. */
export interface StatedRates {
  readonly rates: readonly KeyRateLimits[];
  readonly ofModel: RateLimits;
  readonly calls: readonly { readonly tokens: number; readonly thenMs: number }[];
}

const key: ApiKey = { id: 'ada', group: 'staff', disabled: false, quota: [] };
const periods: readonly (readonly [keyof AmountPerPeriod, RatePeriodMs])[] = [
  ['perMinute', 60_000],
  ['perHour', 3_600_000],
  ['perDay', 86_400_000],
];

/** Lists in any order. The same subject, model and period occur often, a model by two names. */
export function statedRates(subjects: readonly string[]): fc.Arbitrary<StatedRates> {
  const limit = fc.constantFrom(10, 11, 12, 30, 59, 60, 61, 999);
  const perPeriod = { perMinute: limit, perHour: limit, perDay: limit };
  const amounts = fc.record(perPeriod, { requiredKeys: [] });
  const limits = { calls: amounts, tokens: amounts };
  const names = {
    subject: fc.constantFrom(...subjects),
    model: fc.constantFrom('chat', 'alias', 'x'),
  };
  const call = { tokens: fc.integer({ min: 1, max: 10 }), thenMs: fc.nat(9_000) };
  return fc.record({
    rates: fc.array(fc.record({ ...limits, ...names }, { requiredKeys: [] }), { maxLength: 5 }),
    ofModel: fc.record(limits, { requiredKeys: [] }),
    calls: fc.array(fc.record(call), { minLength: 1, maxLength: 40 }),
  });
}

/** Makes the calls. `newLimiter` has full buckets, and the time of `nowMs`. */
export async function expectEveryLimitApplies(
  { rates, ofModel, calls }: StatedRates,
  newLimiter: () => RateLimiter,
  time: { nowMs(): number; advance(ms: number): MaybePromise<void> },
): Promise<void> {
  const served = model({ aliases: ['alias'], rates: ofModel });
  const isOfModel = ({ model: name }: KeyRateLimits): boolean =>
    name === 'chat' || name === 'alias';
  const ofAll = rates.filter((rate) => rate.model === undefined);
  const ofOne = rates.filter(isOfModel);
  const before = { limiter: newLimiter(), model: rateModel() };
  const after = { limiter: newLimiter(), model: rateModel() };
  for (const { tokens, thenMs } of calls) {
    const expectSame = async (
      stage: { readonly limiter: RateLimiter; readonly model: RateModel },
      applied: ReturnType<typeof limitsOfCalls>,
      stated: readonly RateTake[],
    ): Promise<void> => {
      expect(applied.length > 0).toBe(stated.length > 0);
      if (stated.length === 0) return;
      const decision = await stage.limiter.take(applied.map(({ take }) => take));
      const { granted, retryAfterMs } = {
        retryAfterMs: undefined,
        ...stage.model.take(stated, time.nowMs()),
      };
      expect({ retryAfterMs: undefined, ...decision }).toMatchObject({ granted, retryAfterMs });
    };
    await expectSame(before, limitsOfCalls(key, rates), takesOf(ofAll, 'calls', 1));
    await expectSame(after, limitsOfModel(key, rates, served, tokens), [
      ...takesOf([...ofOne, ofModel], 'calls', 1),
      ...takesOf([...ofAll, ...ofOne, ofModel], 'tokens', tokens),
    ]);
    await time.advance(thenMs);
  }
}

/** One take for each stated limit, none of which shares its bucket. */
function takesOf(
  limits: readonly RateLimits[],
  counts: 'calls' | 'tokens',
  amount: number,
): readonly RateTake[] {
  return limits.flatMap((stated, index) =>
    periods.flatMap(([member, periodMs]) => {
      const limit = stated[counts]?.[member];
      const bucket = `${counts}.${member}`;
      return limit === undefined ? [] : [{ owner: `${index}`, bucket, amount, limit, periodMs }];
    }),
  );
}
