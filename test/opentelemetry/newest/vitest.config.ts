/**
 * The tests of `tollgate/opentelemetry` with the newest SDK, which `npm test` has in the last
 * version that runs on Node 20.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { reporters } from '../../support/runner/reporters.ts';

const here = import.meta.dirname;
const root = `${here}/../../../`;

const config: ViteUserConfig = defineConfig({
  root,
  resolve: {
    alias: [
      { find: /^@opentelemetry\/(.+)$/, replacement: `${here}/node_modules/@opentelemetry/$1` },
      { find: /^tollgate$/, replacement: `${root}src/index.ts` },
      { find: /^tollgate\/express$/, replacement: `${root}adapters/express.ts` },
      { find: /^tollgate\/opentelemetry$/, replacement: `${root}src/opentelemetry/index.ts` },
    ],
  },
  test: {
    include: ['test/opentelemetry/*.test.ts'],
    setupFiles: ['test/support/runner/fail-on-unhandled.ts'],
    // A script of a child process finds the packages of the folder that it is in.
    env: { CHILD_SCRIPT_FOLDER: here },
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: reporters('opentelemetry'),
  },
});

export default config;
