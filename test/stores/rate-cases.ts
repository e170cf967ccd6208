/** What the rate limiters in tables must do, over any number of processes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { RateLimiter, RateTake } from '../../src/ports/limits/rate-limiter.ts';
import { rateLimiterContract } from '../../src/testing/contracts/rate-limiter.ts';
import { rateModel, rateSteps } from './rate-model.ts';
import { expectEveryLimitApplies, statedRates } from './stated-rates.ts';

/** Two limiters over empty tables, like those of two processes. */
export interface SharedLimiters {
  readonly limiters: readonly [RateLimiter, RateLimiter];
  /** The clock of the database. */
  now(): number;
  advance(ms: number): MaybePromise<void>;
  /** The names of the buckets that have a row. */
  buckets(): MaybePromise<readonly unknown[]>;
}

const minute: RateTake = {
  owner: 'subject.ada',
  bucket: 'calls.minute',
  amount: 1,
  limit: 60,
  periodMs: 60_000,
};

/** The cases. `open` is called once per case and per random sequence, one after the other. */
export function rateLimiterCases(open: () => MaybePromise<SharedLimiters>): void {
  describe('fulfils the contract', () => {
    const contract = rateLimiterContract(async () => {
      const { limiters, advance } = await open();
      return { limiter: limiters[0], advance };
    });
    for (const { name, run } of contract) it(name, run);
  });

  it('decides like the model, for random takes, corrections, limits and times', async () => {
    const steps = rateSteps({
      limits: [1, 2, 3, 7, 60, 61, 1_000, 59_999, 7_777_777, 10_000_000_000],
      owners: ['subject.ada', 'subject.{group}', "model.m'"],
      maxOwners: 3,
      mayPassDays: true,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const { limiters, now, advance } = await open();
        const model = rateModel();
        for (const [index, { operation, takes, thenMs }] of sequence.entries()) {
          const expected = model[operation](takes, now());
          expect(await limiters[index % 2 === 0 ? 0 : 1][operation](takes)).toEqual(expected);
          await advance(thenMs);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('applies every limit that is stated, also if several have one bucket', async () => {
    await fc.assert(
      fc.asyncProperty(statedRates(['ada', 'team', 'zoo']), async (stated) => {
        const { limiters, now, advance } = await open();
        const [...unused] = limiters;
        // Two names of one table: their buckets differ by the owner.
        const newLimiter = (): RateLimiter => renamed(unused.pop());
        await expectEveryLimitApplies(stated, newLimiter, { nowMs: now, advance });
      }),
      { numRuns: 40 },
    );
  });

  it('grants a limit once to concurrent calls that name owners in any order', async () => {
    const { limiters } = await open();
    const limits = [
      minute,
      { ...minute, owner: 'subject.group', limit: 30 },
      { ...minute, owner: 'model.m', limit: 90 },
    ];
    const calls = limiters.flatMap((limiter) =>
      Array.from({ length: 50 }, (_, index) =>
        limiter.take(index % 2 === 0 ? limits : limits.toReversed()),
      ),
    );

    const decisions = await Promise.all(calls);

    expect(decisions.filter(({ granted }) => granted)).toHaveLength(30);
    // A call that one limit refused took nothing from the others.
    expect(await limiters[0].take([{ ...minute, amount: 30 }])).toMatchObject({ granted: true });
  });

  it('loses no correction that is made while calls are taken', async () => {
    const { limiters } = await open();
    const day = { ...minute, limit: 10_000, periodMs: 86_400_000 } as const;
    const calls = limiters.flatMap((limiter) =>
      Array.from({ length: 40 }, async () => {
        await limiter.take([{ ...day, amount: 10 }]);
        await limiter.adjust([{ ...day, amount: -7 }]);
      }),
    );

    await Promise.all(calls);

    expect(await limiters[0].take([day])).toEqual({ granted: true, remaining: [9_759] });
  });

  it('refuses amounts and limits outside their range', async () => {
    const { limiters } = await open();
    const [limiter] = limiters;
    const wrong = [{ amount: 0 }, { amount: 61 }, { amount: 0.5 }, { limit: 0 }, { limit: 2e10 }];

    for (const change of wrong) {
      await expect(limiter.take([{ ...minute, ...change }])).rejects.toThrow(RangeError);
    }
    await expect(limiter.adjust([{ ...minute, amount: 0.5 }])).rejects.toThrow(RangeError);
  });

  it('corrects by amounts of any size', async () => {
    const { limiters } = await open();
    const [limiter] = limiters;
    const left = async (amount: number): Promise<unknown> => {
      await limiter.adjust([{ ...minute, amount }]);
      return (await limiter.take([{ ...minute, amount: 1 }])).remaining;
    };

    expect(await left(Number.MAX_SAFE_INTEGER)).toEqual([0]);
    expect(await left(-Number.MAX_SAFE_INTEGER)).toEqual([59]);
  });

  it('has a full bucket again after a year, whatever the limit', async () => {
    const { limiters, advance } = await open();
    const [limiter] = limiters;
    const most = { ...minute, limit: 10_000_000_000 };
    await limiter.take([{ ...minute, owner: 'subject.other' }]);
    await limiter.take([{ ...most, amount: 10_000_000_000 }]);
    await advance(365 * 86_400_000);

    expect(await limiter.take([most])).toEqual({ granted: true, remaining: [9_999_999_999] });
  });

  it('deletes the rows of buckets that are full, and no others', async () => {
    const { limiters, advance, buckets } = await open();
    const day = { ...minute, bucket: 'tokens.day', periodMs: 86_400_000 } as const;
    await limiters[0].take([minute, day]);
    await advance(60_000);

    // A process sweeps with its first call, and once a minute.
    await limiters[1].take([{ ...minute, owner: 'subject.other', bucket: 'other' }]);

    expect([...(await buckets())].toSorted()).toEqual(['other', 'tokens.day']);
    await limiters[1].adjust([{ ...day, amount: -1 }]);
    expect(await buckets()).toEqual(['other']);
  });
}

let made = 0;

function renamed(limiter: RateLimiter | undefined): RateLimiter {
  made += 1;
  const name = made;
  const own = (takes: readonly RateTake[]): readonly RateTake[] =>
    takes.map((take) => ({ ...take, owner: `${name}.${take.owner}` }));
  if (limiter === undefined) throw new Error('there are two limiters');
  return {
    take: (takes, options) => limiter.take(own(takes), options),
    adjust: (takes, options) => limiter.adjust(own(takes), options),
  };
}
