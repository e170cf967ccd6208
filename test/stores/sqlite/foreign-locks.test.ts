// suite: slow host
/**
 * A program that holds the write lock of the file stops the process for a second and one timeout at
 * most, however many operations are asked meanwhile, because waiting for the lock blocks the event
 * loop.
 */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isStoreUnavailable } from '../../../src/ports/call-options.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import {
  type SqliteHandle,
  sqliteIdempotencyStore,
  sqliteQuotaStore,
} from '../../../src/stores/sqlite/index.ts';
import { runsOf } from '../../support/sample.ts';
import { fileKinds, scratch } from './handles.ts';

const partition = 'default';
const lines = [{ subject: 'alice', period: '', amount: 1n }];
const row = { partition, subject: 'alice', period: '' };
let made = 0;

function newId(): string {
  made += 1;
  return `reservation-${String(made).padStart(8, '0')}`;
}

type Operation = (store: QuotaStore, timeoutMs: number) => unknown;
const operations: Readonly<Record<string, Operation>> = {
  reserve: (store, timeoutMs) =>
    store.reserve(
      { id: newId(), partition, lines, ttlMs: 30_000, onExpire: 'release' },
      { timeoutMs },
    ),
  settle: (store, timeoutMs) =>
    store.settle({ id: newId(), partition, lines, basis: 'usage' }, { timeoutMs }),
  release: (store, timeoutMs) => store.release({ id: newId(), partition, lines }, { timeoutMs }),
  extend: (store, timeoutMs) =>
    store.extend([{ id: newId(), partition, ttlMs: 30_000 }], { timeoutMs }),
  sweep: (store, timeoutMs) => store.sweep({ max: 10, timeoutMs }),
  adjust: (store, timeoutMs) => store.adjust({ ...row, id: newId(), limit: 5n }, { timeoutMs }),
  read: (store, timeoutMs) => store.read('alice', '', partition, { timeoutMs }),
};

/** A driver whose lock another program holds. It adds up how long it would have blocked. */
function lockable(db: SqliteHandle) {
  let busyTimeoutMs = 0;
  const state = { isLocked: false, blockedMs: 0 };
  const handle: SqliteHandle = {
    prepare: (sql) => db.prepare(sql),
    exec: (sql) => {
      const wait = /busy_timeout = (\d+)/.exec(sql)?.[1];
      if (wait !== undefined) busyTimeoutMs = Number(wait);
      if (!state.isLocked || sql !== 'BEGIN IMMEDIATE') return db.exec(sql);
      state.blockedMs += busyTimeoutMs;
      throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
    },
  };
  return { handle, state };
}

const steps = fc.record({
  operation: fc.constantFrom(...Object.values(operations)),
  timeoutMs: fc.integer({ min: 25, max: 2_000 }),
});

describe.each(fileKinds)('over $name', (kind) => {
  it('waiting ends after a second, and begins again once the lock was free', () => {
    const { db, cleanup } = scratch(kind);
    onTestFinished(cleanup);
    fc.assert(
      fc.property(fc.array(steps, { minLength: 1, maxLength: 40 }), (asked) => {
        const { handle, state } = lockable(db);
        const store = sqliteQuotaStore({ client: handle });
        for (const _ of [1, 2]) {
          state.isLocked = true;
          state.blockedMs = 0;
          let grantedMs = 0;
          for (const { operation, timeoutMs } of asked) {
            grantedMs += timeoutMs;
            expect(() => operation(store, timeoutMs)).toThrow(
              expect.objectContaining({ name: 'StoreUnavailable', outcome: 'not_done' }),
            );
          }
          const longest = Math.max(...asked.map(({ timeoutMs }) => timeoutMs));
          expect(state.blockedMs).toBeLessThanOrEqual(1_000 + longest + 25);
          // Before that, each operation waits for as long as it may.
          if (grantedMs < 1_000) expect(state.blockedMs).toBeGreaterThanOrEqual(grantedMs);

          state.isLocked = false;
          for (const { operation } of asked) operation(store, 25);
        }
      }),
      { numRuns: runsOf(100) },
    );
  });

  it('no store waits for a lock that another connection has held for a second', async () => {
    const { db, again, cleanup } = scratch(kind);
    onTestFinished(cleanup);
    const store = sqliteQuotaStore({ client: db });
    const claims = sqliteIdempotencyStore({ client: db });
    const other = again();
    other.exec('BEGIN IMMEDIATE');
    let refused = 0;
    const isRefused = async (run: () => unknown): Promise<void> => {
      try {
        await run();
      } catch (error) {
        refused += isStoreUnavailable(error) ? 1 : 0;
      }
    };

    // Were each of them to wait, this would take more than an hour.
    for (let call = 0; call < 5_000; call += 1) {
      await isRefused(() => operations.reserve?.(store, 1_000));
      await isRefused(() => claims.abandon({ name: 'a', claimId: newId() }, { timeoutMs: 1_000 }));
    }
    expect(refused).toBe(10_000);

    other.exec('COMMIT');
    expect(operations.read?.(store, 25)).toBeUndefined();
  });
});
