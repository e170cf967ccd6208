// suite: slow host
/** The usage log in SQLite when it can’t write: no record is lost without a report. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import { sqliteUsageSink } from '../../../src/stores/sqlite/index.ts';
import { type FakeClock, fakeClock, usageRecord } from '../../../src/testing/index.ts';
import { type Kind, kinds, type OpenDatabase, scratch } from './handles.ts';

const one = usageRecord({ requestId: 'one' });
const two = usageRecord({ requestId: 'two' });
const three = usageRecord({ requestId: 'three' });
const refusal = `CREATE TRIGGER refusal BEFORE INSERT ON tollgate_usage
  WHEN new.request_id = 'two' BEGIN SELECT raise(ABORT, 'refused'); END`;

interface OpenedSink {
  readonly db: OpenDatabase;
  readonly clock: FakeClock;
}

function opened(kind: Kind): OpenedSink {
  const { db, cleanup } = scratch(kind);
  onTestFinished(cleanup);
  return { db, clock: fakeClock() };
}

function writtenTo(db: OpenDatabase): readonly unknown[] {
  const rows = db.prepare('SELECT request_id FROM tollgate_usage ORDER BY seq').all();
  return Array.isArray(rows) ? rows.map((row) => Reflect.get(row, 'request_id')) : [];
}

const unavailable: unknown = expect.objectContaining({ name: 'StoreUnavailable' });

describe.each(kinds)('over $name', (kind) => {
  it('a record that SQLite refuses is reported as lost and does not block others', async () => {
    const { db, clock } = opened(kind);
    const lost: (readonly [UsageRecord, unknown])[] = [];
    const sink = sqliteUsageSink({ client: db, clock, onLost: (...args) => lost.push(args) });
    db.exec(refusal);
    for (const record of [one, two, three]) sink.record(record);

    clock.advance(200);

    await vi.waitFor(() => expect(writtenTo(db)).toEqual(['one', 'three']));
    expect(lost).toEqual([[two, expect.any(Error)]]);
    await sink.close();
    expect(lost).toHaveLength(1);
  });

  it('close rejects if a record is lost without an onLost', async () => {
    const { db, clock } = opened(kind);
    const sink = sqliteUsageSink({ client: db, clock });
    db.exec(refusal);
    for (const record of [one, two, three]) sink.record(record);

    await expect(sink.close()).rejects.toMatchObject({ name: 'StoreCorrupt' });

    expect(writtenTo(db)).toEqual(['one', 'three']);
  });

  it('close tries again until the file can be written', async () => {
    const { db, clock } = opened(kind);
    const lost: UsageRecord[] = [];
    const sink = sqliteUsageSink({ client: db, clock, onLost: (record) => lost.push(record) });
    db.exec('PRAGMA query_only = 1');
    sink.record(one);

    const closing = sink.close();
    db.exec('PRAGMA query_only = 0');
    clock.advance(7_999);
    await closing;

    expect([writtenTo(db), lost]).toEqual([['one'], []]);
  });

  it('records that can’t be written for 8 s during close are reported as lost', async () => {
    const { db, clock } = opened(kind);
    const lost: (readonly [UsageRecord, unknown])[] = [];
    const reporting = sqliteUsageSink({ client: db, clock, onLost: (...args) => lost.push(args) });
    const silent = sqliteUsageSink({ client: db, clock });
    db.exec('PRAGMA query_only = 1');
    reporting.record(one);
    reporting.record(two);
    silent.record(three);

    const closing = [reporting.close(), silent.close()];
    clock.advance(8_000);
    const ends = await Promise.allSettled(closing);

    expect(lost).toEqual([
      [one, unavailable],
      [two, unavailable],
    ]);
    expect(ends).toEqual([
      { status: 'fulfilled', value: undefined },
      { status: 'rejected', reason: unavailable },
    ]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('the host’s own mistake');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the host’s own mistake'))],
  ])('a listener that %s does no harm', async (_how, listener) => {
    const { db, clock } = opened(kind);
    const sink = sqliteUsageSink({ client: db, clock, onError: listener, onLost: listener });
    db.exec(refusal);
    db.exec('PRAGMA query_only = 1');
    for (const record of [one, two, three]) sink.record(record);
    clock.advance(200);
    // The failed write has ended.
    await new Promise(setImmediate);
    db.exec('PRAGMA query_only = 0');

    clock.advance(200);

    await vi.waitFor(() => expect(writtenTo(db)).toEqual(['one', 'three']));
    await sink.close();
  });

  it('record throws for a value that no driver can bind', async () => {
    const { db, clock } = opened(kind);
    const sink = sqliteUsageSink({ client: db, clock });
    const broken: UsageRecord = { ...usageRecord(), ...JSON.parse('{ "keyId": {} }') };

    expect(() => sink.record(broken)).toThrow(RangeError);

    await sink.close();
  });
});
