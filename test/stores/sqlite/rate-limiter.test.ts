// suite: slow host
/** The limiter in SQLite decides like the model of token buckets, and counts for all processes. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrateSqlite, sqliteRateLimiter } from '../../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { rateLimiterCases } from '../rate-cases.ts';
import { fileKinds, type OpenDatabase, scratch } from './handles.ts';

describe.each(fileKinds)('a rate limiter over $name', (kind) => {
  const shared = new Map<string, readonly [OpenDatabase, OpenDatabase]>();

  rateLimiterCases(() => {
    let found = shared.get(kind.name);
    if (found === undefined) {
      const { db, again } = scratch(kind);
      found = [db, again()];
      shared.set(kind.name, found);
    }
    const [one, other] = found;
    one.exec('DELETE FROM tollgate_rate');
    const clock = fakeClock();
    return {
      limiters: [
        sqliteRateLimiter({ client: one, clock }),
        sqliteRateLimiter({ client: other, clock }),
      ],
      now: clock.now,
      advance: clock.advance,
      buckets: () => namesIn(one),
    };
  });

  it('syncs no take, and every commit of the other stores', async () => {
    const { db, cleanup } = scratch(kind);
    onTestFinished(cleanup);
    const levels: unknown[] = [];
    const level = (): void => void levels.push(db.prepare('PRAGMA synchronous').all());
    const client = {
      prepare: (sql: string) => db.prepare(sql),
      exec: (sql: string) => {
        if (sql === 'COMMIT') level();
        return db.exec(sql);
      },
    };
    const minute = { owner: 'a', bucket: 'b', amount: 1, limit: 1, periodMs: 60_000 } as const;

    await sqliteRateLimiter({ client }).take([minute]);
    level();
    migrateSqlite(client);

    expect(levels).toMatchObject([
      [{ synchronous: 1 }],
      [{ synchronous: 2 }],
      [{ synchronous: 2 }],
    ]);
  });
});

function namesIn(db: OpenDatabase): readonly unknown[] {
  const rows = db.prepare('SELECT bucket FROM tollgate_rate').all();
  return Array.isArray(rows) ? rows.map((row) => Reflect.get(row, 'bucket')) : [];
}
