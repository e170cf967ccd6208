// suite: slow host
/** Failures of a SQLite file are reported in time, with the known outcome. */
import { writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import {
  migrateSqlite,
  sqliteIdempotencyStore,
  sqliteKeyStore,
  sqliteMigrations,
  sqliteQuotaStore,
  sqliteUsageSink,
} from '../../../src/stores/sqlite/index.ts';
import { fakeClock, usageRecord } from '../../../src/testing/index.ts';
import { fileKinds, type Kind, kinds, type Scratch, scratch } from './handles.ts';

const partition = 'default';
const line = { subject: 'alice', period: '', amount: 10n };
const limited = { ...line, limit: 1_000n };
let made = 0;

function newId(): string {
  made += 1;
  return `reservation-${String(made).padStart(8, '0')}`;
}

function opened(kind: Kind, version?: number): Scratch {
  const found = scratch(kind, version);
  onTestFinished(found.cleanup);
  return found;
}

function reserve(store: QuotaStore, timeoutMs?: number): unknown {
  const input = { id: newId(), partition, lines: [limited], ttlMs: 30_000 };
  const call = timeoutMs === undefined ? {} : { timeoutMs };
  return store.reserve({ ...input, onExpire: 'release' }, call);
}

const unavailable = (outcome: 'not_done' | 'unknown'): unknown =>
  expect.objectContaining({ name: 'StoreUnavailable', outcome });
const corrupt: unknown = expect.objectContaining({ name: 'StoreCorrupt' });

describe.each(fileKinds)('over $name', (kind) => {
  it('a file locked by another process is waited for until the deadline only', () => {
    const { db, again } = opened(kind);
    const other = again();
    const store = sqliteQuotaStore({ client: db });
    other.exec('BEGIN IMMEDIATE');

    expect(() => reserve(store, 60)).toThrow(unavailable('not_done'));
    expect(() => store.read('alice', '', partition, { timeoutMs: 1 })).toThrow(
      unavailable('not_done'),
    );
    other.exec('COMMIT');

    expect(reserve(store, 60)).toMatchObject({ status: 'held', available: [990n] });
  });

  it('a file that another process reads is not waited for', () => {
    const { db, again } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    reserve(store);
    const other = again();
    other.exec('BEGIN');
    const before = other.prepare('SELECT held_nanos FROM tollgate_quota').all();

    expect(reserve(store, 1)).toMatchObject({ status: 'held', available: [980n] });

    expect(other.prepare('SELECT held_nanos FROM tollgate_quota').all()).toEqual(before);
    other.exec('COMMIT');
    expect(other.prepare('SELECT held_nanos FROM tollgate_quota').all()).not.toEqual(before);
  });

  it('a full disk refuses a write whole, and the store recovers when there is space', async () => {
    const { db } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    reserve(store);
    const pages = db.prepare('PRAGMA page_count').all();
    const count: unknown = Array.isArray(pages) ? Reflect.get(pages[0], 'page_count') : 0;
    db.exec(`PRAGMA max_page_count = ${Number(count)}`);

    const until = (): void => {
      for (let tries = 0; tries < 1_000; tries += 1) reserve(store);
    };
    expect(until).toThrow(unavailable('not_done'));
    const full = await store.read('alice', '', partition);
    expect(full?.held).toBe(BigInt(full?.inFlight ?? 0) * 10n);
    expect(full?.held).toBeGreaterThan(0n);
    db.exec('PRAGMA max_page_count = 1000000');

    expect(reserve(store)).toMatchObject({ status: 'held' });
  });

  it('a read-only handle can read keys, but not reserve', async () => {
    const { db } = opened(kind);
    const keys = sqliteKeyStore({ client: db });
    const { secret, key } = await keys.issue({ group: 'chat', limitNanos: 1n });
    const store = sqliteQuotaStore({ client: db });
    db.exec('PRAGMA query_only = 1');

    expect((await keys.find(secret))?.id).toBe(key.id);
    expect(() => reserve(store)).toThrow(unavailable('not_done'));
    expect(store.check()).toMatchObject({
      problems: [expect.stringContaining('query_only')],
    });
  });

  it('a file that is not a database is corrupt, for every store', async () => {
    const { path, again } = opened(kind);
    writeFileSync(`${path}-other`, 'this was never a database'.repeat(1_000));
    const db = kind.open(`${path}-other`);
    onTestFinished(() => void db.close());

    expect(() => migrateSqlite(db)).toThrow(corrupt);
    await expect(sqliteKeyStore({ client: db }).find('x')).rejects.toEqual(corrupt);
    expect(again()).toBeDefined();
  });

  it('check on a database without tables says what to run', () => {
    const { path } = opened(kind);
    const db = kind.open(`${path}-other`);
    onTestFinished(() => void db.close());
    const store = sqliteQuotaStore({ client: db });

    expect(store.check()).toEqual({
      ok: false,
      problems: [
        'the tables are missing: run migrateSqlite(db)',
        'journal_mode is delete, not wal: run migrateSqlite(db)',
      ],
    });
    expect(() => reserve(store)).toThrow(unavailable('not_done'));
    migrateSqlite(db);

    expect(store.check()).toEqual({ ok: true });
    expect(reserve(store)).toMatchObject({ status: 'held' });
  });

  it('check refuses a file with its journal in memory, until it is migrated', () => {
    const { db } = opened(kind);
    // SQLite can't switch from WAL to it directly.
    db.exec('PRAGMA journal_mode = DELETE');
    db.exec('PRAGMA journal_mode = MEMORY');
    const store = sqliteQuotaStore({ client: db });

    expect(store.check()).toEqual({
      ok: false,
      problems: ['journal_mode is memory, not wal: run migrateSqlite(db)'],
    });
    migrateSqlite(db);

    expect(store.check()).toEqual({ ok: true });
  });

  it('tables that a newer version has changed are refused, and not touched', () => {
    const { db } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    db.exec('INSERT INTO tollgate_schema (version, oldest_compatible) VALUES (99, 98)');
    const problem =
      'the tables are of version 99, which only packages of table version 98 or later can use: ' +
      `update this package, which has ${sqliteMigrations.length}`;

    expect(() => migrateSqlite(db)).toThrow(`migrateSqlite: ${problem}.`);
    expect(store.check()).toEqual({ ok: false, problems: [problem] });
  });

  it('tables to which a newer version has only added can be used and migrated', () => {
    const { db } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    for (const table of ['quota', 'hold', 'lease', 'adjustment', 'key', 'claim', 'catalog']) {
      db.exec(`ALTER TABLE tollgate_${table} ADD COLUMN later TEXT`);
    }
    db.exec('ALTER TABLE tollgate_usage ADD COLUMN later INTEGER NOT NULL DEFAULT 7');
    db.exec('INSERT INTO tollgate_schema (version) VALUES (99)');

    migrateSqlite(db);
    reserve(store);

    expect(store.check()).toEqual({ ok: true });
    expect(store.read('alice', '', partition)).toMatchObject({ inFlight: 1 });
  });

  it('tables of an older version ask for the migration, which keeps their rows', () => {
    const { db } = opened(kind, 1);
    const store = sqliteQuotaStore({ client: db });
    reserve(store);
    const before = store.read('alice', '', partition);

    expect(store.check()).toEqual({
      ok: false,
      problems: [
        `the tables are of version 1, not ${sqliteMigrations.length}: run migrateSqlite(db)`,
      ],
    });
    migrateSqlite(db);

    expect(store.check()).toEqual({ ok: true });
    expect(store.read('alice', '', partition)).toEqual(before);
  });

  it('tables of a version before the first release are recognized by their columns', () => {
    const { db } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    db.exec('ALTER TABLE tollgate_quota DROP COLUMN extra_nanos');

    const sentence = expect.stringContaining('a version before the first release');
    expect(store.check()).toEqual({ ok: false, problems: [sentence] });
    expect(() => migrateSqlite(db)).toThrow('a version before the first release');
  });

  it('migrating again, and from a second handle, changes nothing', () => {
    const { db, again } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    reserve(store);
    const before = store.read('alice', '', partition);

    migrateSqlite(db);
    migrateSqlite(again());

    expect(store.read('alice', '', partition)).toEqual(before);
  });
});

describe.each(kinds)('over $name', (kind) => {
  it('an open transaction of the host on the handle is neither joined nor ended', () => {
    const { db } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    db.exec('BEGIN');
    db.exec("INSERT INTO tollgate_catalog (models, published_at_ms) VALUES ('[]', 1)");

    expect(() => reserve(store)).toThrow(unavailable('not_done'));

    db.exec('COMMIT');
    expect(db.prepare('SELECT version FROM tollgate_catalog').all()).toHaveLength(1);
    expect(reserve(store)).toMatchObject({ status: 'held' });
  });

  it('a call that was aborted before it began is not begun', () => {
    const { db } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    const signal = AbortSignal.abort();

    expect(() => store.adjust({ id: newId(), partition, ...line, limit: 1n }, { signal })).toThrow(
      unavailable('not_done'),
    );
    expect(store.read('alice', '', partition)).toBeUndefined();
  });

  it.each([
    ['a hold whose lines are not JSON', "UPDATE tollgate_hold SET lines = 'no json'"],
    [
      'a hold whose lines are incomplete',
      `UPDATE tollgate_hold SET lines = '[{"subject":"alice"}]'`,
    ],
    ['a balance below the held amount', 'UPDATE tollgate_quota SET held_nanos = 3'],
  ])('%s is corrupt, and a call that finds it changes nothing', (_case, damage) => {
    const { db } = opened(kind);
    const store = sqliteQuotaStore({ client: db });
    const id = newId();
    store.reserve({ id, partition, lines: [limited], ttlMs: 30_000, onExpire: 'release' });
    db.exec(damage);
    const before = db.prepare('SELECT * FROM tollgate_quota').all();

    expect(() => store.settle({ id, partition, lines: [line], basis: 'usage' })).toThrow(corrupt);

    expect(db.prepare('SELECT * FROM tollgate_quota').all()).toEqual(before);
  });

  it('an invalid growth changes nothing in its batch', () => {
    const { db } = opened(kind);
    const clock = fakeClock();
    const store = sqliteQuotaStore({ client: db, clock });
    const [one, other] = [newId(), newId()];
    for (const id of [one, other]) {
      store.reserve({ id, partition, lines: [limited], ttlMs: 30_000, onExpire: 'release' });
    }
    const before = store.read('alice', '', partition);
    clock.advance(10_000);

    expect(() =>
      store.extend([
        { id: one, partition, ttlMs: 30_000, add: [5n] },
        { id: other, partition, ttlMs: 30_000, add: [5n, 5n] },
      ]),
    ).toThrow(RangeError);

    expect(store.read('alice', '', partition)).toEqual(before);
  });

  it('a delayed renewal with a short lease does not shorten a long one', () => {
    const { db } = opened(kind);
    const clock = fakeClock();
    const store = sqliteQuotaStore({ client: db, clock });
    const id = newId();
    store.reserve({ id, partition, lines: [limited], ttlMs: 30_000, onExpire: 'release' });

    const long = store.extend([{ id, partition, ttlMs: 600_000 }]);
    const short = store.extend([{ id, partition, ttlMs: 1_000 }]);
    clock.advance(599_999);

    expect(short).toEqual(long);
    expect(store.read('alice', '', partition)).toMatchObject({ held: 10n });
  });

  it('a sweep deletes holds that ended an hour ago, and no newer ones', () => {
    const { db } = opened(kind);
    const clock = fakeClock();
    const store = sqliteQuotaStore({ client: db, clock });
    const [old, young] = [newId(), newId()];
    const settle = (id: string): unknown =>
      store.settle({ id, partition, lines: [line], basis: 'usage' });
    settle(old);
    clock.advance(1_800_000);
    settle(young);
    clock.advance(1_800_000);

    store.sweep({ max: 1 });

    const ids = db.prepare('SELECT id FROM tollgate_hold').all();
    expect(ids).toEqual([expect.objectContaining({ id: young })]);
    expect(settle(young)).toMatchObject({ status: 'already' });
  });

  it('a top-up that is repeated after days and sweeps counts once', () => {
    const { db } = opened(kind);
    const clock = fakeClock();
    const store = sqliteQuotaStore({ client: db, clock });
    const topUp = { id: newId(), partition, subject: 'alice', period: '', addLimit: 100n };
    store.adjust(topUp);
    clock.advance(10 * 86_400_000);
    store.sweep({ max: 10 });

    expect(store.adjust(topUp)).toMatchObject({ extra: 100n });
  });

  it('usage that could not be written is reported, kept, and written later', async () => {
    const { db } = opened(kind);
    const clock = fakeClock();
    const errors: unknown[] = [];
    const sink = sqliteUsageSink({
      client: db,
      clock,
      maxBufferedRecords: 2,
      onError: (error) => errors.push(error),
    });
    db.exec('PRAGMA query_only = 1');
    sink.record(usageRecord({ requestId: 'one' }));
    clock.advance(200);
    sink.record(usageRecord({ requestId: 'two' }));

    await vi.waitFor(() => expect(errors).toEqual([unavailable('not_done')]));
    expect(() => sink.record(usageRecord({ requestId: 'three' }))).toThrow('full');
    db.exec('PRAGMA query_only = 0');
    clock.advance(200);
    await sink.close();

    const { records } = await sink.usageRecords({});
    expect(records.map(({ requestId }) => requestId)).toEqual(['one', 'two']);
    expect(() => sink.record(usageRecord())).toThrow('closed');
  });

  it('names the wrong option and the remedy', () => {
    const { db } = opened(kind);
    const wrong: OpenOptions = JSON.parse('{ "client": {} }');

    for (const make of [sqliteQuotaStore, sqliteUsageSink, sqliteIdempotencyStore]) {
      expect(() => make(wrong)).toThrow(
        /options\.client must be an object with exec\(\) and prepare\(\)/,
      );
    }
    expect(() => sqliteKeyStore({ client: db, allowWeakKeys: true })).toThrow('needs a pepper');
  });
});

interface OpenOptions {
  readonly client: Scratch['db'];
}
