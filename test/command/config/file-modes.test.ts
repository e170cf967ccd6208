// suite: slow runtime
/** The database of `serve` has keys and usage: only its own user may read it. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabases } from '../../../src/command/stores/databases.ts';
import { migrateSqlite } from '../../../src/stores/sqlite/index.ts';

it.each([
  ['on this thread', false],
  ['in worker threads', true],
])("new SQLite files and their journals are their owner's alone: %s", async (_where, inThreads) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'));
  try {
    const opened = await openDatabases(
      { sqlite: { path: 'state/tollgate.db', migrate: false } },
      folder,
      undefined,
      inThreads,
    );
    for (const db of [opened.sqlite, opened.kept]) if (db !== undefined) await migrateSqlite(db);

    const files = readdirSync(join(folder, 'state'));
    expect(files).toEqual(expect.arrayContaining(['tollgate.db-wal', 'tollgate-kept.db']));
    for (const file of files) {
      expect(statSync(join(folder, 'state', file)).mode & 0o077, file).toBe(0);
    }
    await opened.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
