// suite: slow host
/** What stores in SQLite keep for some time, within their bounds. */
import { describe } from 'vitest';
import {
  sqliteItemStore,
  sqliteResponseIndex,
  sqliteResultStore,
} from '../../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { itemStoreCases, responseIndexCases, resultStoreCases } from '../kept-cases.ts';
import { fileKinds, type OpenDatabase, type Scratch, scratch } from './handles.ts';

describe.each(fileKinds)('over $name', (kind) => {
  let shared: Scratch | undefined;
  const emptied = () => {
    shared ??= scratch(kind);
    const { db, again } = shared;
    for (const table of tables) db.exec(`DELETE FROM ${table}`);
    const clock = fakeClock();
    return {
      from: () => ({ client: again(), clock }),
      now: clock.now,
      advance: clock.advance,
      rowCount: () => tables.reduce((sum, table) => sum + rowsIn(db, table), 0),
    };
  };

  describe('the result store', () => {
    resultStoreCases(() => {
      const { from, ...rest } = emptied();
      return { ...rest, newStore: (options) => sqliteResultStore({ ...options, ...from() }) };
    });
  });

  describe('the item store', () => {
    itemStoreCases(() => {
      const { from, ...rest } = emptied();
      return { ...rest, newStore: (options) => sqliteItemStore({ ...options, ...from() }) };
    });
  });

  describe('the index of responses', () => {
    responseIndexCases(() => {
      const { from, ...rest } = emptied();
      return { ...rest, newStore: () => sqliteResponseIndex(from()) };
    });
  });
});

const tables = ['tollgate_kept', 'tollgate_kept_sum', 'tollgate_response'];

function rowsIn(db: OpenDatabase, table: string): number {
  const rows = db.prepare(`SELECT kind FROM ${table}`).all();
  return Array.isArray(rows) ? rows.length : 0;
}
