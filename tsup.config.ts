/**
 * Three builds: the published package, its types, and the examples as plain modules, which
 * `npm start` can run on a Node without a TypeScript runner. `tsup --no-dts` leaves out the types,
 * which take twenty times as long as the rest.
 */
import { writeFileSync } from 'node:fs';
import type { Options } from 'tsup';

const entry = {
  index: 'src/index.ts',
  express: 'adapters/express.ts',
  koa: 'adapters/koa.ts',
  node: 'adapters/node.ts',
  testing: 'src/testing/index.ts',
  redis: 'src/stores/redis/index.ts',
  postgres: 'src/stores/postgres/index.ts',
  sqlite: 'src/stores/sqlite/index.ts',
};

const builds: readonly Options[] = [
  {
    name: 'package',
    entry,
    outDir: 'dist',
    format: ['esm'],
    target: 'node20',
    clean: true,
    // Without shared chunks every subpath would carry its own copy of the core.
    splitting: true,
    // Every Node we run on can require a module. A second build would double the package, and a
    // host that loads both would have two gateways' worth of code.
    onSuccess: async () => {
      for (const name of Object.keys(entry)) {
        writeFileSync(`dist/${name}.cjs`, `module.exports = require('./${name}.js');\n`);
        // The types are written out once as well, for CommonJS: a module may take its types from
        // there, but not the reverse before TypeScript 5.8.
        writeFileSync(`dist/${name}.d.ts`, `export * from './${name}.cjs';\n`);
      }
    },
  },
  { name: 'types', entry, outDir: 'dist', format: ['cjs'], dts: { only: true } },
  {
    name: 'examples',
    entry: ['examples/**/*.ts', '!examples/**/*.test.ts'],
    outDir: '.build/examples',
    format: ['esm'],
    target: 'node20',
    clean: true,
    // They import `tollgate` as a host does: by its own exports, so from dist. It has to be named,
    // because tsconfig's paths, which lead to the source, go before `packages`.
    external: [/^tollgate(?:\/|$)/],
    esbuildOptions: (options) => {
      options.packages = 'external';
    },
  },
];

export default (cli: Options): Options[] =>
  builds.filter(({ name }) => cli.dts !== false || name !== 'types');
