/** Which channel a call goes through: restrictions, health, priority, weight, load. */
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../src/ports/catalog.ts';
import {
  type AccountStates,
  type Availability,
  type Choice,
  type ChoiceAsked,
  chooseChannel,
  poolOf,
} from '../../src/upstream/choose.ts';

const price = {
  per: 'token',
  rates: { input: 1n, output: 2_000_000n },
} as const;

interface Candidate {
  readonly channel: Channel;
  readonly isAble: boolean;
  readonly availability: Availability;
  readonly inFlight: number;
}

const asked: ChoiceAsked = {
  keyId: 'key-1',
  promptCacheKey: undefined,
  passed: [],
  hasTried: false,
};

function candidate(
  id: string,
  change: Partial<Channel> = {},
  state: Partial<Omit<Candidate, 'channel'>> = {},
): Candidate {
  const channel: Channel = {
    id,
    dialect: 'openai',
    baseUrl: 'https://a.example/v1',
    credential: 'secret',
    priority: 0,
    weight: 1,
    ...change,
  };
  return { channel, isAble: true, availability: { kind: 'open' }, inFlight: 0, ...state };
}

type Out = Extract<Availability, { readonly kind: 'out' }>;

const rests = (untilMs: number | undefined, yields: boolean, reason = 'r'): Out => ({
  kind: 'out',
  reason,
  untilMs,
  yields,
});
const ejected = (untilMs: number): Out => ({
  kind: 'out',
  reason: 'reset',
  untilMs,
  yields: true,
  isEjected: true,
});

function choiceOf(
  candidates: readonly Candidate[],
  change: Partial<ChoiceAsked> = {},
  random: () => number = () => 0,
): Choice {
  const by = new Map(candidates.map((one) => [one.channel, one]));
  const isAble = (channel: Channel): boolean => by.get(channel)?.isAble === true;
  const channels = candidates.map(({ channel }) => channel);
  const pool = poolOf(channels, { price, group: 'staff', isAble });
  if (typeof pool === 'string') return { kind: 'none', reason: pool };
  const standings: AccountStates = {
    availability: (channel) => by.get(channel)?.availability ?? { kind: 'open' },
    inFlight: (channel) => by.get(channel)?.inFlight ?? 0,
  };
  return chooseChannel(pool, { ...asked, ...change }, standings, random);
}

/** The id that is chosen, or why none is. */
function chosen(
  candidates: readonly Candidate[],
  change: Partial<ChoiceAsked> = {},
  random: () => number = () => 0,
): string {
  const choice = choiceOf(candidates, change, random);
  return choice.kind === 'channel' ? choice.channel.id : `none: ${choice.reason}`;
}

describe('a channel is chosen', () => {
  it.each<[string, readonly Candidate[], string]>([
    [
      'by priority, lower first',
      [candidate('b', { priority: 2 }), candidate('a', { priority: -1 })],
      'a',
    ],
    ['if it has a weight', [candidate('a', { weight: 0 }), candidate('b')], 'b'],
    [
      'if its price bound admits the model',
      [
        candidate('a', { maxPriceNanos: 1_999_999n, priority: -1 }),
        candidate('b', { maxPriceNanos: 2_000_000n }),
      ],
      'b',
    ],
    [
      'if it serves the group',
      [candidate('a', { groups: ['others'] }), candidate('b', { groups: ['x', 'staff'] })],
      'b',
    ],
    [
      'if its dialect has the operation',
      [candidate('a', {}, { isAble: false }), candidate('b')],
      'b',
    ],
    [
      'before a better one that rests',
      [candidate('a', { priority: -1 }, { availability: rests(5, true) }), candidate('b')],
      'b',
    ],
  ])('%s', (_what, candidates, expected) => {
    expect(chosen(candidates)).toBe(expected);
  });

  it('unless the call has been through it', () => {
    const both = [candidate('a'), candidate('b')];

    expect(chosen(both, { passed: ['a'], hasTried: true })).toBe('b');
    expect(chosen(both, { passed: ['a', 'b'], hasTried: true })).toBe('none: protocol');
  });

  it('as often as its weight says', () => {
    const candidates = [
      candidate('a', { weight: 7 }),
      candidate('b', { weight: 2 }),
      candidate('c', { weight: 1 }),
    ];
    const random = mulberry(42);
    const counts = new Map<string, number>();

    for (let count = 0; count < 10_000; count += 1) {
      const id = chosen(candidates, {}, random);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }

    const near = (id: string, share: number): boolean =>
      Math.abs((counts.get(id) ?? 0) / 10_000 - share) < 0.02;
    expect([near('a', 0.7), near('b', 0.2), near('c', 0.1)]).toEqual([true, true, true]);
  });

  it('by weight among those that are well, where one of them is out', () => {
    const candidates = [
      candidate('a', { weight: 5 }, { availability: rests(5, true) }),
      candidate('b', { weight: 3 }),
      candidate('c', { weight: 1 }),
    ];
    const random = mulberry(7);

    const ids = Array.from({ length: 10_000 }, () => chosen(candidates, {}, random));

    expect(ids).not.toContain('a');
    expect(Math.abs(ids.filter((id) => id === 'b').length / 10_000 - 0.75)).toBeLessThan(0.02);
  });

  it('the less loaded of two that are well, whoever else is out', () => {
    const candidates = [
      candidate('a', {}, { availability: rests(5, true) }),
      candidate('b', {}, { inFlight: 9 }),
      candidate('c'),
    ];
    const random = mulberry(11);

    const ids = Array.from({ length: 1_000 }, () => chosen(candidates, {}, random));

    expect(new Set(ids)).toEqual(new Set(['c']));
  });

  it('and of the two best of a thousand, without asking how the others stand', () => {
    const thousand = Array.from({ length: 1_000 }, (_, index) => candidate(`c${index}`));
    const channels = thousand.map(({ channel }) => channel);
    const pool = poolOf(channels, { price, group: 'staff', isAble: () => true });
    const looked = new Set<string>();
    const standings: AccountStates = {
      availability: ({ id }) => {
        looked.add(id);
        return { kind: 'open' };
      },
      inFlight: ({ id }) => (id === 'c250' ? 1 : 0),
    };

    if (typeof pool === 'string') throw new Error(pool);
    const choice = chooseChannel(pool, asked, standings, sequence(0.25, 0.75));

    expect([...looked]).toEqual(['c250', 'c750']);
    expect(choice).toMatchObject({ kind: 'channel', channel: { id: 'c750' } });
  });

  it('of two that are drawn, the one with less to do for its weight', () => {
    const two = (a: number, b: number): string =>
      chosen([candidate('a', { weight: 2 }, { inFlight: a }), candidate('b', {}, { inFlight: b })]);

    expect(two(3, 1)).toBe('b');
    expect(two(2, 1)).toBe('a');
  });
});

describe('a channel that keeps its callers', () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `caller-${index}`);
  const kept = (ids: readonly string[], stickyBy: Channel['stickyBy'] = 'key') =>
    ids.map((id) => (stickyBy === undefined ? candidate(id) : candidate(id, { stickyBy })));

  it('gets a key every time, whatever its load', () => {
    const busy = kept(['a', 'b', 'c']).map((one) => ({ ...one, inFlight: 50 }));
    const first = chosen(kept(['a', 'b', 'c']));

    expect(chosen(busy, {}, () => 0.99)).toBe(first);
  });

  it('shares keys by weight, and keeps those it has when another one goes', () => {
    const where = (ids: readonly string[]): readonly string[] =>
      names.map((keyId) => chosen(kept(ids), { keyId }));
    const before = where(['a', 'b', 'c']);
    const after = where(['a', 'b']);

    const share = before.filter((id) => id === 'a').length / names.length;
    expect(Math.abs(share - 1 / 3)).toBeLessThan(0.05);
    expect(before.filter((id, index) => id !== 'c' && id !== after[index])).toEqual([]);
  });

  it('goes by the prompt cache key where it asks for that', () => {
    const channels = kept(['a', 'b', 'c'], 'prompt_cache_key');
    const by = (promptCacheKey: string, keyId: string): string =>
      chosen(channels, { promptCacheKey, keyId });

    expect(new Set(names.map((name) => by(name, 'key-1')))).toEqual(new Set(['a', 'b', 'c']));
    expect(names.every((name) => by(name, 'key-1') === by(name, 'key-2'))).toBe(true);
  });

  it('draws by weight for a caller that names no prompt cache key', () => {
    const channels = kept(['a', 'b'], 'prompt_cache_key');

    expect(chosen(channels, {}, sequence(0.9, 0.1))).toBe('b');
    expect(chosen(channels, {}, sequence(0.1, 0.9))).toBe('a');
  });
});

describe('where all rest', () => {
  const all = (...availabilities: readonly Availability[]): readonly Candidate[] =>
    availabilities.map((availability, index) =>
      candidate('abcdef'[index] ?? '', {}, { availability }),
    );

  it('the one that is back first serves, if what it rests for yields', () => {
    expect(chosen(all(rests(30, true), rests(20, true), rests(10, false)))).toBe('b');
  });

  it('nobody serves a call that has failed elsewhere already', () => {
    expect(chosen(all(rests(30, true)), { hasTried: true })).toBe('none: cooling_down');
  });

  it('and none yields, the soonest return is told', () => {
    const none = choiceOf(all(rests(30, false), rests(20, false)));

    expect(none).toEqual({ kind: 'none', reason: 'cooling_down', untilMs: 20 });
  });

  it.each<[string, readonly Availability[], string]>([
    ['busy', [rests(undefined, false, 'busy'), rests(5, false)], 'none: busy'],
    ['switched off', [rests(undefined, false, 'switched_off')], 'none: switched_off'],
    [
      'cooling down, or switched off',
      [rests(undefined, false, 'switched_off'), rests(5, false)],
      'none: cooling_down',
    ],
  ])('because they are %s, it says so', (_what, availabilities, expected) => {
    expect(chosen(all(...availabilities))).toBe(expected);
  });

  it.each<[string, readonly Candidate[]]>([
    ['none_configured', []],
    ['none_configured', [candidate('a', { weight: 0 })]],
    ['protocol', [candidate('a', {}, { isAble: false })]],
    ['group_restriction', [candidate('a', { groups: [] })]],
    ['price_restriction', [candidate('a', { maxPriceNanos: 1n })]],
  ])('or none may serve at all, it says %s', (reason, candidates) => {
    expect(chosen(candidates)).toBe(`none: ${reason}`);
  });

  it('of four or more half at most are kept out for their failures, the last to return', () => {
    const three = all(ejected(30), ejected(20), ejected(40), rests(10, true), rests(10, true));

    expect(chosen(three)).toBe('b');
  });

  it('of four or more all are kept out that can’t be reached or do not answer', () => {
    const unreachable = (untilMs: number): Availability => ({
      ...ejected(untilMs),
      yields: false,
    });

    const none = choiceOf(all(unreachable(30), unreachable(20), unreachable(40), unreachable(50)));

    expect(none).toEqual({ kind: 'none', reason: 'cooling_down', untilMs: 20 });
  });

  it('of three all may be, and the first to return takes one call at a time', () => {
    const candidates = all(ejected(30), ejected(20), ejected(40));
    const inUse = all(ejected(30), { ...ejected(20), isInUse: true }, ejected(40));

    expect(chosen(candidates)).toBe('b');
    expect(chosen(candidates, { passed: ['b'], hasTried: true })).toBe('none: cooling_down');
    expect(chosen(inUse)).toBe('none: cooling_down');
  });

  it('it tells whether the one that is in use said 429', () => {
    const limited = { ...rests(30, true), isInUse: true, isRateLimit: true };

    const none = choiceOf(all(limited, rests(20, false)));

    expect(none).toEqual({ kind: 'none', reason: 'cooling_down', untilMs: 20, isRateLimit: true });
  });
});

describe('a channel that is drawn last', () => {
  const last: Availability = { kind: 'last' };

  it('comes after all that are open, whatever its priority and weight', () => {
    const first = candidate('a', { priority: -9, weight: 99 }, { availability: last });

    expect(chosen([first, candidate('b', { priority: 5 })])).toBe('b');
    expect(chosen([first, candidate('b')], { passed: ['b'], hasTried: true })).toBe('a');
  });

  it('comes before one that rests', () => {
    const both = [
      candidate('a', { priority: -9 }, { availability: rests(5, true) }),
      candidate('b', {}, { availability: last }),
    ];

    expect(chosen(both)).toBe('b');
  });

  it('is drawn by priority among its like', () => {
    const two = [
      candidate('a', { priority: 2 }, { availability: last }),
      candidate('b', { priority: 1 }, { availability: last }),
    ];

    expect(chosen(two)).toBe('b');
  });
});

function sequence(...numbers: readonly number[]): () => number {
  let at = 0;
  return () => numbers[at++] ?? 0;
}

/** A seeded random source (mulberry32). */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
