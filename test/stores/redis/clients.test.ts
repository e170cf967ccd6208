// suite: services
/** The stores work with every supported client and its settings. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { createClient, createClientPool, RESP_TYPES } from 'redis';
import { afterEach, expect, it } from 'vitest';
import type { RedisClient } from '../../../src/stores/redis/client.ts';
import { redisQuotaStore } from '../../../src/stores/redis/index.ts';
import { describeRedis } from '../../services/redis.ts';
import { callsOf, newPartition, reserveOf } from './calls.ts';
import { newPrefix } from './clients.ts';

describeRedis('a quota store works over', (server) => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });
  const socket = (): { path: string; tls: false } => ({ path: server().path, tls: false });

  const openers: Readonly<Record<string, () => Promise<RedisClient>>> = {
    'node-redis in RESP 2': async () => {
      const client = await createClient({ socket: socket(), RESP: 2 }).connect();
      closers.push(() => client.destroy());
      return client;
    },
    'node-redis in RESP 3, with buffers for texts': async () => {
      const client = await createClient({
        socket: socket(),
        RESP: 3,
        commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
      }).connect();
      closers.push(() => client.destroy());
      return client;
    },
    'a pool of node-redis': async () => {
      const pool = createClientPool({ socket: socket() });
      await pool.connect();
      closers.push(() => pool.destroy());
      return pool;
    },
    'ioredis with a prefix of its own': async () => {
      const client = new Redis({ path: server().path, keyPrefix: 'app:' });
      closers.push(() => client.disconnect());
      return client;
    },
    'ioredis in RESP 2, numbers as texts': async () => {
      const client = new Redis({ path: server().path, protocol: 2, stringNumbers: true });
      closers.push(() => client.disconnect());
      return client;
    },
    'a function that sends commands': async () => {
      const client = await createClient({ socket: socket() }).connect();
      closers.push(() => client.destroy());
      return { send: (args) => client.sendCommand([...args]) };
    },
  };

  it.each(Object.entries(openers))('%s', async (_name, open) => {
    const store = redisQuotaStore({ client: await open(), prefix: newPrefix() });
    const partition = newPartition();
    const input = reserveOf(partition, { id: randomUUID() });

    expect((await store.reserve(input)).status).toBe('held');
    expect(await store.settle({ ...input, basis: 'usage' })).toMatchObject({ status: 'settled' });
    for (const [, call] of callsOf(store, partition, { timeoutMs: 5_000 })) await call();

    expect(await store.check()).toEqual({ ok: true });
    expect(await store.sweep({ max: 1 })).toEqual({ expired: 0, more: false });
    const state = await store.read('alice', '', partition);
    expect([state?.used, state?.held, state?.inFlight]).toEqual([20n, 10n, 1]);
  });
});
