// suite: services
/** Failures between the stores and PostgreSQL, and the errors they become. */

import { createServer, type Server } from 'node:net';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import type { PostgresClient } from '../../../src/stores/postgres/client.ts';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';
import { postgresIdempotencyStore, postgresKeyStore } from '../../../src/stores/postgres/stores.ts';

const id = 'reservation_0001';
const partition = 'default';
const lines = [{ subject: 'alice', period: '', amount: 5n }];
const reserve = { id, partition, lines, ttlMs: 30_000, onExpire: 'release' } as const;

/** Every operation with a deadline. */
const operations: readonly (readonly [string, (store: QuotaStore, ms: number) => unknown])[] = [
  ['reserve', (store, timeoutMs) => store.reserve(reserve, { timeoutMs })],
  ['extend', (store, timeoutMs) => store.extend([{ id, partition, ttlMs: 1_000 }], { timeoutMs })],
  [
    'settle',
    (store, timeoutMs) => store.settle({ id, partition, lines, basis: 'usage' }, { timeoutMs }),
  ],
  ['release', (store, timeoutMs) => store.release({ id, partition, lines }, { timeoutMs })],
  ['sweep', (store, timeoutMs) => store.sweep({ max: 5, timeoutMs })],
  ['read', (store, timeoutMs) => store.read('alice', '', partition, { timeoutMs })],
  [
    'adjust',
    (store, timeoutMs) =>
      store.adjust({ id, partition, subject: 'alice', period: '', limit: 5n }, { timeoutMs }),
  ],
  ['check', (store, timeoutMs) => store.check({ timeoutMs })],
];

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const open of opened.splice(0)) await open.close();
});

/** A pool for a port of this machine. */
function poolOn(port: number): pg.Pool {
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'x', database: 'x', max: 1 });
  pool.on('error', () => {});
  return pool;
}

/** A server that accepts connections and never replies. */
async function silentServer(): Promise<Server> {
  const sockets = new Set<{ destroy(): unknown }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function replyingWith(...rows: readonly unknown[]): PostgresClient {
  return { query: async () => ({ rows }) };
}

/** Fails with these codes, one per query, then replies. */
function failing(...codes: readonly string[]): PostgresClient & { readonly queries: () => number } {
  let queries = 0;
  return {
    queries: () => queries,
    query: async () => {
      const code = codes[queries];
      queries += 1;
      if (code !== undefined) throw Object.assign(new Error('no'), { code });
      return { rows: [{ result: '[{"status":"settled"}]' }] };
    },
  };
}

/** Replies to the first query with this result, and fails all others with this code. */
function replyingOnce(result: unknown, code: string): PostgresClient {
  let isFirst = true;
  return {
    query: async () => {
      if (!isFirst) throw Object.assign(new Error('no'), { code });
      isFirst = false;
      return { rows: [{ result: JSON.stringify(result) }] };
    },
  };
}

const settleWith = async (client: PostgresClient): Promise<unknown> =>
  postgresQuotaStore({ client }).settle({ id, partition, lines, basis: 'usage' });

describe.each(operations)('%s', (_name, send) => {
  it('is not_done if the connection is refused', async () => {
    const server = await silentServer();
    const port = portOf(server);
    await opened.pop()?.close();
    const store = postgresQuotaStore({ client: poolOn(port) });

    await expect(async () => send(store, 5_000)).rejects.toMatchObject({
      name: 'StoreUnavailable',
      outcome: 'not_done',
    });
  });

  it('is given up at the deadline if the server does not reply', async () => {
    const store = postgresQuotaStore({ client: poolOn(portOf(await silentServer())) });

    await expect(async () => send(store, 50)).rejects.toMatchObject({
      name: 'StoreUnavailable',
      outcome: 'unknown',
    });
  });

  it.each([
    ['no rows', replyingWith()],
    ['two rows', replyingWith({ result: '{}' }, { result: '{}' })],
    ['a row that is not an object', replyingWith(5)],
    ['text that is not JSON', replyingWith({ result: '{"status"' })],
    ['JSON of another kind', replyingWith({ result: '[[]]' })],
    ['an unknown status', replyingWith({ result: '{"status":"maybe"}' })],
    ['an answer with an unknown status', replyingWith({ result: '[{"status":"maybe"}]' })],
    ['two answers', replyingWith({ result: '[{"status":"held"},{"status":"held"}]' })],
    ['a number where text belongs', replyingWith({ result: 7 })],
    ['floats for amounts', replyingWith({ result: '{"limit":1.5,"used":"1e3","held":-0}' })],
    ['null for a result', { query: async () => JSON.parse('null') }],
  ])('%s is corrupt', async (_case, client) => {
    await expect(async () => send(postgresQuotaStore({ client }), 1_000)).rejects.toMatchObject({
      name: 'StoreCorrupt',
    });
  });
});

describe('an error of the database', () => {
  it.each(['40001', '40P01'])('%s, a lost race, makes the statement run again', async (code) => {
    const client = failing(code, code);

    expect(await settleWith(client)).toMatchObject({ status: 'settled' });
    expect(client.queries()).toBe(3);
  });

  it('that is a race lost forever is not_done', async () => {
    const client = failing(...Array.from({ length: 50 }, () => '40001'));

    await expect(settleWith(client)).rejects.toMatchObject({ outcome: 'not_done' });
  });

  it.each([
    ['25006', 'not_done'],
    ['53100', 'not_done'],
    ['53300', 'not_done'],
    ['55P03', 'not_done'],
    ['57014', 'not_done'],
    ['57P03', 'not_done'],
    ['42P01', 'not_done'],
    ['08001', 'not_done'],
    ['ECONNREFUSED', 'not_done'],
    ['08006', 'unknown'],
    ['40003', 'unknown'],
    ['57P01', 'unknown'],
    ['XX000', 'unknown'],
    ['ECONNRESET', 'unknown'],
    ['EPIPE', 'unknown'],
  ])('%s is %s', async (code, outcome) => {
    await expect(settleWith(failing(code))).rejects.toMatchObject({
      name: 'StoreUnavailable',
      outcome,
    });
  });

  it('after the first batch of a long extend or sweep has the outcome unknown', async () => {
    const inputs = Array.from({ length: 101 }, (_, index) => ({
      id: `reservation_${1_000 + index}`,
      partition,
      ttlMs: 1_000,
    }));
    const renewed = inputs.slice(0, 100).map(() => ({ status: 'held', expiresAtMs: 1 }));
    const extending = postgresQuotaStore({ client: replyingOnce(renewed, '57014') });
    const sweeping = postgresQuotaStore({
      client: replyingOnce({ expired: 100, more: true }, '55P03'),
    });

    await expect(extending.extend(inputs)).rejects.toMatchObject({
      name: 'StoreUnavailable',
      message: 'PostgreSQL is unavailable 57014',
      outcome: 'unknown',
      cause: { code: '57014' },
    });
    await expect(extending.extend(inputs)).rejects.toMatchObject({ outcome: 'not_done' });
    await expect(sweeping.sweep({ max: 500 })).rejects.toMatchObject({ outcome: 'unknown' });
  });

  it('does not show the server’s message', async () => {
    const client = {
      query: () => Promise.reject(new Error('Key (id)=(tg_secret) already exists')),
    };

    await expect(settleWith(client)).rejects.toThrow(/^PostgreSQL is unavailable$/);
  });
});

it('an abort signal ends the wait, and nothing is sent if it was aborted before', async () => {
  let queries = 0;
  const client = {
    query: () => {
      queries += 1;
      return new Promise<never>(() => {});
    },
  };
  const store = postgresQuotaStore({ client });
  const stop = new AbortController();
  const reading = store.read('alice', '', partition, { signal: stop.signal });

  stop.abort();

  await expect(reading).rejects.toMatchObject({ outcome: 'unknown' });
  await expect(store.read('alice', '', partition, { signal: stop.signal })).rejects.toMatchObject({
    outcome: 'not_done',
  });
  expect(queries).toBe(1);
});

it('invalid keys and claims from the database are corrupt', async () => {
  const client = replyingWith({ id: 'key', key_group: 'g', disabled: false, record: '{}' });
  const claims = postgresIdempotencyStore({
    client: replyingWith({ result: '{"status":"taken"}' }),
  });

  await expect(postgresKeyStore({ client }).find('secret')).rejects.toMatchObject({
    name: 'StoreCorrupt',
  });
  await expect(claims.abandon({ name: 'n', claimId: 'c' })).resolves.toBeDefined();
  await expect(
    claims.claim({
      name: 'n',
      fingerprint: 'f',
      keyId: 'k',
      operation: 'chat',
      claimId: 'c',
      requestId: 'r',
      leaseMs: 1,
      keepMs: 1,
      ifTaken: 'answer',
    }),
  ).rejects.toMatchObject({ name: 'StoreCorrupt' });
});

it('wrong options are refused with the option and the remedy', () => {
  expect(() => postgresQuotaStore(JSON.parse('{}'))).toThrow(
    'postgresQuotaStore: options.client is missing, and must be an object with query(). ' +
      'Give it a Pool of pg, or an object with its query(text, values).',
  );
  for (const schema of ['', 'a"b', 'a.b', '1', 'x'.repeat(64)]) {
    expect(() => postgresQuotaStore({ client: replyingWith(), schema })).toThrow(/options\.schema/);
  }
  for (const endedTtlMs of [899_999, 1_000_000.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => postgresQuotaStore({ client: replyingWith(), endedTtlMs })).toThrow(
      'postgresQuotaStore: options.endedTtlMs must be an integer of at least 900000 ms. ' +
        'Leave it out for the default.',
    );
  }
  expect(postgresQuotaStore({ client: replyingWith(), endedTtlMs: 900_000 })).toBeDefined();
});
