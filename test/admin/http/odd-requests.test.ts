// suite: services
/**
 * Requests that the console never sends, over every store: all stores answer alike, a change that
 * is refused leaves one entry in the audit trail, and nothing is reported as a failure of the host.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Libsql from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AdminKeyStore, AdminUsage } from '../../../src/admin/deps.ts';
import { routes } from '../../../src/admin/http/routes.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import { memoryKeyStore } from '../../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../../src/stores/memory/usage-sink.ts';
import {
  postgresKeyStore,
  postgresQuotaStore,
  postgresUsageSink,
} from '../../../src/stores/postgres/index.ts';
import {
  migrateSqlite,
  sqliteKeyStore,
  sqliteQuotaStore,
  sqliteUsageSink,
} from '../../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { migrated } from '../../stores/postgres/schema.ts';
import { adminServer, adminSetup, anyone, changing, type HttpCall } from '../admin-host.ts';

interface Stores {
  readonly keys: AdminKeyStore;
  readonly quota: QuotaStore;
  readonly usage: AdminUsage;
}

const changes = routes.filter(({ action }) => action !== undefined);
const long = 'a'.repeat(5_000);
const deep = '['.repeat(10_000);
const ids = ['%00', 'a%00b', '%', '%ff', '%ED%A0%80', '%F0%9F', long, '%EF%BF%BF', '%C2%80'];
const texts = ['%00', 'a%00b', '%ff', long, '9'.repeat(200), '%EF%BF%BF'];
const cursors = ['9999999999999999:9999999999999999999', '1:9223372036854775808', '-1:1', '1:1%00'];
const span = 'fromMs=0&toMs=9';
const names = ['keyId', 'group', 'modelId', 'channelId', 'requestId', 'after', 'code'];
const reads: readonly string[] = [
  ...ids.flatMap((id) => [`/keys/${id}`, `/calls/${id}`]),
  ...texts.flatMap((text) => [
    ...['q', 'group', 'after'].map((name) => `/keys?${name}=${text}`),
    ...names.map((name) => `/calls?${name}=${text}`),
    ...names.slice(0, 5).map((name) => `/calls.csv?${name}=${text}`),
    ...['keyId', 'group', 'after'].map((name) => `/usage?by=key&${span}&${name}=${text}`),
    `/usage?by=metadata.${text}&${span}`,
    `/usage.csv?by=metadata.${text}&${span}`,
    ...['subject', 'partition'].map((name) => `/books?period=&${name}=${text}`),
    `/books?period=${text}`,
  ]),
  ...cursors.flatMap((after) => [`/calls?after=${after}`, `/keys?after=${after}`]),
];
const bodies: readonly string[] = [
  ...[
    '{',
    '[]',
    '"text"',
    '1',
    'null',
    '\ufeff{}',
    `{"models":${deep}`,
    `{"a":"${'x'.repeat(65_536)}"}`,
  ],
  ...['{"unknown":1}', '{"baseUrl":"https://evil.example"}', '{"credential":"secret"}'],
  ...['{"limitNanos":"-1"}', '{"limitNanos":"1.5"}', '{"limitNanos":"9007199254740992"}'],
  ...['{"limitNanos":"5","limitNanos":"7"}', '{"overlapMs":-1}', '{"group":"\\u0000"}'],
  ...['{"group":"\\ud800"}', '{"group":"g","metadata":{"\\u0000":"x"}}', '{"id":"\\u0000"}'],
  ...['{"id":"\\ud83d","amountNanos":"1"}', '{"modelId":"\\u0000","weight":1}'],
  ...['{"ran":false,"chargeNanos":"5"}', '{"ran":true,"reservationId":"\\u0000"}'],
];
const posts: readonly HttpCall[] = changes.flatMap(({ path }) => {
  const post = { method: 'POST', headers: changing } as const;
  const one = path.replace('{id}', 'some-id');
  return [
    ...bodies.map((body) => ({ ...post, path: one, body })),
    ...ids.map((id) => ({ ...post, path: path.replace('{id}', id), body: '{"unknown":1}' })),
    { ...post, path: `${one}?unknown=1`, body: '{}' },
    { ...post, path: one, body: '{}', headers: { 'content-type': 'application/json' } },
    { ...post, path: one, body: '{}', headers: { ...changing, 'content-type': 'text/plain' } },
  ];
});

/** The status of each request, after the rest of its answer was checked. */
async function statuses(stores: Stores): Promise<readonly string[]> {
  const errors: unknown[] = [];
  const clock = fakeClock();
  const { admin, entries } = adminSetup({ ...stores, clock });
  const server = await adminServer(admin, anyone, (error) => errors.push(error));
  const found: string[] = [];
  for (const sent of [...reads.map((path): HttpCall => ({ path })), ...posts]) {
    // Few refusals of an actor are recorded in the same minute.
    await clock.advance(60_000);
    const before = entries.length;
    const { status, text } = await server.call(sent);
    const { method = 'GET', path, body } = sent;
    const what = `${method} ${path.slice(0, 60)} ${String(body).slice(0, 60)}`;
    found.push(`${status} ${what}`);
    expect(errors, what).toEqual([]);
    expect(status, what).toBeLessThan(500);
    if (sent.method !== 'POST') continue;
    expect(status, what).toBeGreaterThanOrEqual(400);
    expect(
      entries.slice(before).map(({ code }) => code),
      what,
    ).toEqual([JSON.parse(text).error.code]);
    expect(entries.at(-1)?.outcome, what).not.toBe('done');
  }
  await server.close();
  return found;
}

function inMemory(): Stores {
  const clock = fakeClock();
  return { keys: memoryKeyStore(), quota: memoryQuotaStore({ clock }), usage: memoryUsageSink() };
}

describe('odd requests', () => {
  it('are answered over SQLite as over memory', async () => {
    const client = new Libsql(':memory:');
    migrateSqlite(client);
    const clock = fakeClock();
    const usage = sqliteUsageSink({ client, clock });
    const quota = sqliteQuotaStore({ client, clock });

    const found = await statuses({ keys: sqliteKeyStore({ client }), quota, usage });
    expect(found).toEqual(await statuses(inMemory()));
  });

  describe.skipIf(!hasPostgres())('over PostgreSQL', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    it('are answered as over memory', async () => {
      const client = await migrated(server.pool());
      const usage = postgresUsageSink({ client });
      const stores = { keys: postgresKeyStore({ client }), quota: postgresQuotaStore({ client }) };

      const found = await statuses({ ...stores, usage });
      expect(found).toEqual(await statuses(inMemory()));
      await usage.close();
    });
  });
});

describe('a body that never ends', () => {
  const head = [
    ...['POST /admin/api/keys/k/top-up HTTP/1.1', 'host: 127.0.0.1', 'content-length: 500'],
    ...Object.entries(changing).map(([name, value]) => `${name}: ${value}`),
  ].join('\r\n');

  it.each(['left', 'stalled'] as const)('is refused where its caller has %s', async (how) => {
    const errors: unknown[] = [];
    const { admin, entries, clock } = adminSetup();
    const server = await adminServer(admin, anyone, (error) => errors.push(error));
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    const ended = once(socket, 'close');
    socket.write(`${head}\r\n\r\n{"id":`);
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    await server.call({ path: '/session' });
    if (how === 'left') socket.resetAndDestroy();
    while (entries.length === 0) {
      if (how === 'stalled') clock.advance(10_000);
      await nextTurn();
    }
    await ended;

    expect(entries).toMatchObject([
      { action: 'key.top_up', target: 'k', outcome: 'refused', code: 'invalid_request' },
    ]);
    expect(errors).toEqual([]);
    if (how === 'stalled') expect(text).toMatch(/^HTTP\/1.1 400 .*connection: close/is);
    await server.close();
  });
});
