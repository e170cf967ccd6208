// suite: slow host
/** Reports, books, calls in doubt and exports over HTTP, from a SQLite log. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import Libsql from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { adminHandler } from '../../src/admin/index.ts';
import { defaultPartition } from '../../src/ports/limits/quota-input.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { migrateSqlite, sqliteUsageSink } from '../../src/stores/sqlite/index.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { closed, listening } from '../support/servers.ts';
import { type AdminServer, adminServer, adminSetup, anyone, changing } from './admin-host.ts';

let server: AdminServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const lines = [{ subject: 'ada', period: '', heldNanos: 50n }];

async function open(records: readonly UsageRecord[]) {
  const client = new Libsql(':memory:');
  migrateSqlite(client);
  const clock = fakeClock();
  const usage = sqliteUsageSink({ client, clock });
  for (const record of records) usage.record(record);
  const quota = memoryQuotaStore({ clock });
  const setup = adminSetup({ clock, usage, quota });
  const opened = await adminServer(setup.admin);
  server = opened;
  const get = async (path: string) => JSON.parse((await opened.call({ path })).text);
  return { ...setup, clock, usage, quota, server: opened, get };
}

function calls(count: number): readonly UsageRecord[] {
  return Array.from({ length: count }, (_, index) =>
    usageRecord({
      requestId: `r${index}`,
      keyId: `=k${index % 7}`,
      modelId: `m${index % 150}`,
      startedAtMs: 1_000 + index,
      chargeNanos: BigInt(index),
      lines,
    }),
  );
}

describe('reports', () => {
  it('have a cost and a margin only where a channel states its cost', async () => {
    const costs = { unknown: [undefined, undefined], known: [3n, 0n], free: [0n, 0n] } as const;
    const records = Object.entries(costs).flatMap(([keyId, values]) =>
      values.map((costNanos, index) =>
        usageRecord({ requestId: `${keyId}${index}`, keyId, chargeNanos: 5n, costNanos, lines }),
      ),
    );
    const { get, server: opened } = await open(records);
    const shown = await get('/usage?by=key&fromMs=0&toMs=9999999999999&sort=name');
    const alone = await get('/usage?by=key&fromMs=0&toMs=9999999999999&keyId=unknown');
    const csv = await opened.call({ path: '/usage.csv?by=key&fromMs=0&toMs=9999999999999' });

    expect(shown.data).toMatchObject([
      { names: ['free'], costNanos: '0', marginNanos: '10' },
      { names: ['known'], costNanos: '3', marginNanos: '7' },
      { names: ['unknown'], costNanos: null, marginNanos: null },
    ]);
    expect(shown.total).toMatchObject({ costNanos: '3', marginNanos: '17' });
    expect(alone.total).toMatchObject({ costNanos: null, marginNanos: null });
    expect(csv.text).toMatch(/^unknown,2,.*,10,0,,,0.00000001,0,,\r$/m);
  });

  it('have every row on one of their pages, the most expensive first, and their sum', async () => {
    const records = calls(320);
    const { get } = await open(records);
    const found: { readonly names: readonly string[]; readonly chargeNanos: string }[] = [];
    let next: string | null = '0';
    while (next !== null) {
      const page = await get(`/usage?by=model&fromMs=0&toMs=9999&limit=60&after=${next}`);
      expect(page.total).toMatchObject({ calls: 320, chargeNanos: String((319 * 320) / 2) });
      found.push(...page.data);
      next = page.next;
    }

    expect(found).toHaveLength(150);
    expect(new Set(found.map(({ names }) => names[0])).size).toBe(150);
    const charges = found.map(({ chargeNanos }) => Number(chargeNanos));
    expect(charges).toEqual(charges.toSorted((one, other) => other - one));
    const byName = await get('/usage?by=key,model&fromMs=0&toMs=9999&limit=2&sort=name');
    expect(byName.data[0].names).toEqual(['=k0', 'm0']);
  });

  it('are exported whole as CSV, without a cell that a spreadsheet would run', async () => {
    const { server: opened } = await open(calls(320));

    const { text, headers } = await opened.call({
      path: '/usage.csv?by=key,model&fromMs=0&toMs=9999',
    });
    const exported = await opened.call({ path: '/calls.csv?fromMs=1100' });
    const rows = text.trimEnd().split('\r\n');

    expect(headers['content-disposition']).toBe(
      'attachment; filename="usage-1970-01-01-to-1970-01-01.csv"',
    );
    expect(rows).toHaveLength(1 + new Set(calls(320).map((c) => `${c.keyId} ${c.modelId}`)).size);
    expect(rows.slice(1).every((row) => row.startsWith("'=k"))).toBe(true);
    expect(exported.text.trimEnd().split('\r\n')).toHaveLength(1 + 220);
  });

  it.each([
    ...['limit=0', 'limit=101', 'limit=-1', 'limit=1e1', 'limit=', 'limit=10&limit=10'],
    ...['after=x', 'after=-1', 'after=99999999999999999999'],
  ])('and other lists refuse the page %s', async (page) => {
    const { server: opened } = await open(calls(3));
    for (const path of ['/usage?by=key&fromMs=0&toMs=9', '/calls?fromMs=0', '/keys?q=a']) {
      // The cursor of keys is an id, so any text is a valid one.
      const expected = path.startsWith('/keys') && page.startsWith('after=') ? 200 : 400;
      expect((await opened.call({ path: `${path}&${page}` })).status, path).toBe(expected);
    }
  });

  it.each([
    'by=',
    'by=key,key',
    'by=key,model,day',
    'by=secret',
    'by=metadata.',
    'by=day&fromMs=x',
  ])('refuse %s', async (query) => {
    const { server: opened } = await open([]);
    const path = `/usage?fromMs=0&toMs=9&${query}`;
    expect((await opened.call({ path })).status).toBe(400);
  });
});

describe('books', () => {
  it('show what the quota store has, and the log has not', async () => {
    const { get, quota } = await open([usageRecord({ requestId: 'a', lines, chargeNanos: 30n })]);
    const hold = { id: 'reservation-of-books', partition: defaultPartition };
    const line = { subject: 'ada', period: '', amount: 50n };
    await quota.reserve({
      ...{ ...hold, lines: [{ ...line, limit: 100n }], ttlMs: 60_000, onExpire: 'release' },
    });
    await quota.settle({ ...hold, lines: [{ ...line, amount: 42n }], basis: 'usage' });

    expect(await get('/books?period=&subject=ada')).toMatchObject({
      data: [{ subject: 'ada', bookedNanos: '30', usedNanos: '42', unloggedNanos: '12' }],
    });
    for (const period of ['2026-13', '2026-02-31', '0000-00', '2026-00-01']) {
      expect((await get(`/books?period=${period}`)).error.field, period).toBe('period');
    }
    expect((await get('/books?period=2024-02-29')).data).toEqual([]);
    expect((await get('/books?period=2026-13-99-1')).error.code).toBe('invalid_request');
  });
});

describe('a call in doubt', () => {
  const doubt = { outcome: 'unknown', booked: false, chargeNanos: 0n } as const;

  it('is shown, and is resolved once, with the outcome that the operator states', async () => {
    const requestId = 'img 1/ü';
    const record = usageRecord({ requestId, lines, heldNanos: 50n, ...doubt });
    const { get, server: opened, entries } = await open([record]);
    const path = `/calls/${encodeURIComponent(requestId)}`;
    const resolve = (body: unknown) =>
      opened.call({ method: 'POST', path: `${path}/resolve`, headers: changing, body });

    expect((await get(path)).calls).toMatchObject([
      { isInDoubt: true, reservationId: record.reservationId },
    ]);
    expect((await resolve({ ran: 'yes' })).status).toBe(400);
    expect((await resolve({ ran: true, chargeNanos: '-1' })).status).toBe(400);
    const { status, text } = await resolve({ ran: true, chargeNanos: '20' });

    expect([status, JSON.parse(text).status]).toEqual([200, 'settled_late']);
    expect(entries.at(-1)).toMatchObject({
      ...{ action: 'call.resolve', target: requestId, outcome: 'done' },
      change: { ran: true, chargeNanos: '20' },
    });
    expect((await opened.call({ path: '/calls/nothing' })).status).toBe(404);
  });

  it('needs its reservation where several calls have the same request id', async () => {
    const ids = ['reservation_0000001', 'reservation_0000002'];
    const { server: opened } = await open(
      ids.map((reservationId) =>
        usageRecord({ requestId: 'same', reservationId, lines, ...doubt }),
      ),
    );
    const resolve = (body: unknown) =>
      opened.call({ method: 'POST', path: '/calls/same/resolve', headers: changing, body });

    expect((await resolve({ ran: false })).status).toBe(409);
    expect((await resolve({ ran: false, reservationId: ids[1] })).status).toBe(200);
    expect((await resolve({ ran: false, reservationId: 'reservation_0000009' })).status).toBe(409);
  });
});

describe('an export that is read slowly', () => {
  it('waits for its client, and ends when the client disconnects', async () => {
    let pages = 0;
    const record = usageRecord({ keyId: 'k'.repeat(500), lines });
    const usage = {
      usageRecords: () => {
        pages += 1;
        return { records: Array.from({ length: 100 }, () => record), next: String(pages) };
      },
    };
    const { admin } = adminSetup({ usage });
    const handler = adminHandler(admin, { path: '/admin', authorize: anyone });
    const responses: ServerResponse[] = [];
    const ends: Promise<void>[] = [];
    const host = createServer((request, response) => {
      responses.push(response);
      ends.push(handler(request, response));
    });
    const { port } = new URL(await listening(host));
    const socket = connect(Number(port), '127.0.0.1');
    socket.pause();
    socket.write('GET /admin/api/calls.csv HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await once(host, 'request');
    const [response] = responses;
    if (response === undefined) throw new Error('there was a request');

    // The kernel buffers some megabytes; once it is full, no more pages are read.
    let before = -1;
    for (let quiet = 0; quiet < 200; quiet = pages === before ? quiet + 1 : 0) {
      before = pages;
      await setImmediate();
    }
    expect(response.writableNeedDrain).toBe(true);
    expect(response.writableLength).toBeLessThan(1_048_576);
    expect(pages).toBeGreaterThan(2);

    socket.destroy();
    await Promise.all(ends);
    expect(pages).toBeLessThanOrEqual(before + 1);
    await closed(host);
  });
});
