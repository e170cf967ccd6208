// suite: services
/** On a Redis Cluster each partition is on one node, and a store finds it there. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Cluster } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RateTake } from '../../../src/ports/limits/rate-limiter.ts';
import type { RedisClient } from '../../../src/stores/redis/client.ts';
import {
  redisIdempotencyStore,
  redisQuotaStore,
  redisRateLimiter,
} from '../../../src/stores/redis/index.ts';
import { describeRedis, type RedisServer, startRedis } from '../../services/redis.ts';
import { callsOf, line, newPartition, reserveOf } from './calls.ts';
import { newPrefix } from './clients.ts';

const host = '127.0.0.1';
const lastSlot = 16_383;
const half = 8_191;

describeRedis('a Redis Cluster of two nodes', () => {
  const ports: number[] = [];
  const nodes: RedisServer[] = [];
  const closers: (() => unknown)[] = [];

  beforeAll(async () => {
    for (let index = 0; index < 2; index += 1) {
      const { node, port, busPort } = await startNode();
      nodes.push(node);
      ports.push(port);
      if (index > 0) await sendCommand(nodes[0], 'CLUSTER', 'MEET', host, `${port}`, `${busPort}`);
    }
    await sendCommand(nodes[0], 'CLUSTER', 'ADDSLOTSRANGE', '0', `${half}`);
    await sendCommand(nodes[1], 'CLUSTER', 'ADDSLOTSRANGE', `${half + 1}`, `${lastSlot}`);
    for (const node of nodes) await untilComplete(node);
  });
  afterAll(async () => {
    for (const close of closers) await close();
    for (const node of nodes) await node.remove();
  });

  const open = {
    'node-redis': async (): Promise<RedisClient> => {
      const rootNodes = ports.map((port) => ({ socket: { host, port } }));
      const cluster = createCluster({ rootNodes });
      cluster.on('error', () => {});
      await cluster.connect();
      closers.push(() => cluster.destroy());
      return cluster;
    },
    ioredis: async (): Promise<RedisClient> => {
      const cluster = new Cluster(
        ports.map((port) => ({ host, port })),
        { retryDelayOnTryAgain: 1 },
      );
      cluster.on('error', () => {});
      await once(cluster, 'ready');
      closers.push(() => cluster.disconnect());
      return cluster;
    },
    'a function that knows one node': async (): Promise<RedisClient> => {
      const [port = 0] = ports;
      const client = await createClient({ socket: { host, port } }).connect();
      closers.push(() => client.destroy());
      return { send: (args) => client.sendCommand([...args]) };
    },
  };

  /** Begins to migrate the slot of a key to the other node, like `redis-cli --cluster reshard`. */
  const startMove = async (base: string) => {
    const slot = await sendCommand(nodes[0], 'CLUSTER', 'KEYSLOT', base);
    const [from, to] = Number(slot) <= half ? [0, 1] : [1, 0];
    const source = nodes[from];
    const [fromId, toId] = [
      await sendCommand(source, 'CLUSTER', 'MYID'),
      await sendCommand(nodes[to], 'CLUSTER', 'MYID'),
    ];
    await sendCommand(nodes[to], 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
    await sendCommand(source, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
    return {
      keys: async () =>
        (await sendCommand(source, 'CLUSTER', 'GETKEYSINSLOT', slot, '100')).split(','),
      take: async (key: string) =>
        sendCommand(source, 'MIGRATE', host, `${ports[to]}`, key, '0', '5000'),
      end: async () => {
        for (const node of [nodes[to], source]) {
          await sendCommand(node, 'CLUSTER', 'SETSLOT', slot, 'NODE', toId);
        }
      },
    };
  };

  describe.each(['node-redis', 'ioredis'] as const)('over %s', (name) => {
    it('does every operation in every partition, on any node', async () => {
      const client = await open[name]();
      const store = redisQuotaStore({ client, prefix: newPrefix() });
      const partitions = Array.from({ length: 12 }, newPartition);

      const inputs = partitions.map((partition) => reserveOf(partition));
      for (const input of inputs) expect((await store.reserve(input)).status).toBe('held');
      const leases = inputs.map((input) => ({ ...input, ttlMs: 60_000 }));
      const extended = await store.extend(leases);
      for (const input of inputs) await store.settle({ ...input, basis: 'usage' });
      for (const partition of partitions) {
        for (const [, call] of callsOf(store, partition, {})) await call();
        const state = await store.read('alice', '', partition);
        expect([state?.used, state?.held]).toEqual([20n, 10n]);
      }

      expect(new Set(extended.map(({ status }) => status))).toEqual(new Set(['held']));
      expect(await store.sweep({ max: 1_000 })).toEqual({ expired: 0, more: false });
      for (const node of nodes)
        expect(Number(await sendCommand(node, 'DBSIZE'))).toBeGreaterThan(0);
    });

    it('refuses calls while a slot migrates, and loses no quota', async () => {
      const [client, prefix, partition] = [await open[name](), newPrefix(), newPartition()];
      const store = redisQuotaStore({ client, prefix });
      const of = (amount: bigint) => reserveOf(partition, { lines: [line('alice', amount)] });
      const [settled, held, refused] = [of(80n), of(10n), of(80n)];
      await store.reserve(settled);
      await store.settle({ ...settled, basis: 'usage' });
      await store.reserve(held);
      const before = await store.read('alice', '', partition);
      const failure = {
        name: 'StoreUnavailable',
        // ioredis tries a few times and then reports only the last error.
        outcome: name === 'ioredis' ? 'unknown' : 'not_done',
      };
      const isNotServed = async (): Promise<void> => {
        for (const call of [
          async () => store.reserve(refused),
          async () => store.reserve(settled),
          async () => store.settle({ ...settled, basis: 'usage' }),
          async () => store.settle({ ...held, basis: 'usage' }),
          async () => store.extend([{ ...held, ttlMs: 60_000 }]),
        ]) {
          await expect(call()).rejects.toMatchObject(failure);
        }
      };

      const move = await startMove(`${prefix}:{${partition}}:`);
      await isNotServed();
      const [first = '', ...rest] = await move.keys();
      await move.take(first);
      await isNotServed();
      for (const key of rest) await move.take(key);
      await isNotServed();
      await move.end();

      expect(await store.read('alice', '', partition)).toEqual(before);
      const again = await store.settle({ ...settled, basis: 'usage' });
      expect(again).toEqual({ status: 'already', charged: [80n] });
      expect((await store.reserve(refused)).status).toBe('insufficient');
      expect((await store.settle({ ...held, basis: 'usage' })).status).toBe('settled');
    });

    it('takes rate limits from owners on both nodes, all or none', async () => {
      const limiter = redisRateLimiter({ client: await open[name](), prefix: newPrefix() });
      const owners = Array.from({ length: 12 }, (_, index) => `subject.${index}`);
      const day = { bucket: 'calls.day', amount: 1, limit: 2, periodMs: 86_400_000 } as const;
      const takes = owners.flatMap((owner): readonly RateTake[] => [
        { ...day, owner },
        { ...day, owner, bucket: 'tokens.day' },
      ]);
      const all = [...takes, { ...day, owner: 'model.m', amount: 2 }];

      expect((await limiter.take(all)).granted).toBe(true);
      expect(await limiter.take(all)).toMatchObject({ granted: false, refused: all.length - 1 });
      expect((await limiter.take(takes)).granted).toBe(true);
      expect((await limiter.take(takes)).granted).toBe(false);
      await limiter.adjust(takes.map((take) => ({ ...take, amount: -1 })));
      expect((await limiter.take(takes)).granted).toBe(true);
    });

    it('keeps claims on both nodes', async () => {
      const client = await open[name]();
      const store = redisIdempotencyStore({ client, prefix: newPrefix() });
      const rest = { fingerprint: 'f', requestId: 'r', leaseMs: 60_000, keepMs: 60_000 };
      const owner = { keyId: 'k', operation: 'chat' } as const;
      const claim = (index: number, claimId: string) =>
        store.claim({ name: `name-${index}`, claimId, ifTaken: 'answer', ...owner, ...rest });

      for (let index = 0; index < 12; index += 1) {
        expect((await claim(index, 'first')).status).toBe('claimed');
        expect((await claim(index, 'second')).status).toBe('taken');
      }
    });
  });

  it('has done nothing if a client does not follow redirections', async () => {
    const client = await open['a function that knows one node']();
    const store = redisQuotaStore({ client, prefix: newPrefix() });

    const failures = [];
    for (let index = 0; index < 20; index += 1) {
      const lines = [line('alice', 0n)];
      const input = { ...reserveOf(newPartition()), lines, basis: 'usage' } as const;
      failures.push(await Promise.resolve(store.settle(input)).catch((error: unknown) => error));
    }

    const errors = failures.filter((outcome) => outcome instanceof Error);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.length).toBeLessThan(20);
    for (const error of errors) {
      expect(error).toMatchObject({ name: 'StoreUnavailable', outcome: 'not_done' });
    }
  });
});

const mostStarts = 5;

/** Starts a node. Its ports may be taken between the look for them and the start: then again. */
async function startNode() {
  for (let starts = 1; ; starts += 1) {
    const [port, busPort] = [await freePort(), await freePort()];
    const addresses = ['--port', `${port}`, '--cluster-port', `${busPort}`];
    try {
      const node = await startRedis(['--cluster-enabled', 'yes', '--bind', host, ...addresses]);
      return { node, port, busPort };
    } catch (error) {
      if (starts === mostStarts || !String(error).includes('already in use')) throw error;
    }
  }
}

/** A port that is probably free. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function sendCommand(
  node: RedisServer | undefined,
  ...args: readonly string[]
): Promise<string> {
  const client = await createClient({ socket: { path: node?.path ?? '', tls: false } }).connect();
  const reply = await client.sendCommand([...args]);
  client.destroy();
  return String(reply);
}

/** Waits until gossip has made the node report a complete cluster. */
async function untilComplete(node: RedisServer): Promise<void> {
  while (!(await sendCommand(node, 'CLUSTER', 'INFO')).includes('cluster_state:ok')) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
