// suite: services
/** The Redis result store keeps exact bytes, bounded in size and age. */

import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisResultStore } from '../../../src/stores/redis/index.ts';
import { resultStoreContract } from '../../../src/testing/contracts/result-store.ts';
import { describeRedis } from '../../services/redis.ts';
import { newPrefix } from './clients.ts';

const name = (number: number): string => `${String(number).padStart(64, '0')}.claim-0000000000000`;
const bodyOf = (bytes: number): Uint8Array => new Uint8Array(bytes).map((_, at) => at % 256);
const headers = { 'content-type': 'application/json' };

describeRedis('the Redis result store', (server) => {
  describe.each(['node-redis', 'ioredis'] as const)('over %s', (kind) => {
    let client: Parameters<typeof redisResultStore>[0]['client'];
    let close: () => void;
    beforeAll(async () => {
      const path = server().path;
      if (kind === 'ioredis') {
        const opened = new Redis(path);
        [client, close] = [opened, () => opened.disconnect()];
        return;
      }
      const opened = createClient({ socket: { path, tls: false } });
      await opened.connect();
      [client, close] = [opened, () => opened.destroy()];
    });
    afterAll(() => close());

    describe('fulfils the contract', () => {
      const maxBytes = 20 * 2 ** 20;
      const make = () => ({
        store: redisResultStore({ client, prefix: newPrefix(), maxBytes }),
        maxBytes,
      });
      for (const { name: title, run } of resultStoreContract(make)) it(title, run);
    });

    it('returns every byte unchanged', async () => {
      const store = redisResultStore({ client, prefix: newPrefix() });

      await store.put(name(1), { headers, body: bodyOf(70_000) });

      expect(await store.get(name(1))).toEqual({ headers, body: bodyOf(70_000) });
      expect(await store.get(name(2))).toBe(undefined);
    });

    it('evicts the oldest replies when full, and keeps none that is too large', async () => {
      const prefix = newPrefix();
      const small = redisResultStore({ client, prefix, maxBytes: 40_960 });
      // A second store, as in another process: the count is on the server.
      const other = redisResultStore({ client, prefix, maxBytes: 40_960 });
      for (let count = 1; count <= 5; count += 1) {
        const options = { owner: `k${count}` };
        const store = count % 2 === 0 ? small : other;
        await store.put(name(count), { headers, body: bodyOf(9_000) }, options);
      }
      await small.put(name(6), { headers, body: bodyOf(9_217) }, { owner: 'k6' });

      const kept: number[] = [];
      for (let count = 1; count <= 6; count += 1) {
        if ((await small.get(name(count))) !== undefined) kept.push(count);
      }
      // Four of 9,000 bytes and their overhead fit; 9,217 exceed the quarter of one owner.
      expect(kept).toEqual([2, 3, 4, 5]);
    });

    it('counts a reply once that is stored twice', async () => {
      const store = redisResultStore({ client, prefix: newPrefix(), maxBytes: 100_000 });
      await store.put(name(1), { headers, body: bodyOf(9_000) });
      for (let count = 0; count < 10; count += 1) {
        await store.put(name(2), { headers, body: bodyOf(9_000) });
      }

      expect(await store.get(name(1))).toBeDefined();
    });

    it('leaves no key without a TTL', async () => {
      const prefix = newPrefix();
      const store = redisResultStore({ client, prefix, maxAgeMs: 60_000 });
      await store.put(name(1), { headers, body: bodyOf(10) });
      const reader = createClient({ socket: { path: server().path, tls: false } });
      await reader.connect();

      const keys = await reader.keys(`${prefix}:*`);
      expect(keys).toHaveLength(6);
      for (const key of keys) {
        const ttlMs = await reader.pTTL(key);
        expect(ttlMs).toBeGreaterThan(0);
        expect(ttlMs).toBeLessThanOrEqual(60_000);
      }
      reader.destroy();
    });
  });

  it('refuses a client that can’t send and receive bytes', () => {
    expect(() => redisResultStore({ client: JSON.parse('{}') })).toThrow('redisResultStore');
  });
});
