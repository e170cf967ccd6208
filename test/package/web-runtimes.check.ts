/** The packed package in Bun and Deno, behind the server of each. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, installPacked } from './consumer.ts';

// The binaries are files of the platform packages, because install scripts are not run.
const platform = `${process.platform}-${process.arch}`;
const runtimes: Readonly<Record<string, readonly string[]>> = {
  bun: [`@oven/bun-${platform}/bin/bun`],
  deno: [`@deno/${platform}-glibc/deno`, 'run', '--allow-all', '--no-lock'],
};

describe('the packed package runs', () => {
  let consumer: Consumer;

  beforeAll(() => {
    consumer = installPacked({
      packages: { bun: '1.4.5', deno: '2.9.6' },
      files: { 'web-runtime.mjs': 'test/package/hosts/web-runtime.mjs' },
    });
  });

  afterAll(() => consumer.remove());

  it.each(Object.entries(runtimes))('in %s', (_name, [binary = '', ...args]) => {
    const program = join(consumer.folder, 'node_modules', binary);
    const cache = `DENO_DIR=${join(consumer.folder, '.deno')}`;

    expect(consumer.run('env', cache, program, ...args, 'web-runtime.mjs')).toBe('');
  });
});
