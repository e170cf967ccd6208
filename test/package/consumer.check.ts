/**
 * The package as a host gets it: its files, its dependencies, and that it loads and compiles.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, installPacked } from './consumer.ts';

const subpaths = [
  'tollgate',
  'tollgate/ports',
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

  it('contains what contents.txt lists (`-u` writes it), and nothing else', async () => {
    const names = new Set(consumer.files.map(nameInList));

    await expect([...names, ''].join('\n')).toMatchFileSnapshot('contents.txt');
  });

  it('is at most 2 MB', () => {
    expect(consumer.tarballBytes).toBeLessThan(2_000_000);
  });

  it('has code whose stack traces can be read: not minified, with the file of each part', () => {
    const modules = consumer.files.filter((path) => /^dist\/[\w-]+\.c?js$/.test(path));
    const code = modules.map((path) => consumer.read(`node_modules/tollgate/${path}`)).join('\n');

    expect(code).toMatch(/^\/\/ src\/gateway\.ts\nfunction \w+\(/m);
    expect(code).not.toContain('sourceMappingURL');
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

/** The name without the digest of a chunk; the folder, for the types of the source files. */
function nameInList(path: string): string {
  return path
    .replace(/-[A-Z0-9]{8}(?=\.c?js$)/, '-*')
    .replace(/^(dist\/types\/(?:src|adapters))\/.+\.d\.ts$/, '$1/**/*.d.ts');
}
