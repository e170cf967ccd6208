/** The type declarations of the package, under each compiler and module resolution of a host. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, installPacked } from './consumer.ts';

/**
 * From the oldest compiler that we support up to the newest, and the ways to resolve modules in
 * which each is tried: all that the oldest and the newest have, and of those between what they
 * changed. TypeScript 6 deprecated node10, and 7 doesn't have it.
 */
const compilers: Readonly<Record<string, { npm: string; tried: readonly string[] }>> = {
  '5.0': { npm: '5.0.4', tried: ['node16', 'nodenext', 'bundler', 'node10'] },
  '5.4': { npm: '5.4.5', tried: ['nodenext'] },
  '5.9': { npm: '5.9.3', tried: ['nodenext', 'node10'] },
  '6.0': { npm: '6.0.3', tried: ['nodenext', 'bundler'] },
  '7.0': { npm: '7.0.2', tried: ['node16', 'nodenext', 'bundler'] },
};

/** The options of each way to resolve modules, and the files that can be compiled with it. */
const resolutions: Readonly<
  Record<string, { options: readonly string[]; files: readonly string[] }>
> = {
  node16: { options: ['--module', 'node16'], files: ['mts', 'cts'] },
  nodenext: { options: ['--module', 'nodenext'], files: ['mts', 'cts'] },
  bundler: { options: ['--module', 'esnext', '--moduleResolution', 'bundler'], files: ['ts'] },
  node10: { options: ['--module', 'commonjs', '--moduleResolution', 'node10'], files: ['ts'] },
};

const rows = Object.entries(compilers).flatMap(([compiler, { tried }]) =>
  Object.entries(resolutions)
    .filter(([name]) => tried.includes(name))
    .map(([name, { options, files }]) => ({ compiler, name, options, files })),
);

describe('the types of the packed package', () => {
  let consumer: Consumer;

  beforeAll(() => {
    const copies = ['public-api', 'exported-values'].flatMap((name) =>
      ['ts', 'mts', 'cts'].map((ext) => [`${name}.${ext}`, `test/types/${name}.ts`] as const),
    );
    consumer = installPacked({
      packages: {
        '@types/node': '20.19.43',
        '@opentelemetry/api': '1.9.1',
        ...Object.fromEntries(
          Object.entries(compilers).map(([name, { npm }]) => [
            `typescript-${name}`,
            `npm:typescript@${npm}`,
          ]),
        ),
      },
      files: Object.fromEntries(copies),
    });
  });

  afterAll(() => consumer.remove());

  it('need no other package, but for tollgate/opentelemetry its peer', () => {
    const importing = consumer.files
      .filter((path) => path.endsWith('.d.ts') && !path.includes('/src/opentelemetry/'))
      .filter((path) =>
        / from '[^.]/.test(withoutNode(consumer.read(`node_modules/tollgate/${path}`))),
      );

    expect(importing).toEqual([]);
  });

  it.each(rows)('compile under TypeScript $compiler with $name, ours included', ({
    compiler,
    options,
    files,
  }) => {
    const output = consumer.run(
      'node',
      `node_modules/typescript-${compiler}/bin/tsc`,
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--skipLibCheck',
      'false',
      '--target',
      'es2022',
      '--lib',
      compiler === '5.0' ? 'es2022' : 'es2023',
      ...options,
      '--types',
      'node',
      ...files.flatMap((ext) => [`public-api.${ext}`, `exported-values.${ext}`]),
    );

    expect(output).toBe('');
  });
});

function withoutNode(text: string): string {
  return text.replace(/ from 'node:[^']+'/g, '');
}
