/** What a host loads with `tollgate` and `tollgate/express`, in either build. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));

describe.each([
  { extension: 'js', maxBytes: 530_000 },
  // Each chunk has helpers of its own, and each of its exports is a property with a getter.
  { extension: 'cjs', maxBytes: 630_000 },
])('a host that loads tollgate and tollgate/express (.$extension)', ({ extension, maxBytes }) => {
  const loaded = closure([`index.${extension}`, `express.${extension}`]);

  it(`loads at most ${maxBytes / 1_000} kB of code, minified`, () => {
    const evaluated = evaluatedBy(['index', 'express'], extension);

    expect(evaluated.length).toBeGreaterThan(5);
    expect(minifiedBytes(['index', 'express'], extension, evaluated)).toBeLessThan(maxBytes);
  });

  it('loads nothing of the testing kit and of the other subpaths', () => {
    const sources = loaded.flatMap((name) => sourcesOf(name));

    expect(sources).toContain('src/gateway.ts');
    expect(sources).toContain('adapters/express.ts');
    expect(sources.filter((path) => /^src\/prometheus\//.test(path))).toEqual([]);
    expect(
      sources.filter((path) =>
        /^src\/(?:testing|admin|console|command|opentelemetry)\//.test(path),
      ),
    ).toEqual([]);
    expect(sources.filter((path) => /\/stores\/(?:redis|postgres|sqlite)\//.test(path))).toEqual(
      [],
    );
  });
});

/** Migration scripts and admin processes load no wire format, and no store of another database. */
it.each([
  { entry: 'sqlite', maxBytes: 150_000 },
  // Half of it is the SQL of the migrations.
  { entry: 'postgres', maxBytes: 175_000 },
  { entry: 'redis', maxBytes: 120_000 },
  { entry: 'admin', maxBytes: 150_000 },
])('tollgate/$entry loads at most $maxBytes bytes, and no codec', ({ entry, maxBytes }) => {
  const evaluated = evaluatedBy([entry], 'js');
  const sources = evaluated.flatMap((name) => sourcesOf(name));

  expect(minifiedBytes([entry], 'js', evaluated)).toBeLessThan(maxBytes);
  expect(sources).not.toEqual([]);
  expect(sources.filter((path) => /^src\/(?:dialects\/taps|stages)\//.test(path))).toEqual([]);
});

function minifiedBytes(
  entries: readonly string[],
  extension: string,
  evaluated: readonly string[],
): number {
  const { outputFiles } = buildSync({
    stdin: {
      contents: entries.map((entry) => `export * from './${entry}.${extension}';`).join(''),
      resolveDir: dist,
    },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    // Codecs are loaded by the first call that needs them.
    external: readdirSync(dist)
      .filter((name) => name.endsWith(`.${extension}`) && !evaluated.includes(name))
      .map((name) => `./${name}`),
    logLevel: 'error',
    write: false,
  });
  return outputFiles[0]?.contents.length ?? Number.POSITIVE_INFINITY;
}

/** The files of the build that a process has evaluated when it has loaded these entries. */
function evaluatedBy(names: readonly string[], extension: string): readonly string[] {
  const entries = names.map((name) => `${name}.${extension}`);
  if (extension === 'js') return closure(entries);
  const script = `
    for (const name of ${JSON.stringify(entries)}) require(${JSON.stringify(dist)} + name);
    process.stdout.write(JSON.stringify(Object.keys(require.cache)));
  `;
  const printed = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  const paths = z.array(z.string()).parse(JSON.parse(printed));
  return paths.filter((path) => path.startsWith(dist)).map((path) => path.slice(dist.length));
}

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

/** Both builds have the same chunks; the ES modules name the source of each part in a comment. */
function sourcesOf(name: string): readonly string[] {
  const lines = read(name.replace(/\.cjs$/, '.js')).matchAll(
    /^\/\/ ((?:src|adapters)\/\S+\.ts)$/gm,
  );
  return [...lines].map(([, path = '']) => path);
}
