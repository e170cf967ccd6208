// suite: slow
/** The memory limiter decides like the model of token buckets, and its memory is bounded. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RateTake } from '../../src/ports/limits/rate-limiter.ts';
import { memoryRateLimiter, recentBuckets } from '../../src/stores/memory/rate-limiter.ts';
import { afterTake, type TokenBucket } from '../../src/stores/memory/token-bucket.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { rateModel, rateSteps } from './rate-model.ts';
import { expectEveryLimitApplies, statedRates } from './stated-rates.ts';

function takeOf(change: Partial<RateTake> = {}): RateTake {
  return {
    owner: 'subject.ada',
    bucket: 'calls.minute',
    amount: 1,
    limit: 1,
    periodMs: 60_000,
    ...change,
  };
}

describe('a rate limiter in memory', () => {
  it('decides like the model, for random takes, corrections, limits and times', () => {
    const steps = rateSteps({
      limits: [1, 2, 3, 7, 60, 61, 1_000, 59_999, 7_777_777, 10_000_000_000],
      owners: ['subject.ada', 'subject.group', 'model.m'],
      maxOwners: 3,
      mayPassDays: true,
    });
    fc.assert(
      fc.property(steps, fc.nat(100_000), (sequence, startMs) => {
        const clock = fakeClock();
        clock.advance(startMs);
        const limiter = memoryRateLimiter({ clock });
        const model = rateModel();
        for (const { operation, takes, thenMs } of sequence) {
          const nowMs = clock.monotonicMs();
          expect(limiter[operation](takes)).toEqual(model[operation](takes, nowMs));
          clock.advance(thenMs);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('applies every limit that is stated, also if several have one bucket', async () => {
    await fc.assert(
      fc.asyncProperty(statedRates(['ada', 'team', 'zoo']), async (stated) => {
        const clock = fakeClock();
        const { monotonicMs: nowMs, advance } = clock;
        const newLimiter = () => memoryRateLimiter({ clock });
        await expectEveryLimitApplies(stated, newLimiter, { nowMs, advance });
      }),
      { numRuns: 500 },
    );
  });

  it('grants after its wait and not a tick earlier, for random limits and times', () => {
    const amounts = fc.record({
      limit: fc.integer({ min: 1, max: 10_000_000_000 }),
      taken: fc.double({ min: 0.01, max: 1, noNaN: true }),
      wanted: fc.double({ min: 0.01, max: 1, noNaN: true }),
      periodMs: fc.constantFrom(60_000 as const, 3_600_000 as const, 86_400_000 as const),
      startMs: fc.nat(10_000_000),
      pauseMs: fc.nat(5_000),
    });
    fc.assert(
      fc.property(amounts, ({ limit, taken, wanted, periodMs, startMs, pauseMs }) => {
        const clock = fakeClock();
        clock.advance(startMs);
        const limiter = memoryRateLimiter({ clock });
        const amountOf = (share: number): number => Math.max(1, Math.floor(limit * share));
        limiter.take([takeOf({ limit, periodMs, amount: amountOf(taken) })]);
        clock.advance(pauseMs);
        const wish = takeOf({ limit, periodMs, amount: amountOf(wanted) });
        const decision = limiter.take([wish]);
        if (decision.granted) return;

        clock.advance(decision.retryAfterMs - 1);
        expect(limiter.take([wish]).granted).toBe(false);
        clock.advance(1);
        expect(limiter.take([wish]).granted).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps its integers on a process clock, which has fractions of a ms', () => {
    const clock = fakeClock();
    const limiter = memoryRateLimiter({ clock });
    for (let round = 0; round < 1_000; round += 1) {
      clock.advance(60_000 + round * 0.377);
      const grants = [1, 1, 1, 1].map((amount) => limiter.take([takeOf({ amount, limit: 3 })]));

      expect(grants.map(({ granted }) => granted)).toEqual([true, true, true, false]);
    }
  });

  it('forgets the least recently used buckets of a period, and no others', () => {
    const limiter = memoryRateLimiter({ clock: fakeClock(), maxBuckets: 2 });
    const isGranted = (bucket: string, periodMs: RateTake['periodMs'] = 60_000): boolean =>
      limiter.take([takeOf({ bucket, periodMs })]).granted;

    expect(['a', 'b', 'a'].map((name) => isGranted(name))).toEqual([true, true, false]);
    expect(isGranted('c', 3_600_000)).toBe(true);
    expect(isGranted('d')).toBe(true);

    expect(['a', 'd'].map((name) => isGranted(name))).toEqual([false, false]);
    expect(isGranted('c', 3_600_000)).toBe(false);
    expect(isGranted('b')).toBe(true);
  });

  it('refuses amounts and limits outside their range, and then takes nothing', () => {
    const limiter = memoryRateLimiter({ clock: fakeClock() });
    const good = takeOf({ limit: 2, amount: 2 });
    const amounts = [0, -1, 3, 0.5, Number.NaN, Number.POSITIVE_INFINITY];

    for (const amount of amounts) {
      expect(() => limiter.take([good, takeOf({ limit: 2, amount })])).toThrow(RangeError);
    }
    for (const limit of [0, -1, 0.5, Number.NaN, 10_000_000_001]) {
      expect(() => limiter.take([good, takeOf({ limit })])).toThrow(RangeError);
      expect(() => limiter.adjust([good, takeOf({ limit })])).toThrow(RangeError);
    }
    for (const amount of [0.5, Number.NaN]) {
      expect(() => limiter.adjust([good, takeOf({ amount })])).toThrow(RangeError);
    }
    expect(limiter.take([good]).granted).toBe(true);
  });
});

describe('the buckets of a period', () => {
  it('are forgotten once they are full, while others are used', () => {
    const known = new Map<string, TokenBucket>();
    const buckets = recentBuckets(known, 60_000, 1_000);
    for (let index = 0; index < 1_000; index += 1) {
      buckets.set(`${index}`, afterTake(undefined, takeOf(), 0), 0);
    }
    expect(known.size).toBe(1_000);

    for (let index = 0; index < 1_000; index += 1) {
      buckets.set('used', afterTake(undefined, takeOf(), 60_000), 60_000);
    }

    expect([...known.keys()]).toEqual(['used']);
  });

  it('never exceed their number, in any order of use', () => {
    const uses = fc.array(fc.tuple(fc.nat(30), fc.nat(20_000)), { maxLength: 200 });
    fc.assert(
      fc.property(uses, (sequence) => {
        const known = new Map<string, TokenBucket>();
        const buckets = recentBuckets(known, 60_000, 8);
        let nowMs = 0;
        for (const [name, passedMs] of sequence) {
          nowMs += passedMs;
          const bucket = buckets.get(`${name}`, nowMs);
          buckets.set(`${name}`, afterTake(bucket, takeOf(), nowMs), nowMs);
          expect(known.size).toBeLessThanOrEqual(8);
        }
      }),
      { numRuns: 200 },
    );
  });
});
