/**
 * The checks of the packed package. They are not part of `npm test`, because they need the build
 * and the registry.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { reporters } from '../support/runner/reporters.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/package/**/*.check.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    // Each file has a consumer of its own. The default on two cores is one worker.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 600_000,
    reporters: reporters('package'),
  },
});

export default config;
