/**
 * Bundles the pages of the console for browsers. The builds and the tests put the texts in place of
 * the constants that `src/console/pages.ts` declares.
 */
import { basename } from 'node:path';
import { buildSync } from 'esbuild';

/** The value of each constant, as JSON, for the option `define` of a bundler. */
export function consolePages(): Record<string, string> {
  const { outputFiles } = buildSync({
    entryPoints: ['main.ts', 'style.css', 'sign-in.ts', 'sign-in.css'].map(
      (name) => `src/console/page/${name}`,
    ),
    outdir: 'pages',
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
  });
  const textOf = (name: string): string => {
    const found = outputFiles.find(({ path }) => basename(path) === name);
    if (found === undefined) throw new Error(`esbuild made no ${name}`);
    return found.text;
  };
  return {
    CONSOLE_SCRIPT: JSON.stringify(textOf('main.js')),
    CONSOLE_STYLE: JSON.stringify(textOf('style.css')),
    SIGN_IN_SCRIPT: JSON.stringify(textOf('sign-in.js')),
    SIGN_IN_STYLE: JSON.stringify(textOf('sign-in.css')),
  };
}
