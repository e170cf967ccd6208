/** The fuzz over raw sockets, `npm run test:fuzz`. A slice of it is in `npm test`. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { reporters } from '../support/runner/reporters.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/fuzz/**/*.check.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    testTimeout: 3_600_000,
    reporters: reporters('fuzz'),
  },
});

export default config;
