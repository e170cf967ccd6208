/**
 * Two builds: the published package (ESM, CommonJS and types), and the examples as plain modules,
 * which `npm start` can run on a Node without a TypeScript runner.
 */
import type { Options } from 'tsup';

const builds: readonly Options[] = [
  {
    name: 'package',
    entry: {
      index: 'src/index.ts',
      express: 'adapters/express.ts',
      koa: 'adapters/koa.ts',
      node: 'adapters/node.ts',
      testing: 'src/testing/index.ts',
      redis: 'src/stores/redis/index.ts',
      postgres: 'src/stores/postgres/index.ts',
      sqlite: 'src/stores/sqlite/index.ts',
    },
    outDir: 'dist',
    format: ['esm', 'cjs'],
    target: 'node20',
    dts: true,
    sourcemap: true,
    clean: true,
    // In CommonJS too: without shared chunks every subpath would carry its own copy of the core.
    splitting: true,
  },
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

export default builds;
