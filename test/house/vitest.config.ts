/**
 * The rules that source, docs and README keep: the second half of `npm run lint`. Apart from
 * `npm test`, for they hold of the text and not of what the library does.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { reporters } from '../support/reporters.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/house/**/*.check.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    maxWorkers: 2,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: reporters('house'),
  },
});

export default config;
