/** The contract of `RateLimiter`: grants never exceed the allowance, and waits are exact. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { RateDecision, RateLimiter } from '../../ports/rate-limiter.ts';
import type { ContractCase } from './contract-case.ts';
import { type Cleanable, overSetups, type SubjectCase } from './over-setups.ts';

/** A limiter to test. It must allow each subject 4 points in 4,000 ms. */
export interface RateLimiterSetup extends Cleanable {
  readonly limiter: RateLimiter;
  /** Advances the limiter's clock; a limiter on a real clock waits that long. */
  advance(ms: number): MaybePromise<void>;
}

/**
 * The cases of the rate limiter contract. `make` is called once per case; limiters may share a
 * store, since each case uses new subjects.
 */
export function rateLimiterContract(
  make: () => MaybePromise<RateLimiterSetup>,
): readonly ContractCase[] {
  return overSetups(cases, make, (setup) => setup);
}

const allowance = 4;
const durationMs = 4_000;

function newSubject(): string {
  return `subject-${randomUUID()}`;
}

async function consumeTimes(
  { limiter }: RateLimiterSetup,
  subject: string,
  times: number,
): Promise<readonly RateDecision[]> {
  const decisions: RateDecision[] = [];
  for (let time = 0; time < times; time += 1) decisions.push(await limiter.consume(subject, 1));
  return decisions;
}

function granted(decisions: readonly RateDecision[]): number {
  return decisions.filter((decision) => decision.granted).length;
}

/** The wait in a refusal. */
function waitOf(decision: RateDecision): number {
  if (decision.granted) throw new assert.AssertionError({ message: 'granted above the allowance' });
  return decision.retryAfterMs;
}

const cases: readonly SubjectCase<RateLimiterSetup>[] = [
  {
    name: 'RL-01 grants the whole allowance and nothing above it',
    run: async (setup) => {
      assert.equal(granted(await consumeTimes(setup, newSubject(), allowance + 3)), allowance);
    },
  },
  {
    name: 'RL-02 grants the allowance once to concurrent calls',
    run: async ({ limiter }) => {
      const subject = newSubject();
      const calls = Array.from({ length: 20 }, async () => limiter.consume(subject, 1));

      assert.equal(granted(await Promise.all(calls)), allowance);
    },
  },
  {
    name: 'RL-03 counts points, not calls',
    run: async ({ limiter }) => {
      const subject = newSubject();
      await limiter.consume(subject, allowance - 1);

      waitOf(await limiter.consume(subject, 2));
      assert.equal((await limiter.consume(subject, 1)).granted, true);
    },
  },
  {
    name: 'RL-04 counts subjects separately',
    run: async (setup) => {
      await consumeTimes(setup, newSubject(), allowance);

      assert.equal(granted(await consumeTimes(setup, newSubject(), allowance)), allowance);
    },
  },
  {
    name: 'RL-05 returns a wait in whole milliseconds that is at most the duration',
    run: async (setup) => {
      const subject = newSubject();
      await consumeTimes(setup, subject, allowance);

      const waitMs = waitOf(await setup.limiter.consume(subject, 1));

      assert(Number.isSafeInteger(waitMs) && waitMs >= 1, `${waitMs} is not a whole number of ms`);
      assert(waitMs <= durationMs, `${waitMs} ms is longer than the duration`);
    },
  },
  {
    name: 'RL-06 grants the call after the wait that it returned',
    run: async (setup) => {
      const subject = newSubject();
      await consumeTimes(setup, subject, allowance);
      const waitMs = waitOf(await setup.limiter.consume(subject, 1));

      await setup.advance(waitMs);

      assert.equal((await setup.limiter.consume(subject, 1)).granted, true);
    },
  },
  {
    name: 'RL-07 takes no points for a refused call, so that retries do not prolong the wait',
    run: async (setup) => {
      const subject = newSubject();
      await consumeTimes(setup, subject, allowance);
      const waitMs = waitOf(await setup.limiter.consume(subject, 1));

      await consumeTimes(setup, subject, 10);
      await setup.advance(waitMs);

      assert.equal((await setup.limiter.consume(subject, 1)).granted, true);
    },
  },
  {
    name: 'RL-08 restores the whole allowance after the duration, and no more than that',
    run: async (setup) => {
      const subject = newSubject();
      await consumeTimes(setup, subject, allowance);

      await setup.advance(durationMs);

      assert.equal(granted(await consumeTimes(setup, subject, allowance + 3)), allowance);
    },
  },
];
