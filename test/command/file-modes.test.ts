// suite: slow
/** The database of `serve` has keys and usage: only its own user may read it. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabases } from '../../src/command/stores/databases.ts';

it('a new SQLite file and its journal can be read by their owner alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'));
  try {
    const opened = await openDatabases(
      { sqlite: { path: 'state/tollgate.db', migrate: false } },
      folder,
    );
    opened.sqlite?.exec('PRAGMA journal_mode = WAL');
    opened.sqlite?.exec('CREATE TABLE t (a)');

    const files = readdirSync(join(folder, 'state'));
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) {
      expect(statSync(join(folder, 'state', file)).mode & 0o077, file).toBe(0);
    }
    await opened.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
