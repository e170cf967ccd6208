/** Makes a script of the tests one file of JavaScript, for a child process of any Node to run. */
import { basename, join } from 'node:path';
import { build } from 'tsup';

const root = join(import.meta.dirname, '../..');

/**
 * Bundles the TypeScript file at `path`, and answers with where its JavaScript lies: in the repo,
 * for what is bundled looks for its packages from there. `external` packages are left to Node.
 */
export async function childScript(path: string, ...external: readonly string[]): Promise<string> {
  const name = basename(path, '.ts');
  const outDir = join(root, '.build/children', name);
  await build({
    entry: { [name]: path },
    outDir,
    config: false,
    tsconfig: join(root, 'tsconfig.json'),
    format: 'esm',
    target: 'node20',
    external: [...external],
    outExtension: () => ({ js: '.mjs' }),
    silent: true,
  });
  return join(outDir, `${name}.mjs`);
}
