/** The Redis limiter behaves like the memory limiter, and counts for all processes. */
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RateLimiter } from '../../../src/ports/rate-limiter.ts';
import { memoryRateLimiter } from '../../../src/stores/memory/rate-limiter.ts';
import { scriptRunner } from '../../../src/stores/redis/client.ts';
import { rateLimiterOver, redisRateLimiter } from '../../../src/stores/redis/rate-limiter.ts';
import { rateLimiterContract } from '../../../src/testing/contracts/rate-limiter.ts';
import type { FakeClock } from '../../../src/testing/fake-clock.ts';
import { describeRedis } from '../../services/redis.ts';
import { clients, newPrefix, type OpenClient, onClock, serverClock } from './clients.ts';

describeRedis('a rate limiter in Redis', (server) => {
  const opened: OpenClient[] = [];
  beforeAll(async () => {
    for (const [, open] of clients) opened.push(await open(server().path));
  });
  afterAll(() => {
    for (const { close } of opened) close();
  });
  /** One limiter per client, like those of two processes, on one clock. */
  const limiters = (points: number, durationMs: number): readonly [RateLimiter[], FakeClock] => {
    const [prefix, clock] = [newPrefix(), serverClock()];
    const options = { prefix, points, durationMs };
    return [
      opened.map(({ client }) => rateLimiterOver(onClock(scriptRunner(client), clock), options)),
      clock,
    ];
  };

  const contract = rateLimiterContract(() => {
    const [[limiter], clock] = limiters(4, 4_000);
    if (limiter === undefined) throw new Error('no client is open');
    return { limiter, advance: clock.advance };
  });
  for (const { name, run } of contract) it(name, run);

  it('grants all points at once, over all processes, and gives them back evenly', async () => {
    const [own, clock] = limiters(4, 4_000);
    const granted = async (): Promise<number> => {
      const calls = [1, 2, 3].flatMap(() => own.map((limiter) => limiter.consume('a', 1)));
      const decisions = await Promise.all(calls);
      return decisions.filter((decision) => decision.granted).length;
    };

    expect(await granted()).toBe(4);
    clock.advance(1_000);
    expect(await granted()).toBe(1);
    clock.advance(60_000);
    expect(await granted()).toBe(4);
  });

  it('decides like the memory limiter', async () => {
    const [[own], clock] = limiters(7, 10_000);
    const memory = memoryRateLimiter({ points: 7, durationMs: 10_000, clock });
    const script = [3, 3, 1, 1, 500, 2, 1_428, 1, 1, 9_999, 7, 1, 10_000, 7, 0.5];

    for (const step of script) {
      if (step > 7) clock.advance(step);
      else expect(await own?.consume('a', step)).toEqual(memory.consume('a', step));
    }
  });

  it('takes no points for a refused call, and says how long to wait', async () => {
    const [[own], clock] = limiters(2, 2_000);
    await own?.consume('a', 2);

    for (let tries = 0; tries < 5; tries += 1) {
      expect(await own?.consume('a', 1)).toEqual({ granted: false, retryAfterMs: 1_000 });
    }
    clock.advance(1_000);
    expect(await own?.consume('a', 1)).toEqual({ granted: true });
    expect((await own?.consume('b', 2))?.granted).toBe(true);
  });

  it('grants the last point, though the duration does not divide evenly', async () => {
    const [[own], clock] = limiters(3, 1_000);
    for (let round = 0; round < 50; round += 1) {
      const grants = [];
      for (let ask = 0; ask < 4; ask += 1) grants.push((await own?.consume('a', 1))?.granted);

      expect(grants).toEqual([true, true, true, false]);
      clock.advance(1_000 + round);
    }
  });

  it('refuses points that could never be granted', async () => {
    const [[own]] = limiters(2, 1_000);

    for (const points of [0, -1, 3, Number.NaN]) {
      await expect(own?.consume('a', points)).rejects.toBeInstanceOf(RangeError);
    }
  });

  it('deletes a subject’s key as soon as its allowance is full', async () => {
    const client = await createClient({ socket: { path: server().path, tls: false } }).connect();
    const prefix = newPrefix();
    await redisRateLimiter({ client, prefix, points: 10, durationMs: 10_000 }).consume('a', 1);

    const [key = ''] = await client.keys(`${prefix}:*`);
    const ttlMs = await client.pTTL(key);
    client.destroy();

    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(1_000);
  });
});
