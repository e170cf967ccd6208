/** `openSqlite` as a host gets it: by import, by require, in Jest and in bundles. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, installPacked } from './consumer.ts';

const imported = `
import * as sqlite from 'tollgate/sqlite';
import reserve from './reserve.cjs';
reserve(sqlite).then((status) => console.log(status), (error) => console.log(error.message));`;
const required = `
const reserve = require('./reserve.cjs');
reserve(require('tollgate/sqlite')).then((status) => console.log(status));`;
const ofBundle = `
import * as sqlite from 'tollgate/sqlite';
import reserve from './reserve.cjs';
const workerUrl = process.argv[2];
reserve(sqlite, workerUrl && { workerUrl }).then(
  (status) => console.log(status),
  (error) => console.log(error.name, error.message),
);`;
const jestTest = `
test('reserves', async () => {
  expect(await require('./reserve.cjs')(require('tollgate/sqlite'))).toBe('held');
});`;
const webpackConfig = `
module.exports = {
  mode: 'production',
  target: 'node20',
  entry: './imported.mjs',
  output: { path: __dirname + '/webpack', filename: 'main.cjs' },
};`;

describe('a database in threads', () => {
  let consumer: Consumer;

  beforeAll(() => {
    consumer = installPacked({
      packages: {
        esbuild: '0.28.2',
        jest: '30.5.2',
        libsql: '0.5.29',
        webpack: '5.112.1',
        'webpack-cli': '6.0.1',
      },
      files: { 'reserve.cjs': 'test/package/hosts/reserve.cjs' },
    });
    consumer.write('imported.mjs', imported);
    consumer.write('required.cjs', required);
    consumer.write('bundled.mjs', ofBundle);
    consumer.write('threads.spec.js', jestTest);
    consumer.write('webpack.config.cjs', webpackConfig);
    consumer.write('jest.config.json', JSON.stringify({ transform: {}, roots: ['<rootDir>'] }));
  });

  afterAll(() => consumer.remove());

  it.each(['imported.mjs', 'required.cjs'])('is opened in plain Node: %s', (host) => {
    expect(consumer.run('node', host)).toBe('held\n');
  });

  it('is opened in Jest without a flag', () => {
    const jest = ['node_modules/jest/bin/jest.js', '--ci', '--json', 'threads.spec.js'];

    expect(consumer.run('node', ...jest)).toContain('"numPassedTests":1,');
  });

  it('is opened in a bundle of webpack, which copies the worker', () => {
    consumer.run('node', 'node_modules/webpack-cli/bin/cli.js', '--config', 'webpack.config.cjs');

    expect(consumer.run('node', 'webpack/main.cjs')).toBe('held\n');
  });

  it('is opened in a bundle of esbuild beside a copy of the worker, and names it without', () => {
    consumer.run(
      ...['node', 'node_modules/esbuild/bin/esbuild', 'bundled.mjs', '--bundle'],
      ...['--platform=node', '--format=esm', '--outfile=bundle/host.mjs'],
      "--banner:js=import { createRequire } from 'node:module';" +
        'const require = createRequire(import.meta.url);',
    );
    const copy =
      "require('fs').copyFileSync(require.resolve('tollgate/sqlite-worker'), 'bundle/copy.cjs')";

    expect(consumer.run('node', 'bundle/host.mjs')).toContain('copy tollgate/sqlite-worker');
    consumer.run('node', '--eval', copy);
    expect(consumer.run('node', 'bundle/host.mjs', './bundle/copy.cjs')).toBe('held\n');
  });
});
