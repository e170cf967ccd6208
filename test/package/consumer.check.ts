/**
 * The package as a host gets it: its files, its dependencies, and that it loads and compiles.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, compilers, installPacked } from './consumer.ts';

const subpaths = [
  'tollgate',
  'tollgate/express',
  'tollgate/koa',
  'tollgate/node',
  'tollgate/testing',
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

  it('contains the build and its documents, nothing else', () => {
    const documents = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];

    expect(consumer.files.filter((path) => !path.startsWith('dist/'))).toEqual(documents);
    expect(consumer.files).toContain('dist/index.js');
    expect(consumer.files.filter((path) => !isBuilt(path) && !documents.includes(path))).toEqual(
      [],
    );
  });

  it('depends on zod and undici, and on no other package', () => {
    expect(consumer.installed()).toEqual(['tollgate', 'undici', 'zod']);
  });

  it('has no install script', () => {
    const print =
      "console.log(Object.keys(require('tollgate/package.json').scripts).filter((name) => " +
      "['preinstall', 'install', 'postinstall', 'prepare'].includes(name)).join());";

    expect(consumer.run('node', '--eval', print).trim()).toBe('');
  });

  it.each(subpaths)('%s gives plain Node the same names by import and by require', (subpath) => {
    const print = 'console.log(Object.keys(names).sort().join());';

    const imported = consumer.run(
      'node',
      '--input-type=module',
      '--eval',
      `import * as names from '${subpath}'; ${print}`,
    );
    const required = consumer.run(
      'node',
      '--eval',
      `const names = require('${subpath}'); ${print}`,
    );

    expect(imported.trim()).not.toBe('');
    expect(required).toBe(imported);
  });

  const compilations = Object.keys(compilers).flatMap((compiler) =>
    ['public-api', 'exported-values'].flatMap((name) =>
      ['mts', 'cts'].map((extension) => [`${name}.${extension}`, compiler] as const),
    ),
  );

  it.each(
    compilations,
  )('%s compiles under %s, including our type declarations', (file, compiler) => {
    const output = consumer.run(
      'node',
      `node_modules/${compiler}/bin/tsc`,
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--skipLibCheck',
      'false',
      '--target',
      'es2022',
      '--lib',
      'es2023',
      '--module',
      'nodenext',
      '--types',
      'node',
      file,
    );

    expect(output).toBe('');
  });
});

function isBuilt(path: string): boolean {
  return /^dist\/[\w.-]+\.(?:js|cjs|d\.ts|d\.cts|js\.map|cjs\.map)$/.test(path);
}
