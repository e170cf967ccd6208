// suite: search
/**
 * How many callers a broken upstream affects before the gateway stops using it, with the default
 * timeouts: each title contains the number that its test asserts.
 */
import { describe, expect, it } from 'vitest';
import { sampleRequests } from '../../support/models.ts';
import {
  type Conduct,
  type Outcome,
  type Simulation,
  simulation,
} from '../upstream/simulated-channels.ts';

const answers: Conduct = { kind: 'answers', afterMs: 1_000 };
const hangs: Conduct = { kind: 'hangs' };
const hour = 3_600_000;

/** The calls that were not served. */
function unserved({ outcomes }: Simulation): readonly Outcome[] {
  return outcomes.filter(({ status }) => status !== 200);
}

/** Calls one after the other, with the same pause between them. */
async function oneByOne(
  set: Simulation,
  count: number,
  { request = sampleRequests.chat, betweenMs = 0, leavesMs }: Partial<Pacing> = {},
): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    const leaving = leavesMs === undefined ? {} : { leavesMs };
    await set.until(set.call(request, { key: `key-${made}`, ...leaving }));
    await set.pass(betweenMs);
  }
}

interface Pacing {
  readonly request: typeof sampleRequests.chat;
  readonly betweenMs: number;
  readonly leavesMs: number;
}

/** A call at regular intervals, whether or not earlier ones have ended. */
async function every(
  set: Simulation,
  ms: number,
  lastsMs: number,
  { request = sampleRequests.chat }: Partial<Pacing> = {},
): Promise<void> {
  const calls: Promise<Outcome>[] = [];
  for (let passed = 0; passed < lastsMs; passed += ms) {
    calls.push(set.call(request, { key: `key-${passed}` }));
    await set.pass(ms);
  }
  await set.until(Promise.all(calls));
}

const badA =
  (conduct: Conduct) =>
  (id: string): Conduct =>
    id === 'a' ? conduct : answers;

describe('a preferred channel that hangs', () => {
  it.each([
    { kind: 'chat' as const, waitMs: 300_000 },
    { kind: 'chatStream' as const, waitMs: 120_000 },
  ])('$kind, callers one after the other for two hours: 1 suffers', async ({ kind, waitMs }) => {
    const set = simulation(['a', 'b'], badA(hangs));

    await oneByOne(set, 700, { request: sampleRequests[kind], betweenMs: 9_000 });

    expect(unserved(set)).toMatchObject([{ beganMs: 0, status: 504 }]);
    expect(unserved(set)[0]?.tookMs).toBeLessThanOrEqual(waitMs + 1_000);
    // Each trial is retried on another channel after ten seconds.
    const longest = set.outcomes.slice(1).map(({ tookMs }) => tookMs);
    expect(Math.max(...longest)).toBeLessThanOrEqual(12_000);
  });

  it('two calls a second: 25 suffer', async () => {
    const set = simulation(['a', 'b'], badA(hangs));

    await every(set, 500, 600_000, { request: sampleRequests.chatStream });

    expect(unserved(set).length).toBe(25);
    expect(set.states().slice(0, 2)).toEqual(['a deprioritized slow', 'a open headers_timeout']);
  });

  it('images, one after the other for two hours: 2 suffer', async () => {
    const set = simulation(['a', 'b'], badA(hangs));

    await oneByOne(set, 700, { request: sampleRequests.image, betweenMs: 9_000 });

    expect(unserved(set).length).toBe(2);
  });
});

it('two of three that hang, preferred, one call after the other: 2 suffer', async () => {
  const set = simulation(['a', 'b', 'c'], (id) => (id === 'c' ? answers : hangs));

  await oneByOne(set, 200, { betweenMs: 9_000 });

  expect(unserved(set).map(({ status }) => status)).toEqual([504, 504]);
  // The first trial waits half a minute, because the gateway does not know yet how long a reply
  // takes.
  const longest = set.outcomes.slice(2).map(({ tookMs }) => tookMs);
  expect(Math.max(...longest)).toBeLessThanOrEqual(32_000);
});

it('one of three that hangs, a call every 5 s for two hours: 1 suffers', async () => {
  const set = simulation(['a', 'b', 'c'], badA(hangs), { isEqual: true, random: seeded(3) });

  await every(set, 5_000, 2 * hour);

  expect(set.outcomes).toHaveLength(1_440);
  expect(unserved(set).length).toBe(1);
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x8000_0000;
  };
}

describe('a channel that can’t be reached, a call every 20 s', () => {
  it('refused connections: 0 suffer, and 5 calls try it before its circuit opens', async () => {
    const set = simulation(['a', 'b'], badA({ kind: 'refuses' }));

    await every(set, 20_000, 30 * 20_000);

    expect(unserved(set)).toEqual([]);
    expect(set.visited().slice(0, 11)).toBe('ababababab' + 'b');
    // Once in each cooldown from then on.
    expect([...set.visited()].filter((id) => id === 'a').length).toBeLessThanOrEqual(11);
  });

  it('a black hole: 0 suffer, and 2 wait 5 s longer before its circuit opens', async () => {
    const set = simulation(['a', 'b'], badA({ kind: 'black_hole' }));

    await every(set, 20_000, 30 * 20_000);

    expect(unserved(set)).toEqual([]);
    const slow = set.outcomes.filter(({ tookMs }) => tookMs > 2_000);
    expect(slow.map(({ beganMs }) => beganMs).slice(0, 2)).toEqual([0, 40_000]);
    expect(slow.length).toBeLessThanOrEqual(8);
  });
});

it('100 calls in flight when their channel dies with nothing sent: 0 suffer', async () => {
  const set = simulation(['a', 'b'], badA({ kind: 'black_hole' }));

  await set.until(Promise.all(Array.from({ length: 100 }, () => set.call(sampleRequests.chat))));

  expect(set.outcomes.map(({ status }) => status)).toEqual(Array(100).fill(200));
});

describe('all channels unreachable', () => {
  it('refused connections: 5 callers get 502, then 503 with the time to retry', async () => {
    const set = simulation(['a', 'b', 'c'], () => ({ kind: 'refuses' }));

    await oneByOne(set, 20, { betweenMs: 1_000 });

    expect(set.outcomes.map(({ status }) => status)).toEqual([
      ...Array(5).fill(502),
      ...Array(15).fill(503),
    ]);
    expect(set.outcomes[5]?.retryAfter).toBe('29');
    expect(set.visited()).toBe('abc'.repeat(5));
  });

  it('black holes: 2 callers wait 15 s each, then 503 immediately', async () => {
    const set = simulation(['a', 'b', 'c'], () => ({ kind: 'black_hole' }));

    await oneByOne(set, 10, { betweenMs: 1_000 });

    expect(set.outcomes.map(({ status }) => status)).toEqual([502, 502, ...Array(8).fill(503)]);
    expect(set.outcomes.slice(2).every(({ tookMs }) => tookMs === 0)).toBe(true);
  });

  it('recovered after a minute: the next call after the cooldown is served', async () => {
    const set = simulation(['a', 'b', 'c'], (_id, nowMs) =>
      nowMs < 60_000 ? { kind: 'refuses' } : answers,
    );

    await oneByOne(set, 120, { betweenMs: 1_000 });

    const last = unserved(set).at(-1);
    expect(last?.beganMs).toBeLessThanOrEqual(100_000);
    expect(set.outcomes.at(-1)?.status).toBe(200);
  });
});

describe('callers that disconnect after 60 s from a hanging channel, one by one', () => {
  it('of two keys or more: 2 suffer', async () => {
    const set = simulation(['a', 'b'], badA(hangs));

    await oneByOne(set, 30, { leavesMs: 60_000, betweenMs: 4_000 });

    expect(unserved(set).map(({ status }) => status)).toEqual([0, 0]);
  });

  it('all of one key, which counts once: 3 suffer', async () => {
    const set = simulation(['a', 'b'], badA(hangs));

    for (let made = 0; made < 30; made += 1) {
      await set.until(set.call(sampleRequests.chat, { key: 'only', leavesMs: 60_000 }));
      await set.pass(1_000);
    }

    expect(unserved(set).map(({ status }) => status)).toEqual([0, 0, 0]);
    expect(set.states()[0]).toBe('a deprioritized slow');
  });

  it('all of one key, if no other channel replies either: its circuit stays closed', async () => {
    const set = simulation(['a', 'b'], () => hangs);

    for (let made = 0; made < 9; made += 1) {
      await set.until(set.call(sampleRequests.chat, { key: 'only', leavesMs: 60_000 }));
      await set.pass(1_000);
    }

    expect(set.states()).toEqual([]);
  });
});

describe('a single account that answers 429', () => {
  it('gets one call at a time: others get 429 with its Retry-After', async () => {
    const set = simulation(['a'], (_id, nowMs) =>
      nowMs < 10_000 ? { kind: 'says', status: 429, retryAfter: 30 } : { ...answers },
    );
    await set.until(set.call(sampleRequests.chat));
    await set.pass(10_000);

    await set.until(Promise.all(Array.from({ length: 5 }, () => set.call(sampleRequests.chat))));
    await set.until(set.call(sampleRequests.chat));

    expect(set.outcomes.map(({ status, retryAfter }) => `${status} ${retryAfter}`)).toEqual([
      '429 30',
      ...Array(4).fill('429 20'),
      '200 undefined',
      '200 undefined',
    ]);
    expect(set.states()).toEqual(['a cooling_down upstream_rate_limited', 'a ready']);
  });

  it.each([503, 529])('and so does one that answers %i: other calls get 503', async (status) => {
    const set = simulation(['a'], (_id, nowMs) =>
      nowMs === 0 ? { kind: 'says', status, retryAfter: 30 } : answers,
    );
    await set.until(set.call(sampleRequests.chat));
    await set.pass(10_000);

    await set.until(Promise.all([set.call(sampleRequests.chat), set.call(sampleRequests.chat)]));

    expect(set.outcomes.slice(1).map((one) => [one.status, one.retryAfter])).toEqual([
      [503, '20'],
      [200, undefined],
    ]);
  });

  it.each([401, 402])('but one that answers %i gets no calls: 503', async (status) => {
    const set = simulation(['a'], () => ({ kind: 'says', status }));

    await oneByOne(set, 3);

    expect(set.outcomes.map((one) => one.status)).toEqual([502, 503, 503]);
    expect(set.visited()).toBe('a');
  });
});
