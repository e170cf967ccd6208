/**
 * The package as a host gets it: its files, its dependencies, and that it loads and compiles.
 */
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Consumer, installPacked } from './consumer.ts';

const subpaths = [
  'tollgate',
  'tollgate/express',
  'tollgate/fastify',
  'tollgate/fetch',
  'tollgate/koa',
  'tollgate/node',
  'tollgate/testing',
  'tollgate/admin',
  'tollgate/console',
  'tollgate/redis',
  'tollgate/postgres',
  'tollgate/sqlite',
];

describe('the packed package', () => {
  let consumer: Consumer;

  beforeAll(() => {
    consumer = installPacked();
  });

  afterAll(() => consumer.remove());

  it('contains the build, its sources, documents and examples, and nothing else', () => {
    expect(consumer.files.filter((path) => !isPublished(path))).toEqual([]);
    for (const path of expectedFiles) expect(consumer.files).toContain(path);
  });

  it('is at most 2.9 MB, a third of which are the sources that its maps lead to', () => {
    expect(consumer.tarballBytes).toBeLessThan(2_900_000);
  });

  it('has source and declaration maps, whose sources are in it', () => {
    const maps = consumer.files.filter((path) => path.endsWith('.map'));

    expect(maps).toContain('dist/index.js.map');
    expect(maps).toContain('dist/types/src/index.d.ts.map');
    for (const path of maps) {
      const { sources, sourcesContent } = mapOf(consumer.read(`node_modules/tollgate/${path}`));
      const missing = sources
        .map((source) => join(dirname(path), source))
        .filter((source) => !consumer.files.includes(source));

      expect(missing, path).toEqual([]);
      expect(sourcesContent, path).toBeUndefined();
    }
  });

  it('depends on zod and undici, and on no other package', () => {
    expect(consumer.installed()).toEqual(['tollgate', 'undici', 'zod']);
  });

  it('has the program tollgate, which npx finds and Node 20 runs', () => {
    expect(consumer.run('npx', '--no-install', 'tollgate', '--help')).toContain('keys issue');
    expect(JSON.parse(consumer.run('npx', '--no-install', 'tollgate', 'schema'))).toEqual(
      JSON.parse(consumer.read('node_modules/tollgate/dist/tollgate-config.schema.json')),
    );
  });

  it('has no install script', () => {
    const print =
      "console.log(Object.keys(require('tollgate/package.json').scripts).filter((name) => " +
      "['preinstall', 'install', 'postinstall', 'prepare'].includes(name)).join());";

    expect(consumer.run('node', '--eval', print).trim()).toBe('');
  });

  it.each(subpaths)('%s gives plain Node the same names by import and by require', (subpath) => {
    expectSameNames(subpath, consumer);
  });
});

describe('an entry for an optional package', () => {
  let consumer: Consumer;

  beforeAll(() => {
    consumer = installPacked({ packages: { '@opentelemetry/api': '1.9.1' } });
  });

  afterAll(() => consumer.remove());

  it.each(['tollgate/opentelemetry'])('%s loads beside it, by import and by require', (subpath) => {
    expectSameNames(subpath, consumer);
  });
});

function expectSameNames(subpath: string, consumer: Consumer): void {
  const print = 'console.log(Object.keys(names).sort().join());';

  const imported = consumer.run(
    'node',
    '--input-type=module',
    '--eval',
    `import * as names from '${subpath}'; ${print}`,
  );
  const required = consumer.run('node', '--eval', `const names = require('${subpath}'); ${print}`);

  expect(imported.trim()).not.toBe('');
  expect(required).toBe(imported);
}

const expectedFiles = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'adapters/express.ts',
  'dist/index.cjs',
  'dist/command.js',
  'dist/index.js',
  'dist/admin-openapi.json',
  'dist/console.js',
  'dist/tollgate-config.schema.json',
  'docs/architecture.md',
  'examples/quickstart.ts',
  'package.json',
  'src/index.ts',
];

const whole: ReadonlySet<string> = new Set([
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'package.json',
  'dist/admin-openapi.json',
  'dist/tollgate-config.schema.json',
  'dist/types/package.json',
]);

function isPublished(path: string): boolean {
  return (
    whole.has(path) ||
    /^dist\/[\w.-]+\.(?:js|cjs|d\.ts|d\.cts|js\.map)$/.test(path) ||
    /^dist\/types\/(?:src|adapters)\/.+\.d\.ts(?:\.map)?$/.test(path) ||
    /^(?:src|adapters|examples)\/.+(?<!\.test)\.(?:ts|json|sql|lua)$/.test(path) ||
    /^docs\/.+\.md$/.test(path) ||
    /^docs\/dashboards\/\w+\.(?:json|yml)$/.test(path)
  );
}

const sourceMap = z.object({
  sources: z.array(z.string()),
  sourcesContent: z.array(z.unknown()).optional(),
});

function mapOf(text: string): z.infer<typeof sourceMap> {
  return sourceMap.parse(JSON.parse(text));
}
