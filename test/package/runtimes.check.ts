/** The package on each Node line that we support, imported, required, and both in one process. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, installPacked } from './consumer.ts';

/** 22.11 is the last version that can't require an ES module. */
const versions = ['20.20', '22.11', '22', '24', '26'];
const hosts = ['imported.mjs', 'required.cjs', 'both-builds.mjs'];

describe('the packed package runs', () => {
  let consumer: Consumer;

  beforeAll(() => {
    const binaries = versions.map((version) => [
      `node-${version}`,
      `npm:node-${process.platform}-${process.arch}@${version}`,
    ]);
    const names = ['call-gateway.cjs', 'runner.test.mjs', ...hosts];
    consumer = installPacked({
      packages: Object.fromEntries(binaries),
      files: Object.fromEntries(names.map((name) => [name, `test/package/hosts/${name}`])),
    });
  });

  afterAll(() => consumer.remove());

  describe.each(versions)('on Node %s', (version) => {
    const run = (...args: readonly string[]): string =>
      consumer.run(join(consumer.folder, `node_modules/node-${version}/bin/node`), ...args);

    it('in the version that is named', () => {
      expect(run('--version')).toMatch(new RegExp(`^v${version.replace('.', '\\.')}\\.`));
    });

    it.each(hosts)('as %s', (host) => {
      expect(run('--throw-deprecation', '--unhandled-rejections=strict', host)).toBe('');
    });

    it('in tests of node:test', () => {
      expect(run('--test', '--test-reporter=tap', 'runner.test.mjs')).toMatch(/^# pass 1$/m);
    });
  });
});
