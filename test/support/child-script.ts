/** Bundles a script of the tests into one JavaScript file, for a child process of any Node. */
import { basename, join } from 'node:path';
import { build } from 'tsup';

const root = join(import.meta.dirname, '../..');

/**
 * Bundles the TypeScript file at `path` and returns the path of the JavaScript. It is in the repo,
 * so that Node finds the packages, or in the folder that `CHILD_SCRIPT_FOLDER` names, which has
 * some of its own. `external` packages are not bundled.
 */
export async function childScript(
  path: string,
  ...external: readonly (string | RegExp)[]
): Promise<string> {
  const name = basename(path, '.ts');
  const outDir = join(process.env.CHILD_SCRIPT_FOLDER ?? root, '.build/children', name);
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
