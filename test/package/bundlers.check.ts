/** The package in a host that is bundled: esbuild and webpack, as ES modules and as CommonJS. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, installPacked } from './consumer.ts';

describe('the packed package bundled by', () => {
  let consumer: Consumer;

  beforeAll(() => {
    const hosts = ['call-gateway.cjs', 'imported.mjs', 'required.cjs', 'webpack.config.cjs'];
    consumer = installPacked({
      packages: { esbuild: '0.28.2', webpack: '5.112.1', 'webpack-cli': '6.0.1' },
      files: Object.fromEntries(hosts.map((name) => [name, `test/package/hosts/${name}`])),
    });
    // Its binary is a file of a platform package, which the main package finds by itself.
    consumer.run('node', 'node_modules/webpack-cli/bin/cli.js', '--config', 'webpack.config.cjs');
  });

  afterAll(() => consumer.remove());

  it.each([
    ['imported.mjs', 'esm', 'bundle.mjs'],
    ['imported.mjs', 'cjs', 'bundle-imported.cjs'],
    ['required.cjs', 'cjs', 'bundle-required.cjs'],
  ])('esbuild runs: %s as %s', (entry, format, outfile) => {
    // A bundle of ES modules needs `require` for what its dependencies require of Node.
    const banner =
      "import { createRequire } from 'node:module';" +
      'const require = createRequire(import.meta.url);';
    // CommonJS has no top-level await, which the host's own module uses.
    const text = consumer.read(entry);
    const source = `${format}-${entry}`;
    consumer.write(source, format === 'cjs' ? withoutTopLevelAwait(text) : text);
    consumer.run(
      'node',
      'node_modules/esbuild/bin/esbuild',
      source,
      '--bundle',
      '--platform=node',
      '--target=node20',
      `--format=${format}`,
      `--outfile=${outfile}`,
      ...(format === 'esm' ? [`--banner:js=${banner}`] : []),
    );

    expect(consumer.run('node', outfile)).toBe('');
  });

  it.each(['imported', 'required'])('webpack runs: %s', (name) => {
    expect(consumer.run('node', `webpack/${name}.cjs`)).toBe('');
  });
});

function withoutTopLevelAwait(text: string): string {
  return text.replace(
    /^deepEqual\(await (.+), expected\);$/m,
    '$1.then((result) => deepEqual(result, expected));',
  );
}
