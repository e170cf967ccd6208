/** What a host loads with `tollgate` and `tollgate/express`, in either build. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));

const sourceMap = z.object({ sources: z.array(z.string()) });

describe.each([
  'js',
  'cjs',
])('a host that loads tollgate and tollgate/express (.%s)', (extension) => {
  const loaded = closure([`index.${extension}`, `express.${extension}`]);

  it('loads at most 750 kB of code, minified', () => {
    const { outputFiles } = buildSync({
      stdin: {
        contents: `export * from './index.${extension}'; export * from './express.${extension}';`,
        resolveDir: dist,
      },
      bundle: true,
      minify: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
      write: false,
    });

    expect(outputFiles[0]?.contents.length).toBeLessThan(750_000);
  });

  it('loads nothing of the testing kit and of the other subpaths', () => {
    const sources = loaded.flatMap((name) => sourcesOf(name));

    expect(sources).toContain('../src/gateway.ts');
    expect(sources).toContain('../adapters/express.ts');
    expect(sources.filter((path) => /^\.\.\/src\/prometheus\//.test(path))).toEqual([]);
    expect(sources.filter((path) => /^\.\.\/src\/(?:testing|admin|console)\//.test(path))).toEqual(
      [],
    );
    expect(sources.filter((path) => /\/stores\/(?:redis|postgres|sqlite)\//.test(path))).toEqual(
      [],
    );
  });
});

/** The files and all that they import from the build, directly or not. */
function closure(entries: readonly string[]): readonly string[] {
  const found = new Set(entries);
  for (const name of found) {
    for (const [, imported] of read(name).matchAll(/(?:from|require\(|import)\s*"\.\/([^"]+)"/g)) {
      if (imported !== undefined) found.add(imported);
    }
  }
  return [...found];
}

function read(name: string): string {
  return readFileSync(join(dist, name), 'utf8');
}

/** Both builds have the same chunks; those of the ES modules have maps. */
function sourcesOf(name: string): readonly string[] {
  return sourceMap.parse(JSON.parse(read(name.replace(/\.c?js$/, '.js.map')))).sources;
}
