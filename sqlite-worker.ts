/**
 * Bundles the worker of `openSqlite` into one file, which a bundled app can copy. The constant of
 * `src/stores/sqlite/thread/open.ts` says where it is.
 */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const name = 'sqlite-worker.cjs';

/** Writes the worker into a folder; in one step, because other runs of the tests may use it. */
export function buildSqliteWorker(folder: string): void {
  const outfile = join(folder, name);
  const written = `${outfile}.${process.pid}`;
  buildSync({
    entryPoints: [join(import.meta.dirname, 'src/stores/sqlite/thread/worker.ts')],
    outfile: written,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    bundle: true,
  });
  renameSync(written, outfile);
}

/** The package has it beside its modules. */
export const packagedWorker: Record<string, string> = {
  SQLITE_WORKER: JSON.stringify(`./${name}`),
};

/** The tests run the source, for which the worker is built anew. */
export function builtWorker(): Record<string, string> {
  const folder = join(import.meta.dirname, '.build');
  buildSqliteWorker(folder);
  return { SQLITE_WORKER: JSON.stringify(pathToFileURL(join(folder, name)).href) };
}
