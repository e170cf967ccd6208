/**
 * Builds the published package as ES modules and as CommonJS, and the examples as plain
 * modules, which `npm start` can run on a Node without a TypeScript runner. The package has neither
 * sources nor maps, which made up half of it: its code is not minified, so that stack traces have
 * the names of the source, and a comment before each part names its file. `npm run build` adds
 * the types (write-types.mjs), which take longer than the rest.
 */
import { readdirSync } from 'node:fs';
import { build } from 'esbuild';
import type { Options } from 'tsup';
import { consolePages } from './console-page.ts';
import { buildSqliteWorker, packagedWorker } from './sqlite-worker.ts';

const entry = {
  index: 'src/index.ts',
  ports: 'src/ports.ts',
  express: 'adapters/express.ts',
  fastify: 'adapters/fastify.ts',
  fetch: 'adapters/fetch.ts',
  koa: 'adapters/koa.ts',
  node: 'adapters/node.ts',
  testing: 'src/testing/index.ts',
  notify: 'src/notify/index.ts',
  prometheus: 'src/prometheus/index.ts',
  admin: 'src/admin/index.ts',
  console: 'src/console/index.ts',
  redis: 'src/stores/redis/index.ts',
  postgres: 'src/stores/postgres/index.ts',
  sqlite: 'src/stores/sqlite/index.ts',
  command: 'src/command/main.ts',
  opentelemetry: 'src/opentelemetry/index.ts',
};

/**
 * The same chunks for what cannot require a module: Jest, ts-jest, Node 22.0 to 22.11. tsup's own
 * CommonJS build either copies the core into each subpath or compiles the syntax down.
 */
async function buildCommonJs(): Promise<void> {
  // The program has a top-level await, and nothing requires it.
  const modules = readdirSync('dist').filter(
    (name) => name.endsWith('.js') && name !== 'command.js',
  );
  await build({
    entryPoints: modules.map((name) => `dist/${name}`),
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // Jest runs `import()` only with a flag of Node.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'moduleUrl' },
    banner: { js: "const moduleUrl = require('node:url').pathToFileURL(__filename).href;" },
    bundle: true,
    packages: 'external',
    plugins: [
      {
        name: 'chunks',
        setup: ({ onResolve }) => {
          onResolve({ filter: /^\.\/.+\.js$/ }, ({ path, kind }) =>
            kind === 'entry-point'
              ? undefined
              : { path: path.replace(/\.js$/, '.cjs'), external: true },
          );
        },
      },
    ],
  });
}

const builds: readonly Options[] = [
  {
    name: 'package',
    entry,
    outDir: 'dist',
    format: ['esm'],
    target: 'node20',
    clean: true,
    define: { ...consolePages(), ...packagedWorker },
    // Without shared chunks every subpath would carry its own copy of the core.
    splitting: true,
    // The demo uses it if the user has it; tsup would bundle what is no dependency.
    external: ['libsql'],
    onSuccess: async () => {
      await buildCommonJs();
      buildSqliteWorker('dist');
    },
  },
  {
    name: 'examples',
    entry: ['examples/**/*.ts', '!examples/**/*.test.ts', '!examples/nest/**', '!examples/next/**'],
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
