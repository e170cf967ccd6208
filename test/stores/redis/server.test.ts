// suite: services
/** The data of the Redis stores on a server, the commands they send, and their self-test. */
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { maxLazyExpirations } from '../../../src/ports/limits/quota-input.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import { type RunScript, scriptRunner } from '../../../src/stores/redis/client.ts';
import {
  idempotencyStoreOver,
  redisIdempotencyStore,
} from '../../../src/stores/redis/idempotency-store.ts';
import { quotaStoreOver } from '../../../src/stores/redis/quota-operations.ts';
import * as scripts from '../../../src/stores/redis/quota-scripts.ts';
import { redisQuotaStore } from '../../../src/stores/redis/quota-store.ts';
import type { FakeClock } from '../../../src/testing/fake-clock.ts';
import { describeRedis } from '../../services/redis.ts';
import { callsOf, line, newPartition, reserveOf } from './calls.ts';
import { newPrefix, onClock, serverClock } from './clients.ts';

type Client = Awaited<ReturnType<typeof connected>>;

describeRedis('a Redis server', (server) => {
  let opened: Client | undefined;
  beforeAll(async () => {
    opened = await connected(server().path);
  });
  afterAll(() => opened?.destroy());
  const client = (): Client => {
    if (opened === undefined) throw new Error('the client is there in tests only');
    return opened;
  };

  it('keeps balances and holds forever, and ended holds for an hour', async () => {
    const { store, prefix } = serverSetup(scriptRunner(client()));
    const partition = newPartition();
    const [held, settled, released] = [1, 2, 3].map(() => reserveOf(partition));
    for (const input of [held, settled, released]) if (input) await store.reserve(input);
    if (settled) await store.settle({ ...settled, basis: 'usage' });
    if (released) await store.release(released);
    const row = { partition, subject: 'alice', period: '' };
    const adjustment = { ...row, id: 'a'.repeat(16), addLimit: 90n };
    await store.adjust(adjustment);

    const ttls = await ttlsOf(client(), prefix);
    const ended = [settled, released].map((input) => `${prefix}:{${partition}}:r:${input?.id}`);

    expect(new Set(ttls.keys())).toEqual(
      new Set([
        ...ended,
        `${prefix}:partitions`,
        `${prefix}:{${partition}}:a:${adjustment.id}`,
        `${prefix}:{${partition}}:r:${held?.id}`,
        `${prefix}:{${partition}}:b:alice|`,
        `${prefix}:{${partition}}:s:alice`,
        `${prefix}:{${partition}}:l`,
      ]),
    );
    for (const [key, ttl] of ttls) {
      if (ended.includes(key)) expect(3_600 - ttl).toBeLessThan(60);
      else expect([key, ttl]).toEqual([key, -1]);
    }
  });

  it('an adjustment that is repeated after days counts once', async () => {
    const { store, clock } = serverSetup(scriptRunner(client()));
    const payment = { id: 'a'.repeat(16), partition: 'default', subject: 'alice', period: '' };
    await store.adjust({ ...payment, addLimit: 50n });
    clock.advance(30 * 86_400_000);

    expect((await store.adjust({ ...payment, addLimit: 50n })).extra).toBe(50n);
  });

  it('renews holds and charges calls while the server is full', async () => {
    const { store, clock } = serverSetup(scriptRunner(client()));
    const [held, expired, unknown] = [60_000, 1_000, 1_000].map((ttlMs) =>
      reserveOf('default', { ttlMs, lines: [{ ...line('alice', 10n), limit: 1_000n }] }),
    );
    for (const input of [held, expired]) if (input) await store.reserve(input);
    clock.advance(30_000);
    await store.sweep({ max: 10 });

    const results = await whileFull(client(), async () => {
      const [renewed] = await store.extend([{ ...(held ?? reserveOf('')), ttlMs: 60_000 }]);
      const settle = (input = reserveOf('')) => store.settle({ ...input, basis: 'usage' });
      return [renewed, await settle(expired), await settle(unknown)];
    });

    expect(results).toMatchObject([
      { status: 'held', expiresAtMs: clock.now() + 60_000 },
      { status: 'settled_late', from: 'expired' },
      { status: 'settled_late', from: 'unknown' },
    ]);
    const state = await store.read('alice', '', 'default');
    expect([state?.used, state?.held, state?.inFlight]).toEqual([20n, 10n, 1]);
  });

  it('refuses new claims while full, and keeps existing ones', async () => {
    const store = redisIdempotencyStore({ client: client(), prefix: newPrefix() });
    const claim = {
      ...{ name: 'n', fingerprint: 'f', claimId: 'c', requestId: 'r', keyId: 'k' },
      ...{ leaseMs: 60_000, keepMs: 60_000 },
      operation: 'chat',
      ifTaken: 'answer',
    } as const;
    await store.claim(claim);

    await whileFull(client(), async () => {
      const another = store.claim({ ...claim, name: 'another' });
      await expect(another).rejects.toMatchObject({ outcome: 'not_done' });
      expect((await store.claim({ ...claim, claimId: 'rival' })).status).toBe('taken');
    });
  });

  it('a claim that was taken over has no data of the previous one', async () => {
    const store = redisIdempotencyStore({ client: client(), prefix: newPrefix() });
    const claim = {
      ...{ name: 'n', fingerprint: 'f', claimId: 'c', requestId: 'r', keyId: 'k' },
      ...{ leaseMs: 60_000, keepMs: 60_000 },
      operation: 'chat',
      ifTaken: 'replace',
    } as const;
    await store.claim(claim);
    await store.finish({ ...claim, state: 'done', httpStatus: 200 });
    await store.claim({ ...claim, claimId: 'second' });

    const found = await store.claim({ ...claim, claimId: 'third', ifTaken: 'answer' });

    const record = { state: 'running', status: undefined, endedAtMs: undefined };
    expect(found).toMatchObject({ status: 'taken', record });
  });

  it('check finds that a client lacks permissions for the scripts', async () => {
    const used = (text: string) =>
      [...text.matchAll(/redis\.call\(\s*'(\w+)'/g)].map(([, name]) => name);
    const checked = used(scripts.checkScript.text);
    for (const { text } of Object.values(scripts)) {
      expect(checked).toEqual(expect.arrayContaining(used(text)));
    }

    const permissions = ['on', '>pw', '~*', '+@all', '-hincrby'];
    await client().sendCommand(['ACL', 'SETUSER', 'app', 'reset', ...permissions]);
    const app = await client().duplicate({ username: 'app', password: 'pw' }).connect();
    const store = redisQuotaStore({ client: app, prefix: newPrefix() });

    await expect(store.check()).rejects.toMatchObject({ name: 'StoreCorrupt' });
    app.destroy();
  });

  it('keeps a claim no longer than its keepMs', async () => {
    const { clock, run, prefix } = serverSetup(scriptRunner(client()));
    const store = idempotencyStoreOver(run, { prefix });
    clock.advance(0);
    await store.claim({
      ...{ name: 'n', fingerprint: 'f', claimId: 'c', requestId: 'r', keyId: 'k' },
      ...{ leaseMs: 60_000, keepMs: 600_000, ifTaken: 'answer', operation: 'chat' },
    });

    const [ttl = -1] = (await ttlsOf(client(), prefix)).values();

    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(660);
  });

  it('runs one script per operation and never scans keys', async () => {
    const store = redisQuotaStore({ client: client(), prefix: newPrefix() });
    for (const [, call] of callsOf(store, 'default', {})) await call();
    await client().sendCommand(['CONFIG', 'RESETSTAT']);

    const calls = callsOf(store, 'default', {});
    for (const [, call] of calls) await call();

    const counts = await commandCounts(client());
    expect(counts.get('evalsha')).toBe(calls.length);
    // `check` tries every command once.
    expect(counts.get('smembers')).toBe(1);
    // It also loads each of the seven scripts.
    expect(counts.get('eval')).toBe(7);
    for (const name of ['keys', 'scan']) expect(counts.get(name)).toBe(undefined);
  });

  it('knows every script after a check, so that no call has to send its text', async () => {
    await client().sendCommand(['SCRIPT', 'FLUSH']);
    const store = redisQuotaStore({ client: client(), prefix: newPrefix() });
    await store.check();
    await client().sendCommand(['CONFIG', 'RESETSTAT']);

    for (const [name, call] of callsOf(store, 'default', {})) if (name !== 'check') await call();

    expect((await commandCounts(client())).get('eval')).toBe(undefined);
  });

  it('does the same work for ten thousand due leases as for a hundred', async () => {
    const workFor = async (leases: number): Promise<ReadonlyMap<string, number>> => {
      const { store, clock } = serverSetup(scriptRunner(client()));
      const partition = newPartition();
      const lines = [{ ...line('alice', 1n), limit: 1_000_000n }];
      for (let held = 0; held < leases; held += 100) {
        const batch = Array.from({ length: 100 }, () => reserveOf(partition, { lines }));
        await Promise.all(batch.map((input) => store.reserve(input)));
      }
      clock.advance(60_000);
      await store.read('bob', '', partition);
      await client().sendCommand(['CONFIG', 'RESETSTAT']);
      await store.read('alice', '', partition);
      return commandCounts(client());
    };

    const few = await workFor(100);
    const many = await workFor(10_000);

    expect(many).toEqual(few);
    expect(many.get('pexpire')).toBe(maxLazyExpirations);
  });

  it('uses the server’s clock', async () => {
    const store = redisQuotaStore({ client: client(), prefix: newPrefix() });
    const before = await timeOf(client());

    const result = await store.reserve(reserveOf('default', { ttlMs: 900_000 }));

    const after = await timeOf(client());
    const expiresAtMs = result.status === 'held' ? result.expiresAtMs : 0;
    expect(expiresAtMs).toBeGreaterThanOrEqual(before + 900_000);
    expect(expiresAtMs).toBeLessThanOrEqual(after + 900_000);
  });

  it('a sweep of all finds the partitions of every process', async () => {
    const { store, run, clock, prefix } = serverSetup(scriptRunner(client()));
    for (const partition of ['default', newPartition(), newPartition()]) {
      for (let held = 0; held < 3; held += 1) await store.reserve(reserveOf(partition));
    }
    const another = quotaStoreOver(run, settingsOf(prefix));
    expect(await another.sweep({ max: 100 })).toEqual({ expired: 0, more: false });
    clock.advance(60_000);

    expect(await another.sweep({ max: 4 })).toEqual({ expired: 4, more: true });
    expect(await another.sweep({ max: 5 })).toEqual({ expired: 5, more: false });
    expect(await another.sweep({ max: 5 })).toEqual({ expired: 0, more: false });
  });

  it('a sweep of many leases works in batches and respects its bound', async () => {
    const { store, clock } = serverSetup(scriptRunner(client()));
    const lines = [{ ...line('alice', 1n), limit: 1_000n }];
    const inputs = Array.from({ length: 700 }, () => reserveOf('default', { lines }));
    await Promise.all(inputs.map((input) => store.reserve(input)));
    const leases = inputs.map(({ id }) => ({ id, partition: 'default', ttlMs: 40_000 }));
    expect(new Set((await store.extend(leases)).map(({ status }) => status))).toEqual(
      new Set(['held']),
    );
    clock.advance(60_000);

    expect(await store.sweep({ max: 600 })).toEqual({ expired: 600, more: true });
    expect(await store.sweep({ max: 600 })).toEqual({ expired: 100, more: false });
  });

  it('the results of an extend over partitions are in order of the inputs', async () => {
    const { store } = serverSetup(scriptRunner(client()));
    const partitions = [newPartition(), newPartition()];
    const inputs = [0, 1, 0, 1, 1].map((index) => reserveOf(partitions[index] ?? ''));
    for (const input of inputs.slice(0, 4)) await store.reserve(input);
    const third = inputs[2];
    if (third) await store.release(third);

    const results = await store.extend(inputs.map((input) => ({ ...input, ttlMs: 60_000 })));

    const statuses = results.map((result) =>
      result.status === 'gone' ? result.as : result.status,
    );
    expect(statuses).toEqual(['held', 'held', 'released', 'held', 'unknown']);
  });

  it('a delayed renewal with a short lease does not shorten a long one', async () => {
    const { store, clock } = serverSetup(scriptRunner(client()));
    const input = reserveOf('default', { ttlMs: 60_000 });
    await store.reserve(input);

    const [renewed] = await store.extend([{ ...input, ttlMs: 1_000 }]);

    expect(renewed).toEqual({ status: 'held', expiresAtMs: clock.now() + 60_000 });
  });

  it('a debt above 2^53 is exact', async () => {
    const { store } = serverSetup(scriptRunner(client()));
    const maxNanos = 2n ** 53n - 1n;
    for (let count = 0; count < 3; count += 1) {
      const input = reserveOf('default', { lines: [line('alice', maxNanos)] });
      await store.settle({ ...input, basis: 'usage' });
    }

    expect((await store.read('alice', '', 'default'))?.used).toBe(3n * maxNanos);
    expect(await store.reserve(reserveOf('default'))).toEqual({
      status: 'insufficient',
      subject: 'alice',
      available: 100n - 3n * maxNanos,
    });
  });

  it('a debt beyond Redis’s integers is refused whole, and the hold remains', async () => {
    const { store, prefix } = serverSetup(scriptRunner(client()));
    const lines = [line('alice', 10n), line('bob', 10n)];
    const input = reserveOf('default', { lines });
    await store.reserve(input);
    await client().hSet(`${prefix}:{default}:b:bob|`, 'used', '9223372036854775807');

    const call = Promise.resolve(store.settle({ ...input, basis: 'usage' }));

    await expect(call).rejects.toMatchObject({ name: 'StoreCorrupt' });
    const state = await store.read('alice', '', 'default');
    expect([state?.used, state?.held, state?.inFlight]).toEqual([0n, 10n, 1]);
  });

  it('check refuses a server that may evict, and a durable one without a file', async () => {
    const store = redisQuotaStore({ client: client(), durability: 'durable' });
    expect(await store.check()).toEqual({ ok: true });

    await client().sendCommand(['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru']);
    await client().sendCommand(['CONFIG', 'SET', 'appendonly', 'no']);
    const found = await store.check();
    await client().sendCommand(['CONFIG', 'SET', 'maxmemory-policy', 'noeviction']);
    await client().sendCommand(['CONFIG', 'SET', 'appendonly', 'yes']);

    expect(found).toEqual({
      ok: false,
      problems: [
        'maxmemory-policy is allkeys-lru, which may drop balances: set it to noeviction',
        'appendonly is off, so nothing is durable: set appendonly yes and appendfsync always',
      ],
    });
  });

  it('check refuses a server that is too old', async () => {
    const info = ['redis_version:6.0.16\r\n', 'maxmemory_policy:noeviction\r\n', ''];
    const store = redisQuotaStore({ client: { send: () => Promise.resolve(info) } });

    expect(await store.check()).toEqual({
      ok: false,
      problems: ['Redis is version 6.0.16: it must be 6.2 or newer'],
    });
  });
});

interface ServerSetup {
  readonly store: QuotaStore;
  readonly run: RunScript;
  readonly clock: FakeClock;
  readonly prefix: string;
}

function serverSetup(real: RunScript): ServerSetup {
  const [clock, prefix] = [serverClock(), newPrefix()];
  const run = onClock(real, clock);
  return { store: quotaStoreOver(run, settingsOf(prefix)), run, clock, prefix };
}

function settingsOf(prefix: string): Parameters<typeof quotaStoreOver>[1] {
  return { prefix, endedTtlMs: 3_600_000, durability: 'replica-async' };
}

async function connected(path: string) {
  return createClient({ socket: { path, tls: false } })
    .on('error', () => {})
    .connect();
}

/** Does the work while the server is out of memory. */
async function whileFull<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.sendCommand(['CONFIG', 'SET', 'maxmemory', '1']);
  try {
    return await work();
  } finally {
    await client.sendCommand(['CONFIG', 'SET', 'maxmemory', '0']);
  }
}

/** The TTL of each key in seconds; −1 for none. */
async function ttlsOf(client: Client, prefix: string): Promise<ReadonlyMap<string, number>> {
  const keys = await client.keys(`${prefix}:*`);
  const ttls = new Map<string, number>();
  for (const key of keys) ttls.set(key, await client.ttl(key));
  return ttls;
}

/** How often each command has run since the counts were reset, also inside scripts. */
async function commandCounts(client: Client): Promise<ReadonlyMap<string, number>> {
  const info = await client.info('commandstats');
  const counts = [...info.matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm)].map(
    ([, name = '', calls]) => [name, Number(calls)] as const,
  );
  return new Map(counts.filter(([name]) => !/^(?:info|config)/.test(name)));
}

async function timeOf(client: Client): Promise<number> {
  const [seconds, micros] = String(await client.sendCommand(['TIME'])).split(',');
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
