// suite: slow host
/** Refusals in SQLite: two gateways over one file, and tables that are upgraded while both run. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrateSqlite } from '../../../src/stores/sqlite/database.ts';
import { sqliteUsageSink } from '../../../src/stores/sqlite/index.ts';
import { recordedRefusals, usageRecord } from '../../../src/testing/index.ts';
import { pass } from '../../stages/ports/failing.ts';
import { countedIds } from '../../support/counted-ids.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { sampleRequests } from '../../support/models.ts';
import { fileKinds, migrationWith, scratch } from './handles.ts';

const stranger = { ...sampleRequests.chat, headers: { authorization: 'Bearer nobody' } };
const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

describe.each(fileKinds)('over $name', (kind) => {
  it('the counts of two gateways over one file add up', async () => {
    const { db, again, cleanup } = scratch(kind);
    onTestFinished(cleanup);
    const logs = [sqliteUsageSink({ client: db }), sqliteUsageSink({ client: again() })] as const;
    const gateways = logs.map((log, index) =>
      gatewayInProcess({ options: { recordRefusals: log, ids: countedIds(`gateway${index}`) } }),
    );
    for (const { call } of gateways) {
      await call(stranger);
      await call(stranger);
    }

    for (const { clock } of gateways) await pass(clock, 61_000);

    const [log] = logs;
    expect(await log.refusalReport({ ...always, by: ['code', 'day'] })).toEqual([
      { names: ['invalid_key', '2026-01-01'], refusals: 4 },
    ]);
    for (const sink of logs) await sink.close();
  });

  it('tables without details get them, and keep what was counted before', async () => {
    const { db, cleanup } = scratch(kind, migrationWith('ADD COLUMN detail') - 1);
    onTestFinished(cleanup);
    db.exec(`INSERT INTO tollgate_refusal (id, refused_at_ms, code, refusals)
      VALUES ('old.1', 5, 'invalid_request', 3)`);

    migrateSqlite(db);
    const log = sqliteUsageSink({ client: db });
    await log.recordRefusals([recordedRefusals({ detail: 'input' })]);

    expect(await log.refusalReport({ ...always, by: 'detail' })).toEqual([
      { names: [''], refusals: 3 },
      { names: ['input'], refusals: 3 },
    ]);
    log.close();
  });

  it('old tables block no calls, and keep refusals once they are upgraded', async () => {
    const { db, cleanup } = scratch(kind, migrationWith('TABLE tollgate_refusal') - 1);
    onTestFinished(cleanup);
    const log = sqliteUsageSink({ client: db });
    const { call, clock, events } = gatewayInProcess({ options: { recordRefusals: log } });

    expect((await call(stranger)).status).toBe(401);
    await pass(clock, 120_000);
    log.record(usageRecord());
    expect((await log.usageRecords({})).records).toHaveLength(1);
    const failed = { type: 'port_failed', port: 'refusals', operation: 'recordRefusals' };
    expect(events).toContainEqual(expect.objectContaining(failed));
    migrateSqlite(db);
    await pass(clock, 61_000);

    expect(await log.refusalReport({ ...always, by: 'code' })).toEqual([
      { names: ['invalid_key'], refusals: 1 },
    ]);
    expect(events.map(({ type }) => type)).not.toContain('refusals_lost');
    await log.close();
  });
});
