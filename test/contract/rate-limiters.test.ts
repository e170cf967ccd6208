// suite: quick
/** The memory limiter fulfils its contract, and the contract detects faults, each by a case. */
import { describe, expect, it } from 'vitest';
import type { RateDecision, RateLimiter, RateTake } from '../../src/ports/limits/rate-limiter.ts';
import { memoryRateLimiter } from '../../src/stores/memory/rate-limiter.ts';
import { rateLimiterContract } from '../../src/testing/contracts/rate-limiter.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { type Faulty, rateFaults } from './rate-limiter-faults.ts';

describe('memoryRateLimiter', () => {
  const contract = rateLimiterContract(() => {
    const clock = fakeClock();
    return { limiter: memoryRateLimiter({ clock }), advance: clock.advance };
  });
  for (const { name, run } of contract) it(name, run);
});

describe('the rate limiter contract detects a limiter that', () => {
  it.each(rateFaults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = rateLimiterContract(() => {
      const clock = fakeClock();
      return { limiter: limiterWith(faulty, clock), advance: clock.advance };
    });

    const [found] = contract.filter(({ name }) => name.startsWith(caughtBy));

    await expect(found?.run()).rejects.toThrow();
  });

  it('has any of the faults, of which there is one for each case', () => {
    const names = rateLimiterContract(() => {
      throw new Error('not run');
    }).map(({ name }) => name.slice(0, 5));

    expect([...new Set(rateFaults.map(([, caughtBy]) => caughtBy))].toSorted()).toEqual(names);
  });
});

function limiterWith(faulty: Faulty, clock: FakeClock): RateLimiter {
  const correct = memoryRateLimiter({ clock });
  const asPromises = {
    take: async (takes: readonly RateTake[]): Promise<RateDecision> => correct.take(takes),
    adjust: async (takes: readonly RateTake[]): Promise<unknown> => correct.adjust(takes),
  };
  return { ...asPromises, ...faulty(asPromises, clock) };
}
