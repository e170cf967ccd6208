/** The memory limiter fulfils its contract, and the contract detects faults, each by a case. */
import { describe, expect, it } from 'vitest';
import type { RateDecision, RateLimiter } from '../../src/ports/rate-limiter.ts';
import { memoryRateLimiter } from '../../src/stores/memory/rate-limiter.ts';
import { rateLimiterContract } from '../../src/testing/contracts/rate-limiter.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

function memoryLimiter(clock: FakeClock): RateLimiter {
  return memoryRateLimiter({ points: 4, durationMs: 4_000, clock });
}

describe('memoryRateLimiter', () => {
  const contract = rateLimiterContract(() => {
    const clock = fakeClock();
    return { limiter: memoryLimiter(clock), advance: clock.advance };
  });
  for (const { name, run } of contract) it(name, run);
});

const granted: RateDecision = { granted: true };

type Faulty = (correct: RateLimiter, clock: FakeClock) => RateLimiter['consume'];

const faults: readonly (readonly [fault: string, caughtBy: string, Faulty])[] = [
  ['grants everything', 'RL-01', () => () => granted],
  ['decides by a count read before the last call', 'RL-02', () => late()],
  ['counts each call as one point', 'RL-03', (correct) => (subject) => correct.consume(subject, 1)],
  ['has one subject', 'RL-04', (correct) => (_subject, points) => correct.consume('all', points)],
  [
    'returns a fractional wait',
    'RL-05',
    (correct) => (subject, points) => waiting(correct, subject, points, (waitMs) => waitMs + 0.5),
  ],
  [
    'returns half of the wait',
    'RL-06',
    (correct) => (subject, points) =>
      waiting(correct, subject, points, (waitMs) => Math.ceil(waitMs / 2)),
  ],
  ['takes points for refused calls', 'RL-07', (_correct, clock) => punishing(clock)],
  ['never gives points back', 'RL-08', () => spendingOnce()],
];

describe('the rate limiter contract detects a limiter that', () => {
  it.each(faults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = rateLimiterContract(() => {
      const clock = fakeClock();
      return { limiter: { consume: faulty(memoryLimiter(clock), clock) }, advance: clock.advance };
    });

    const [found] = contract.filter(({ name }) => name.startsWith(caughtBy));

    await expect(found?.run()).rejects.toThrow();
  });
});

async function waiting(
  correct: RateLimiter,
  subject: string,
  points: number,
  change: (waitMs: number) => number,
): Promise<RateDecision> {
  const decision = await correct.consume(subject, points);
  if (decision.granted) return decision;
  return { granted: false, retryAfterMs: change(decision.retryAfterMs) };
}

/** Reads the count, waits for a turn of the event loop, and writes the count plus one. */
function late(): RateLimiter['consume'] {
  const spent = new Map<string, number>();
  return async (subject, points) => {
    const before = spent.get(subject) ?? 0;
    await Promise.resolve();
    if (before + points > 4) return { granted: false, retryAfterMs: 1_000 };
    spent.set(subject, before + points);
    return granted;
  };
}

/** A fixed window that restarts with each refused call. */
function punishing(clock: FakeClock): RateLimiter['consume'] {
  const windows = new Map<string, { spent: number; endsMs: number }>();
  return (subject, points) => {
    const nowMs = clock.monotonicMs();
    const known = windows.get(subject);
    const window =
      known === undefined || known.endsMs <= nowMs ? { spent: 0, endsMs: nowMs + 4_000 } : known;
    windows.set(subject, window);
    if (window.spent + points <= 4) {
      window.spent += points;
      return granted;
    }
    const waitMs = window.endsMs - nowMs;
    window.endsMs += 1_000;
    return { granted: false, retryAfterMs: waitMs };
  };
}

function spendingOnce(): RateLimiter['consume'] {
  const spent = new Map<string, number>();
  return (subject, points) => {
    const before = spent.get(subject) ?? 0;
    if (before + points > 4) return { granted: false, retryAfterMs: 1_000 };
    spent.set(subject, before + points);
    return granted;
  };
}
