// suite: quick
/** Models that prefer the cheapest or the fastest channel, within priority and stickiness. */
import { describe, expect, it } from 'vitest';
import type { Nanos } from '../../src/money.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import { type Availability, chooseChannel, poolOf } from '../../src/upstream/choose.ts';
import { type Draw, drawn, numbers } from '../support/seeds.ts';

interface Candidate extends Pick<Channel, 'id' | 'weight' | 'priority'> {
  readonly stickyBy?: Channel['stickyBy'] | undefined;
  readonly state: Availability['kind'];
  readonly costNanos: Nanos | undefined;
  readonly medianMs: number | undefined;
  readonly inFlight: number;
}

type Change = Partial<Parameters<typeof chooseChannel>[1]>;

function chosen(
  candidates: readonly Candidate[],
  prefer: Model['prefer'],
  random: () => number,
  change: Change = {},
): Candidate | undefined {
  const channels = candidates.map(
    ({ id, weight = 1, priority = 0, stickyBy }): Channel => ({
      ...{ id, weight, priority, dialect: 'openai', credential: 'secret' },
      baseUrl: 'https://a.example/v1',
      ...(stickyBy === undefined ? {} : { stickyBy }),
    }),
  );
  const of = ({ id }: Channel): Candidate | undefined => candidates.find((one) => one.id === id);
  const costOf = (channel: Channel): Nanos | undefined => of(channel)?.costNanos;
  const group = 'staff';
  const pool = poolOf(channels, { unitNanos: 1n, group, isAble: () => true, prefer, costOf });
  if (typeof pool === 'string') throw new Error(pool);
  const input = { keyId: 'key', promptCacheKey: undefined, session: () => undefined };
  const choice = chooseChannel(
    pool,
    { ...input, excluded: [], hasTried: false, ...change },
    {
      availability: (channel) => availabilities[of(channel)?.state ?? 'available'],
      inFlight: (channel) => of(channel)?.inFlight ?? 0,
      firstByteMs: (channel) => of(channel)?.medianMs,
    },
    random,
  );
  return choice.kind === 'channel' ? of(choice.channel) : undefined;
}

const availabilities: Readonly<Record<Availability['kind'], Availability>> = {
  available: { kind: 'available' },
  deprioritized: { kind: 'deprioritized' },
  unavailable: {
    kind: 'unavailable',
    reason: 'reset',
    untilMs: undefined,
    lastResort: false,
  },
};

function candidate(id: string, change: Partial<Candidate> = {}): Candidate {
  const unknown = { costNanos: undefined, medianMs: undefined };
  return { id, state: 'available', ...unknown, inFlight: 0, ...change };
}

/** Up to six channels of every kind; few different values, so that many are equal. */
function pool(draw: Draw): readonly Candidate[] {
  return Array.from({ length: 1 + draw(6) }, (_, index) =>
    candidate(`c${index}`, {
      weight: 1 + draw(3),
      priority: draw(2),
      state: pick(draw, ['available', 'available', 'deprioritized', 'unavailable']),
      costNanos: pick(draw, [undefined, 0n, 1n, 2n]),
      medianMs: pick(draw, [undefined, 10, 20, 30, 30, Number.POSITIVE_INFINITY]),
      inFlight: draw(3),
      stickyBy: pick(draw, [undefined, undefined, undefined, 'key', 'prompt_cache_key']),
    }),
  );
}

function pick<T>(draw: Draw, values: readonly [T, ...T[]]): T {
  return values[draw(values.length)] ?? values[0];
}

/** The channels that health and priority leave. */
function leftOf(candidates: readonly Candidate[]): readonly Candidate[] {
  const healthy = candidates.filter(({ state }) => state === 'available');
  const slow = candidates.filter(({ state }) => state === 'deprioritized');
  const best = healthy.length > 0 ? healthy : slow;
  const priority = Math.min(...best.map(({ priority = 0 }) => priority));
  return best.filter((one) => one.priority === priority);
}

/** The channels that get calls, with their shares. */
function shares(
  candidates: readonly Candidate[],
  prefer: Model['prefer'],
  change: Change = {},
): ReadonlyMap<string, number> {
  const random = numbers(7);
  const calls = 4_000;
  const found = new Map<string, number>();
  for (let call = 0; call < calls; call += 1) {
    const { id = '' } = chosen(candidates, prefer, random, change) ?? {};
    found.set(id, (found.get(id) ?? 0) + 1 / calls);
  }
  return found;
}

const pools = Array.from({ length: 500 }, (_, index) => index);

describe('whatever a model prefers', () => {
  it.each(['cost', 'latency'] as const)('%s: health and priority come first', (prefer) => {
    for (const index of pools) {
      const draw = drawn(index);
      const candidates = pool(draw);
      const random = numbers(index);

      const found = chosen(candidates, prefer, random, { hasTried: draw(2) === 0 });

      if (found === undefined) expect(leftOf(candidates)).toEqual([]);
      else expect(leftOf(candidates)).toContain(found);
    }
  });

  it.each(['cost', 'latency'] as const)('%s: sticky calls stay where they are', (prefer) => {
    for (const index of pools) {
      const draw = drawn(index);
      const candidates = pool(draw).map((one) => ({ ...one, stickyBy: 'key' as const }));
      const keyId = `key-${draw(50)}`;

      const preferred = chosen(candidates, prefer, numbers(index), { keyId });

      expect(preferred).toEqual(chosen(candidates, undefined, numbers(index), { keyId }));
    }
  });
});

describe('a model that prefers cost', () => {
  it('uses the cheapest of the channels that its caller does not decide between', () => {
    const price = ({ costNanos }: Candidate): number =>
      costNanos === undefined ? Number.POSITIVE_INFINITY : Number(costNanos);
    for (const index of pools) {
      const candidates = pool(drawn(index)).filter(({ stickyBy }) => stickyBy !== 'key');
      if (candidates.length === 0) continue;
      const cheapest = Math.min(...leftOf(candidates).map(price));

      const found = chosen(candidates, 'cost', numbers(index));

      if (found !== undefined) expect(price(found)).toBe(cheapest);
    }
  });

  it('shares calls by weight among equally cheap channels, and uses unknown costs last', () => {
    const cheap = { costNanos: 5n };
    const candidates = [
      candidate('a', { ...cheap, weight: 3 }),
      candidate('b', cheap),
      candidate('dear', { costNanos: 6n, weight: 9 }),
      candidate('unknown', { weight: 9 }),
    ];

    const found = shares(candidates, 'cost');

    expect([...found.keys()].sort()).toEqual(['a', 'b']);
    expect(found.get('a')).toBeCloseTo(3 / 4, 1);
    expect([...shares(candidates.slice(2), 'cost').keys()]).toEqual(['dear']);
    expect([...shares(candidates.slice(3), 'cost').keys()]).toEqual(['unknown']);
  });
});

describe('a model that prefers latency', () => {
  it('uses the fastest for all but one call in twenty, which goes to others by weight', () => {
    const found = shares(
      [
        candidate('fast', { medianMs: 100 }),
        candidate('slow', { medianMs: 200, weight: 3 }),
        candidate('slower', { medianMs: 300 }),
      ],
      'latency',
    );

    expect(found.get('fast')).toBeCloseTo(0.95, 1.5);
    expect(found.get('slow')).toBeGreaterThan(0.025);
    expect(found.get('slow')).toBeLessThan(0.05);
    expect(found.get('slower')).toBeGreaterThan(0.005);
    expect(found.get('slower')).toBeLessThan(0.02);
  });

  it('tries a channel without measurements, and not for ever one that does not answer', () => {
    const fast = candidate('fast', { medianMs: 1 });
    const silent = candidate('silent', { medianMs: Number.POSITIVE_INFINITY });

    expect([...shares([fast, silent, candidate('new')], 'latency').keys()]).toEqual(['new']);
    expect(shares([fast, silent], 'latency').get('fast')).toBeCloseTo(0.95, 1.5);
    expect(shares([{ ...silent, id: 'other' }, silent], 'latency').get('other')).toBeCloseTo(
      0.5,
      1,
    );
  });

  it('measures nothing with a call that has failed on another channel', () => {
    const candidates = [
      candidate('failed', { medianMs: 1 }),
      candidate('fast', { medianMs: 2 }),
      candidate('slow', { medianMs: 3 }),
      candidate('new'),
    ];
    const change = { hasTried: true, excluded: ['failed'] };

    expect([...shares(candidates, 'latency', change).keys()]).toEqual(['fast']);
  });

  it('follows the medians in every pool', () => {
    for (const index of pools) {
      const candidates = pool(drawn(index)).filter(({ stickyBy }) => stickyBy !== 'key');
      const left = leftOf(candidates);
      const measured = left.flatMap(({ medianMs }) => medianMs ?? []);
      const isNew = left.some(({ medianMs }) => medianMs === undefined);
      if (left.length === 0) continue;

      const found = chosen(candidates, 'latency', steady(numbers(index)));

      if (left.length === 1) expect(found).toBe(left[0]);
      else if (isNew) expect(found?.medianMs).toBe(undefined);
      else expect(found?.medianMs).toBe(Math.min(...measured));
    }
  });
});

/** Never so low that the call measures another channel than the fastest. */
function steady(random: () => number): () => number {
  return () => 0.05 + random() * 0.95;
}
