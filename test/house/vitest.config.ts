/**
 * The rules for source, docs and README: the second half of `npm run lint`. They are not part of
 * `npm test`, because they check the text and not what the library does.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { reporters } from '../support/runner/reporters.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/house/**/*.check.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    maxWorkers: 2,
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 60_000,
    reporters: reporters('house'),
  },
});

export default config;
