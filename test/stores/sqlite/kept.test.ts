// suite: slow host
/** What stores in SQLite keep for some time, within their bounds. */
import { describe } from 'vitest';
import { sqliteResultStore } from '../../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { resultStoreCases } from '../kept-cases.ts';
import { fileKinds, type OpenDatabase, type Scratch, scratch } from './handles.ts';

describe.each(fileKinds)('over $name', (kind) => {
  let shared: Scratch | undefined;
  const emptied = (): Scratch => {
    shared ??= scratch(kind);
    shared.db.exec('DELETE FROM tollgate_kept');
    return shared;
  };

  describe('the result store', () => {
    resultStoreCases(() => {
      const { db, again } = emptied();
      const clock = fakeClock();
      return {
        newStore: (options) => sqliteResultStore({ ...options, client: again(), clock }),
        advance: clock.advance,
        rowCount: () => rowsIn(db, 'tollgate_kept') + rowsIn(db, 'tollgate_kept_sum'),
      };
    });
  });
});

function rowsIn(db: OpenDatabase, table: string): number {
  const rows = db.prepare(`SELECT kind FROM ${table}`).all();
  return Array.isArray(rows) ? rows.length : 0;
}
