// suite: services
/** The Redis limiter decides like the model of token buckets, and counts for all processes. */
import fc from 'fast-check';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RateLimiter, RateTake } from '../../../src/ports/limits/rate-limiter.ts';
import { type RunScript, scriptRunner } from '../../../src/stores/redis/client.ts';
import { rateLimiterOver, redisRateLimiter } from '../../../src/stores/redis/rate-limiter.ts';
import { rateLimiterContract } from '../../../src/testing/contracts/rate-limiter.ts';
import type { FakeClock } from '../../../src/testing/fake-clock.ts';
import { describeRedis } from '../../services/redis.ts';
import { rateModel, rateSteps, type StepChoices } from '../rate-model.ts';
import { expectEveryLimitApplies, statedRates } from '../stated-rates.ts';
import { clients, newPrefix, type OpenClient, onClock, serverClock } from './clients.ts';

const minute: RateTake = {
  owner: 'subject.ada',
  bucket: 'calls.minute',
  amount: 1,
  limit: 60,
  periodMs: 60_000,
};

describeRedis('a rate limiter in Redis', (server) => {
  const opened: OpenClient[] = [];
  beforeAll(async () => {
    for (const [, open] of clients) opened.push(await open(server().path));
  });
  afterAll(() => {
    for (const { close } of opened) close();
  });
  /** One limiter per client, like those of two processes, on one clock. */
  const limiters = (): readonly [RateLimiter[], FakeClock] => {
    const [prefix, clock] = [newPrefix(), serverClock()];
    return [
      opened.map(({ client }) => rateLimiterOver(onClock(scriptRunner(client), clock), prefix)),
      clock,
    ];
  };

  describe.each(clients.map(([name], index) => ({ name, index })))('over $name', ({ index }) => {
    const contract = rateLimiterContract(() => {
      const [all, clock] = limiters();
      const limiter = all[index];
      if (limiter === undefined) throw new Error('no client is open');
      return { limiter, advance: clock.advance };
    });
    for (const { name, run } of contract) it(name, run);
  });

  const everywhere = {
    owners: ['subject.ada', 'subject.group', 'model.m}:{x'],
    mayPassDays: false,
  };
  const choices: readonly (StepChoices & { readonly what: string })[] = [
    {
      ...everywhere,
      what: 'one owner at a time, and limits that change',
      limits: [1, 2, 7, 60, 61, 59_999, 10_000_000_000],
      maxOwners: 1,
    },
    { ...everywhere, what: 'several owners at a time', limits: [60], maxOwners: 3 },
  ];

  it.each(choices)('decides like the model, from two processes: $what', async (choice) => {
    await fc.assert(
      fc.asyncProperty(rateSteps(choice), async (sequence) => {
        const [own, clock] = limiters();
        const model = rateModel();
        for (const [index, { operation, takes, thenMs }] of sequence.entries()) {
          const expected = model[operation](takes, clock.now());
          const answer = await own[index % own.length]?.[operation](takes);
          expect(answer).toEqual(expected);
          clock.advance(thenMs);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('applies every limit that is stated, also if several have one bucket', async () => {
    const [client] = opened;
    if (client === undefined) throw new Error('no client is open');
    await fc.assert(
      // Limits of one owner: those of several are taken in several steps.
      fc.asyncProperty(statedRates(['ada']), async (stated) => {
        const clock = serverClock();
        const run = onClock(scriptRunner(client.client), clock);
        const newLimiter = () => rateLimiterOver(run, newPrefix());
        const { now: nowMs, advance } = clock;
        await expectEveryLimitApplies({ ...stated, ofModel: {} }, newLimiter, { nowMs, advance });
      }),
      { numRuns: 40 },
    );
  });

  it('grants a limit once to the concurrent calls of two processes', async () => {
    const [own] = limiters();
    const group = { ...minute, owner: 'subject.group', limit: 30 };
    const calls = own.flatMap((limiter) =>
      Array.from({ length: 50 }, () => limiter.take([minute, group])),
    );

    const granted = (await Promise.all(calls)).filter((decision) => decision.granted);

    expect(granted).toHaveLength(30);
    // The amounts of calls that the group's limit refused were given back to the key.
    expect(await own[0]?.take([{ ...minute, amount: 30 }])).toMatchObject({ granted: true });
  });

  it('gives back what was taken, if a later owner can’t be asked', async () => {
    const [prefix, clock] = [newPrefix(), serverClock()];
    const [first] = opened;
    if (first === undefined) throw new Error('no client is open');
    const run = onClock(scriptRunner(first.client), clock);
    const failing: RunScript = (call, signal) =>
      call.keys[0]?.includes('model') === true
        ? Promise.reject(new Error('away'))
        : run(call, signal);
    const model = { ...minute, owner: 'model.m' };

    const call = rateLimiterOver(failing, prefix).take([{ ...minute, amount: 60 }, model]);

    await expect(call).rejects.toThrow('away');
    const whole = await rateLimiterOver(run, prefix).take([{ ...minute, amount: 60 }]);
    expect(whole.granted).toBe(true);
  });

  it('refuses amounts and limits outside their range', async () => {
    const [[limiter]] = limiters();
    const wrong = [{ amount: 0 }, { amount: 61 }, { amount: 0.5 }, { limit: 0 }, { limit: 2e10 }];

    for (const change of wrong) {
      await expect(limiter?.take([{ ...minute, ...change }])).rejects.toThrow(RangeError);
    }
    await expect(limiter?.adjust([{ ...minute, amount: 0.5 }])).rejects.toThrow(RangeError);
  });

  it('fails closed on a bucket that something else has written', async () => {
    const client = await createClient({ socket: { path: server().path, tls: false } }).connect();
    const prefix = newPrefix();
    const limiter = redisRateLimiter({ client, prefix });
    await client.set(`${prefix}:rate:{subject.ada}:calls.minute`, 'full');

    await expect(limiter.take([minute])).rejects.toMatchObject({ name: 'StoreCorrupt' });
    await expect(limiter.adjust([minute])).rejects.toMatchObject({ name: 'StoreCorrupt' });
    client.destroy();
  });

  it('deletes the key of a bucket soon after it is full', async () => {
    const client = await createClient({ socket: { path: server().path, tls: false } }).connect();
    const prefix = newPrefix();
    const limiter = redisRateLimiter({ client, prefix });
    const day = {
      ...minute,
      bucket: 'tokens.day.a/b:c',
      limit: 86_400,
      periodMs: 86_400_000,
    } as const;
    await limiter.take([minute, { ...day, amount: 3_600 }]);

    const ttls = new Map<string, number>();
    for (const key of await client.keys(`${prefix}:*`)) ttls.set(key, await client.pTTL(key));
    await limiter.adjust([{ ...minute, amount: -1 }]);
    const left = await client.keys(`${prefix}:*`);
    client.destroy();

    const base = `${prefix}:rate:{subject.ada}`;
    expect([...ttls.keys()].toSorted()).toEqual([
      `${base}:calls.minute`,
      `${base}:tokens.day.a/b:c`,
    ]);
    expect(ttls.get(`${base}:calls.minute`)).toBeLessThanOrEqual(11_001);
    expect(ttls.get(`${base}:tokens.day.a/b:c`)).toBeLessThanOrEqual(3_610_000 + 1_440);
    expect(ttls.get(`${base}:tokens.day.a/b:c`)).toBeGreaterThan(3_500_000);
    expect(left).toEqual([`${base}:tokens.day.a/b:c`]);
  });
});
