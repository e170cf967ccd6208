/** Faulty rate limiters, each with the case of the contract that detects it. */
import type { RateDecision, RateTake } from '../../src/ports/limits/rate-limiter.ts';
import type { FakeClock } from '../../src/testing/fake-clock.ts';

interface Correct {
  take(takes: readonly RateTake[]): Promise<RateDecision>;
  adjust(takes: readonly RateTake[]): Promise<unknown>;
}

/** Replaces methods of a correct limiter. */
export type Faulty = (correct: Correct, clock: FakeClock) => Partial<Correct>;

/** By the beginning of the name of the case. */
export const rateFaults: readonly (readonly [fault: string, caughtBy: string, Faulty])[] = [
  ['grants everything', 'RL-01', () => ({ take: async (takes) => grantOf(takes) })],
  ['decides by a count read before the last call', 'RL-02', () => ({ take: late() })],
  ['counts each call as one', 'RL-03', (correct) => takingOther(correct, () => ({ amount: 1 }))],
  ['has one owner', 'RL-04', (correct) => takingOther(correct, () => ({ owner: 'all' }))],
  ['has one bucket', 'RL-04', (correct) => takingOther(correct, () => ({ bucket: 'all' }))],
  [
    'returns a fractional wait',
    'RL-05',
    (correct) => waiting(correct, ({ retryAfterMs }) => ({ retryAfterMs: retryAfterMs + 0.5 })),
  ],
  [
    'returns the whole period as the wait',
    'RL-05',
    (correct) => waiting(correct, () => ({ retryAfterMs: 60_000 })),
  ],
  [
    'returns half of the wait',
    'RL-06',
    (correct) =>
      waiting(correct, ({ retryAfterMs }) => ({ retryAfterMs: Math.ceil(retryAfterMs / 2) })),
  ],
  ['takes amounts for refused calls', 'RL-07', (correct) => punishing(correct)],
  ['never refills', 'RL-08', () => ({ take: spendingOnce() })],
  ['refills at the end of a window', 'RL-09', (_correct, clock) => ({ take: windows(clock) })],
  ['takes from one bucket after the other', 'RL-10', (correct) => oneByOne(correct, () => true)],
  [
    'takes from one owner after the other',
    'RL-11',
    (correct) => oneByOne(correct, (takes) => new Set(takes.map(({ owner }) => owner)).size > 1),
  ],
  ['names the first take', 'RL-12', (correct) => waiting(correct, () => ({ refused: 0 }))],
  ['returns the shortest wait', 'RL-12', (correct) => waitingShortest(correct)],
  [
    'returns what remains in another order',
    'RL-13',
    (correct) => ({
      take: async (takes) => {
        const decision = await correct.take(takes);
        return { ...decision, remaining: [...decision.remaining].reverse() };
      },
    }),
  ],
  ['knows minutes only', 'RL-14', (correct) => takingOther(correct, () => ({ periodMs: 60_000 }))],
  [
    'counts limits as 32-bit integers',
    'RL-15',
    (correct) => takingOther(correct, ({ limit, amount }) => ({ limit: limit | 0, amount })),
  ],
  ['ignores corrections', 'RL-16', () => ({ adjust: async () => {} })],
  ['gives back more than was taken', 'RL-17', () => hoarding()],
  ['gives back to full buckets', 'RL-18', () => hoarding()],
  [
    'only gives back',
    'RL-19',
    (correct) => ({
      adjust: (takes) => correct.adjust(takes.filter(({ amount }) => amount < 0)),
    }),
  ],
  ['lets a correction put buckets into debt', 'RL-20', () => hoarding()],
  ['loses concurrent corrections', 'RL-21', (correct) => losingCorrections(correct)],
  [
    'forgets the refill at a correction',
    'RL-22',
    (correct, clock) => forgettingRefill(correct, clock),
  ],
  ['keeps the first limit', 'RL-23', (correct) => takingOther(correct, firstLimit())],
  ['ignores a lowered limit', 'RL-24', (correct) => takingOther(correct, highestLimit())],
  ['corrects by the limit that is passed', 'RL-25', (correct) => correctingByPassed(correct)],
  [
    'has owners in any case',
    'RL-26',
    (correct) => takingOther(correct, ({ owner }) => ({ owner: owner.toLowerCase() })),
  ],
  [
    'cuts names of buckets at a brace',
    'RL-26',
    (correct) => takingOther(correct, ({ bucket }) => ({ bucket: bucket.replace(/\{.*/, '') })),
  ],
];

function grantOf(takes: readonly RateTake[]): RateDecision {
  return { granted: true, remaining: takes.map(() => 1) };
}

function refusalOf(takes: readonly RateTake[], retryAfterMs: number): RateDecision {
  return { granted: false, refused: 0, retryAfterMs, remaining: takes.map(() => 0) };
}

function nameOf({ owner, bucket, periodMs }: RateTake): string {
  return `${owner} ${bucket} ${periodMs}`;
}

function takingOther(
  correct: Correct,
  change: (take: RateTake) => Partial<RateTake>,
): Partial<Correct> {
  return { take: (takes) => correct.take(takes.map((take) => ({ ...take, ...change(take) }))) };
}

type Refusal = Extract<RateDecision, { readonly granted: false }>;

function waiting(
  correct: Correct,
  change: (refusal: Refusal) => Partial<Refusal>,
): Partial<Correct> {
  return {
    take: async (takes) => {
      const decision = await correct.take(takes);
      return decision.granted ? decision : { ...decision, ...change(decision) };
    },
  };
}

function waitingShortest(correct: Correct): Partial<Correct> {
  return {
    take: async (takes) => {
      const decision = await correct.take(takes);
      if (decision.granted) return decision;
      const [first] = takes;
      const alone = first === undefined ? decision : await correct.take([first]);
      return alone.granted ? decision : { ...decision, retryAfterMs: alone.retryAfterMs };
    },
  };
}

/** Reads the count, waits for a turn of the event loop, and writes the count plus the amount. */
function late(): Correct['take'] {
  const spent = new Map<string, number>();
  return async (takes) => {
    const before = takes.map((take) => spent.get(nameOf(take)) ?? 0);
    await Promise.resolve();
    const sums = takes.map(({ amount }, index) => (before[index] ?? 0) + amount);
    if (sums.some((sum, index) => sum > (takes[index]?.limit ?? 0))) return refusalOf(takes, 1_000);
    for (const [index, take] of takes.entries()) spent.set(nameOf(take), sums[index] ?? 0);
    return grantOf(takes);
  };
}

function punishing(correct: Correct): Partial<Correct> {
  const debts = new Map<string, number>();
  return {
    take: async (takes) => {
      const [first] = takes;
      const name = first === undefined ? '' : nameOf(first);
      const debt = debts.get(name) ?? 0;
      const decision = await correct.take(takes);
      if (decision.granted && debt > 1) return refusalOf(takes, 1_000);
      if (!decision.granted) debts.set(name, debt + 1);
      return decision;
    },
  };
}

function spendingOnce(): Correct['take'] {
  const spent = new Map<string, number>();
  return async (takes) => {
    for (const take of takes) {
      const sum = (spent.get(nameOf(take)) ?? 0) + take.amount;
      if (sum > take.limit) return refusalOf(takes, 1_000);
      spent.set(nameOf(take), sum);
    }
    return grantOf(takes);
  };
}

/** Counts without bounds, below empty and above full, and does not refill. */
function hoarding(): Partial<Correct> {
  const available = new Map<string, number>();
  const of = (take: RateTake): number => available.get(nameOf(take)) ?? take.limit;
  return {
    take: async (takes) => {
      for (const take of takes) {
        if (of(take) < take.amount) {
          const waitMs = Math.ceil(((take.amount - of(take)) * take.periodMs) / take.limit);
          return refusalOf(takes, waitMs);
        }
      }
      for (const take of takes) available.set(nameOf(take), of(take) - take.amount);
      return grantOf(takes);
    },
    adjust: async (takes) => {
      for (const take of takes) available.set(nameOf(take), of(take) - take.amount);
    },
  };
}

/** A fixed window, which gives everything back at its end. */
function windows(clock: FakeClock): Correct['take'] {
  const known = new Map<string, { spent: number; endsMs: number }>();
  return async (takes) => {
    const nowMs = clock.monotonicMs();
    for (const take of takes) {
      const found = known.get(nameOf(take));
      const fresh = { spent: 0, endsMs: nowMs + take.periodMs };
      const window = found === undefined || found.endsMs <= nowMs ? fresh : found;
      known.set(nameOf(take), window);
      if (window.spent + take.amount > take.limit) return refusalOf(takes, window.endsMs - nowMs);
      window.spent += take.amount;
    }
    return grantOf(takes);
  };
}

function oneByOne(
  correct: Correct,
  applies: (takes: readonly RateTake[]) => boolean,
): Partial<Correct> {
  return {
    take: async (takes) => {
      if (!applies(takes)) return correct.take(takes);
      let refusal: RateDecision | undefined;
      for (const take of takes) {
        const decision = await correct.take([take]);
        if (!decision.granted) refusal = decision;
      }
      return refusal === undefined ? grantOf(takes) : { ...refusal, remaining: takes.map(() => 0) };
    },
  };
}

function losingCorrections(correct: Correct): Partial<Correct> {
  let running = 0;
  return {
    adjust: async (takes) => {
      running += 1;
      const isAlone = running === 1;
      await Promise.resolve();
      if (isAlone) await correct.adjust(takes);
      running -= 1;
    },
  };
}

/** Takes again what has refilled since the take. */
function forgettingRefill(correct: Correct, clock: FakeClock): Partial<Correct> {
  const takenMs = new Map<string, number>();
  return {
    take: (takes) => {
      for (const take of takes) takenMs.set(nameOf(take), clock.monotonicMs());
      return correct.take(takes);
    },
    adjust: (takes) =>
      correct.adjust(
        takes.map((take) => {
          const passedMs = clock.monotonicMs() - (takenMs.get(nameOf(take)) ?? 0);
          const refilled = Math.floor((passedMs * take.limit) / take.periodMs);
          return { ...take, amount: take.amount + refilled };
        }),
      ),
  };
}

function firstLimit(): (take: RateTake) => Partial<RateTake> {
  const known = new Map<string, number>();
  return (take) => {
    const limit = known.get(nameOf(take)) ?? take.limit;
    known.set(nameOf(take), limit);
    return { limit };
  };
}

function highestLimit(): (take: RateTake) => Partial<RateTake> {
  const known = new Map<string, number>();
  return (take) => {
    const limit = Math.max(known.get(nameOf(take)) ?? 0, take.limit);
    known.set(nameOf(take), limit);
    return { limit };
  };
}

/** After a correction, no more is missing than the passed limit. Time stands still. */
function correctingByPassed(correct: Correct): Partial<Correct> {
  const taken = new Map<string, number>();
  return {
    take: async (takes) => {
      const decision = await correct.take(takes);
      for (const take of decision.granted ? takes : []) {
        taken.set(nameOf(take), (taken.get(nameOf(take)) ?? 0) + take.amount);
      }
      return decision;
    },
    adjust: (takes) =>
      correct.adjust(
        takes.map((take) => {
          const missing = taken.get(nameOf(take)) ?? 0;
          return { ...take, amount: Math.min(missing + take.amount, take.limit) - missing };
        }),
      ),
  };
}
