// suite: slow runtime
/** Which channel is chosen for a call: restrictions, health, priority, weight, load. */
import { describe, expect, it } from 'vitest';
import type { FailureReason } from '../../src/failure-reasons.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import { mostExpensiveUnit } from '../../src/prices/cost.ts';
import {
  type Availability,
  type Choice,
  type ChoiceInput,
  chooseChannel,
  type PoolInput,
  type PoolState,
  poolOf,
} from '../../src/upstream/choose.ts';
import { numbers } from '../support/seeds.ts';

const price = { per: 'token', rates: { input: 1n, output: 2_000_000n } } as const;

interface Candidate {
  readonly channel: Channel;
  readonly isAble: boolean;
  readonly availability: Availability;
  readonly inFlight: number;
}

const input: ChoiceInput = {
  keyId: 'key-1',
  promptCacheKey: undefined,
  session: () => undefined,
  excluded: [],
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
  return { channel, isAble: true, availability: { kind: 'available' }, inFlight: 0, ...state };
}

function neverAsked(): never {
  throw new Error('A model that prefers nothing asks for no measurement');
}

const byWeight: PoolInput = {
  unitNanos: mostExpensiveUnit(price),
  group: 'staff',
  isAble: () => true,
  prefer: undefined,
  costOf: neverAsked,
};

type Unavailable = Extract<Availability, { readonly kind: 'unavailable' }>;

type Why = FailureReason;
const pausedUntil = (untilMs: number | undefined, yields: boolean, reason: Why = 'other') => ({
  kind: 'unavailable' as const,
  reason,
  untilMs,
  lastResort: yields,
});
const circuitOpenUntil = (untilMs: number): Unavailable => ({
  kind: 'unavailable',
  reason: 'reset',
  untilMs,
  lastResort: true,
  isCircuitOpen: true,
});

function choiceOf(
  candidates: readonly Candidate[],
  change: Partial<ChoiceInput> = {},
  random: () => number = () => 0,
): Choice {
  const byChannel = new Map(candidates.map((one) => [one.channel, one]));
  const isAble = (channel: Channel): boolean => byChannel.get(channel)?.isAble === true;
  const channels = candidates.map(({ channel }) => channel);
  const pool = poolOf(channels, { ...byWeight, isAble });
  if (typeof pool === 'string') return { kind: 'none', reason: pool };
  const state: PoolState = {
    availability: (channel) => byChannel.get(channel)?.availability ?? { kind: 'available' },
    inFlight: (channel) => byChannel.get(channel)?.inFlight ?? 0,
    firstByteMs: neverAsked,
  };
  return chooseChannel(pool, { ...input, ...change }, state, random);
}

/** The id of the chosen channel, or why there is none. */
function chosenId(
  candidates: readonly Candidate[],
  change: Partial<ChoiceInput> = {},
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
    ['if its weight is not 0', [candidate('a', { weight: 0 }), candidate('b')], 'b'],
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
      'before one of better priority that is cooling down',
      [candidate('a', { priority: -1 }, { availability: pausedUntil(5, true) }), candidate('b')],
      'b',
    ],
  ])('%s', (_what, candidates, expected) => {
    expect(chosenId(candidates)).toBe(expected);
  });

  it('unless the call has tried it', () => {
    const both = [candidate('a'), candidate('b')];

    expect(chosenId(both, { excluded: ['a'], hasTried: true })).toBe('b');
    expect(chosenId(both, { excluded: ['a', 'b'], hasTried: true })).toBe('none: protocol');
  });

  it('as often as its weight says', () => {
    const candidates = [
      candidate('a', { weight: 7 }),
      candidate('b', { weight: 2 }),
      candidate('c', { weight: 1 }),
    ];
    const random = numbers(42);
    const counts = new Map<string, number>();

    for (let count = 0; count < 10_000; count += 1) {
      const id = chosenId(candidates, {}, random);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }

    const near = (id: string, share: number): boolean =>
      Math.abs((counts.get(id) ?? 0) / 10_000 - share) < 0.02;
    expect([near('a', 0.7), near('b', 0.2), near('c', 0.1)]).toEqual([true, true, true]);
  });

  it('by weight among the healthy ones, where another one is unavailable', () => {
    const candidates = [
      candidate('a', { weight: 5 }, { availability: pausedUntil(5, true) }),
      candidate('b', { weight: 3 }),
      candidate('c', { weight: 1 }),
    ];
    const random = numbers(7);

    const ids = Array.from({ length: 10_000 }, () => chosenId(candidates, {}, random));

    expect(ids).not.toContain('a');
    expect(Math.abs(ids.filter((id) => id === 'b').length / 10_000 - 0.75)).toBeLessThan(0.02);
  });

  it('the less loaded of two healthy ones, where another one is unavailable', () => {
    const candidates = [
      candidate('a', {}, { availability: pausedUntil(5, true) }),
      candidate('b', {}, { inFlight: 9 }),
      candidate('c'),
    ];
    const random = numbers(11);

    const ids = Array.from({ length: 1_000 }, () => chosenId(candidates, {}, random));

    expect(new Set(ids)).toEqual(new Set(['c']));
  });

  it('from two of a thousand, without looking at the others', () => {
    const thousand = Array.from({ length: 1_000 }, (_, index) => candidate(`c${index}`));
    const channels = thousand.map(({ channel }) => channel);
    const pool = poolOf(channels, byWeight);
    const checked = new Set<string>();
    const state: PoolState = {
      availability: ({ id }) => {
        checked.add(id);
        return { kind: 'available' };
      },
      inFlight: ({ id }) => (id === 'c250' ? 1 : 0),
      firstByteMs: neverAsked,
    };

    if (typeof pool === 'string') throw new Error(pool);
    const choice = chooseChannel(pool, input, state, sequence(0.25, 0.75));

    expect([...checked]).toEqual(['c250', 'c750']);
    expect(choice).toMatchObject({ kind: 'channel', channel: { id: 'c750' } });
  });

  it('as the one of two with the lower load for its weight', () => {
    const two = (a: number, b: number): string =>
      chosenId([
        candidate('a', { weight: 2 }, { inFlight: a }),
        candidate('b', {}, { inFlight: b }),
      ]);

    expect(two(3, 1)).toBe('b');
    expect(two(2, 1)).toBe('a');
  });
});

describe('a sticky channel', () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `caller-${index}`);
  const sticky = (ids: readonly string[], stickyBy: Channel['stickyBy'] = 'key') =>
    ids.map((id) => (stickyBy === undefined ? candidate(id) : candidate(id, { stickyBy })));

  it('gets the same key every time, whatever its load', () => {
    const busy = sticky(['a', 'b', 'c']).map((one) => ({ ...one, inFlight: 50 }));
    const first = chosenId(sticky(['a', 'b', 'c']));

    expect(chosenId(busy, {}, () => 0.99)).toBe(first);
  });

  it('gets keys by weight, and keeps them when another channel is removed', () => {
    const channelsOf = (ids: readonly string[]): readonly string[] =>
      names.map((keyId) => chosenId(sticky(ids), { keyId }));
    const before = channelsOf(['a', 'b', 'c']);
    const after = channelsOf(['a', 'b']);

    const share = before.filter((id) => id === 'a').length / names.length;
    expect(Math.abs(share - 1 / 3)).toBeLessThan(0.05);
    expect(before.filter((id, index) => id !== 'c' && id !== after[index])).toEqual([]);
  });

  it.each<[Channel['stickyBy'], (name: string) => Partial<ChoiceInput>]>([
    ['prompt_cache_key', (promptCacheKey) => ({ promptCacheKey })],
    ['session', (session) => ({ session: () => session })],
  ])('by %s gets each of them every time, and those of each key apart', (stickyBy, of) => {
    const channels = sticky(['a', 'b', 'c'], stickyBy);
    const chosenFor = (name: string, keyId: string, random: number): string =>
      chosenId(channels, { ...of(name), keyId }, () => random);
    const allOf = (keyId: string, random: number): readonly string[] =>
      names.map((name) => chosenFor(name, keyId, random));
    const ofOne = allOf('key-1', 0.1);

    expect(allOf('key-1', 0.9)).toEqual(ofOne);
    const share = ofOne.filter((id) => id === 'a').length / names.length;
    expect(Math.abs(share - 1 / 3)).toBeLessThan(0.05);
    const same = allOf('key-2', 0.1).filter((id, index) => id === ofOne[index]).length;
    expect(Math.abs(same / names.length - 1 / 3)).toBeLessThan(0.05);
  });

  it('is chosen by weight for a caller without a prompt cache key', () => {
    const channels = sticky(['a', 'b'], 'prompt_cache_key');

    expect(chosenId(channels, {}, sequence(0.9, 0.1))).toBe('b');
    expect(chosenId(channels, {}, sequence(0.1, 0.9))).toBe('a');
  });
});

describe('when all channels are unavailable', () => {
  const all = (...availabilities: readonly Availability[]): readonly Candidate[] =>
    availabilities.map((availability, index) =>
      candidate('abcdef'[index] ?? '', {}, { availability }),
    );

  it('the first to return serves, of those that allow last-resort calls', () => {
    expect(
      chosenId(all(pausedUntil(30, true), pausedUntil(20, true), pausedUntil(10, false))),
    ).toBe('b');
  });

  it('a call that has already failed elsewhere gets no last-resort channel', () => {
    expect(chosenId(all(pausedUntil(30, true)), { hasTried: true })).toBe('none: cooling_down');
  });

  it('and none allows last-resort calls, the soonest return is reported', () => {
    const none = choiceOf(all(pausedUntil(30, false), pausedUntil(20, false)));

    expect(none).toEqual({ kind: 'none', reason: 'cooling_down', untilMs: 20 });
  });

  it.each<[string, readonly Availability[], string]>([
    ['busy', [pausedUntil(undefined, false, 'busy'), pausedUntil(5, false)], 'none: busy'],
    ['switched off', [pausedUntil(undefined, false, 'switched_off')], 'none: switched_off'],
    [
      'cooling down, or switched off',
      [pausedUntil(undefined, false, 'switched_off'), pausedUntil(5, false)],
      'none: cooling_down',
    ],
  ])('the reason is %s if that is why', (_what, availabilities, expected) => {
    expect(chosenId(all(...availabilities))).toBe(expected);
  });

  it.each<[string, readonly Candidate[]]>([
    ['none_configured', []],
    ['none_configured', [candidate('a', { weight: 0 })]],
    ['protocol', [candidate('a', {}, { isAble: false })]],
    ['group_restriction', [candidate('a', { groups: [] })]],
    ['price_restriction', [candidate('a', { maxPriceNanos: 1n })]],
  ])('or none may serve at all, the reason is %s', (reason, candidates) => {
    expect(chosenId(candidates)).toBe(`none: ${reason}`);
  });

  it('at most half of four or more are kept out by open circuits, those that return last', () => {
    const three = all(
      circuitOpenUntil(30),
      circuitOpenUntil(20),
      circuitOpenUntil(40),
      pausedUntil(10, true),
      pausedUntil(10, true),
    );

    expect(chosenId(three)).toBe('b');
  });

  it('all of four or more are kept out if they are unreachable or time out', () => {
    const unreachable = (untilMs: number): Availability => ({
      ...circuitOpenUntil(untilMs),
      lastResort: false,
    });

    const none = choiceOf(all(unreachable(30), unreachable(20), unreachable(40), unreachable(50)));

    expect(none).toEqual({ kind: 'none', reason: 'cooling_down', untilMs: 20 });
  });

  it('all of three may be kept out, and the first to return takes one call at a time', () => {
    const candidates = all(circuitOpenUntil(30), circuitOpenUntil(20), circuitOpenUntil(40));
    const inUse = all(
      circuitOpenUntil(30),
      { ...circuitOpenUntil(20), isInUse: true },
      circuitOpenUntil(40),
    );

    expect(chosenId(candidates)).toBe('b');
    expect(chosenId(candidates, { excluded: ['b'], hasTried: true })).toBe('none: cooling_down');
    expect(chosenId(inUse)).toBe('none: cooling_down');
  });

  it('the choice says if the busy channel of last resort replied 429', () => {
    const limited = { ...pausedUntil(30, true), isInUse: true, isRateLimit: true };

    const none = choiceOf(all(limited, pausedUntil(20, false)));

    expect(none).toEqual({ kind: 'none', reason: 'cooling_down', untilMs: 20, isRateLimit: true });
  });
});

describe('a deprioritized channel', () => {
  const deprioritized: Availability = { kind: 'deprioritized' };

  it('comes after all available ones, whatever its priority and weight', () => {
    const first = candidate('a', { priority: -9, weight: 99 }, { availability: deprioritized });

    expect(chosenId([first, candidate('b', { priority: 5 })])).toBe('b');
    expect(chosenId([first, candidate('b')], { excluded: ['b'], hasTried: true })).toBe('a');
  });

  it('comes before one that is cooling down', () => {
    const both = [
      candidate('a', { priority: -9 }, { availability: pausedUntil(5, true) }),
      candidate('b', {}, { availability: deprioritized }),
    ];

    expect(chosenId(both)).toBe('b');
  });

  it('is chosen by priority among other deprioritized ones', () => {
    const two = [
      candidate('a', { priority: 2 }, { availability: deprioritized }),
      candidate('b', { priority: 1 }, { availability: deprioritized }),
    ];

    expect(chosenId(two)).toBe('b');
  });
});

function sequence(...numbers: readonly number[]): () => number {
  let at = 0;
  return () => numbers[at++] ?? 0;
}
