/**
 * `npm run test:console`: the console in a real Chromium. Not part of `npm test`, which needs no
 * browser. Fails without a browser, so that it can't pass without running.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { consolePages } from '../../console-page.ts';
import { builtWorker } from '../../sqlite-worker.ts';
import { reporters } from '../support/runner/reporters.ts';

const config: ViteUserConfig = defineConfig({
  define: { ...consolePages(), ...builtWorker() },
  test: {
    include: ['test/console/**/*.check.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    // Each file has a browser of its own.
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What a page shows follows a click by a request or two: asked for until it is so.
    expect: { poll: { timeout: 20_000 } },
    reporters: reporters('console'),
  },
});

export default config;
