// suite: slow host
/**
 * Long reads of the log don't block the event loop: a log in this process gets one small read per
 * turn, however many exports run. The result is that of a single read of everything.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { AdminUsage } from '../../src/admin/deps.ts';
import { withKnownCost } from '../../src/admin/usage/rows.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import type { UsageQueries } from '../../src/stores/sql/usage/report.ts';
import { migrateSqlite, sqliteUsageSink } from '../../src/stores/sqlite/index.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { type Draw, drawn } from '../support/seeds.ts';
import { adminServer, adminSetup } from './admin-host.ts';

const whole = { fromMs: 0, toMs: 9_999_999_999 };

function records(draw: Draw, count: number): readonly UsageRecord[] {
  let startedAtMs = 1_000;
  return Array.from({ length: count }, (_, index) => {
    startedAtMs += draw(3) === 0 ? draw(900_000) : draw(3);
    return usageRecord({
      ...{ requestId: `r${index}`, reservationId: `reservation-${index}`, startedAtMs },
      ...{ keyId: `k${draw(5)}`, modelId: `m${draw(4)}`, chargeNanos: BigInt(draw(1_000)) },
      lines: [{ subject: `s${draw(3)}`, period: '', heldNanos: 1_000n }],
      booked: draw(4) > 0,
    });
  });
}

const logs = {
  memory: () => memoryUsageSink(),
  SQLite: (clock: FakeClock) => {
    const client = new Libsql(':memory:');
    migrateSqlite(client);
    return sqliteUsageSink({ client, clock });
  },
} as const;

/** A log whose reads take time, 1 ms for 50 rows, and which reports each read. */
function watched(inner: UsageQueries, clock: FakeClock, onRead: () => void): AdminUsage {
  const read = (rows: number): void => {
    onRead();
    clock.advance(Math.ceil(rows / 50));
  };
  return {
    ...inner,
    usageRecords: async (filter, of) => {
      const page = await inner.usageRecords(filter, of);
      read(page.records.length);
      return page;
    },
    usageReport: async (query) => {
      const rows = await inner.usageReport(query);
      read(rows.reduce((sum, { calls }) => sum + calls, 0));
      return rows;
    },
  };
}

/** Counts what happens between two turns of the event loop, until it is stopped. */
function turnCounter() {
  let inThisTurn = 0;
  let most = 0;
  let isOver = false;
  const turn = async (): Promise<void> => {
    while (!isOver) {
      await nextTurn();
      inThisTurn = 0;
    }
  };
  const end = turn();
  return {
    count: () => {
      inThisTurn += 1;
      most = Math.max(most, inThisTurn);
    },
    stop: async () => {
      isOver = true;
      await end;
      return most;
    },
  };
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

describe.each(['memory', 'SQLite'] as const)('a log in this process (%s)', (name) => {
  it.each([1, 2, 3])('is read in small steps, with the same result, seed %d', async (seed) => {
    const draw = drawn(seed);
    const clock = fakeClock();
    const log = logs[name](clock);
    const all = records(draw, 600);
    for (const record of all) log.record(record);
    const turns = turnCounter();
    const usage = watched(log, clock, turns.count);
    const { admin } = adminSetup({ clock, usage });
    const filter = [{}, { keyId: 'k1' }, { modelId: 'm2', fromMs: 2_000 }][draw(3)] ?? {};
    const by = ['model', 'key'] as const;

    const [report, books, ...exports] = await Promise.all([
      admin.usage.report({ ...whole, ...filter, by, sort: 'name' }),
      admin.usage.books({ subject: 's1' }),
      ...[1, 2, 3].map(() => textOf(admin.usage.callsCsv(filter))),
      textOf(admin.usage.reportCsv({ ...whole, ...filter, by })),
    ]);

    // Two, because a read may run before the counter of its turn is reset.
    expect(await turns.stop()).toBeLessThanOrEqual(2);
    const rows = await log.usageReport({ ...whole, ...filter, by });
    expect(report.data).toEqual(rows.map(withKnownCost));
    expect(books).toMatchObject(await log.usageCharges({ subject: 's1' }));
    const { records: expected } = await log.usageRecords(filter, { limit: 1_000 });
    const ids = expected.map(({ requestId }) => requestId);
    for (const text of exports.slice(0, 3)) {
      const lines = text.trimEnd().split('\r\n').slice(1);
      expect(lines.map((line) => line.split(',')[1])).toEqual(ids);
    }
  });

  it('is read no further when the signal is aborted', async () => {
    const clock = fakeClock();
    const log = logs[name](clock);
    for (const record of records(drawn(1), 600)) log.record(record);
    const stop = new AbortController();
    let reads = 0;
    const usage = watched(log, clock, () => {
      reads += 1;
      if (reads === 4) stop.abort();
    });
    const { admin } = adminSetup({ clock, usage });

    const report = admin.usage.report({ ...whole, by: 'key' }, { signal: stop.signal });
    await expect(report).rejects.toThrow('aborted');
    expect(reads).toBe(4);
    await expect(textOf(admin.usage.callsCsv({}, { signal: stop.signal }))).rejects.toThrow();
  });
});

describe('exports over HTTP', () => {
  it('run four at a time, and end if the client reads nothing for 30 s', async () => {
    const record = usageRecord({ keyId: 'k'.repeat(500) });
    const usage: AdminUsage = {
      usageRecords: async () => ({
        records: Array.from({ length: 50 }, () => record),
        next: '1:1',
      }),
    };
    const { admin, clock } = adminSetup({ usage });
    const server = await adminServer(admin);
    const silent = await Promise.all([1, 2, 3, 4].map(() => silentReader(server.origin)));

    const fifth = await server.call({ path: '/calls.csv' });
    expect([fifth.status, JSON.parse(fifth.text).error.code]).toEqual([409, 'conflict']);
    let { status } = fifth;
    while (status === 409) {
      clock.advance(30_000);
      await nextTurn();
      ({ status } = await server.call({ path: '/calls.csv', method: 'HEAD' }));
    }

    expect(status).toBe(200);
    for (const socket of silent) socket.destroy();
    await server.close();
  });
});

/** A client that has received the headers of an export, and then stops reading. */
async function silentReader(origin: string): Promise<Socket> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write('GET /admin/api/calls.csv HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await once(socket, 'readable');
  return socket;
}
