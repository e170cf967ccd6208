/**
 * The kill test, `npm run test:kill`. It is not part of `npm test` because it uses the whole
 * machine. `KILL_SECONDS` is how long each store is under load; `KILL_SEED` seeds the random
 * choices.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { reporters } from '../support/runner/reporters.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/kill/**/*.check.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    testTimeout: 3_600_000,
    hookTimeout: 60_000,
    reporters: reporters('kill'),
  },
});

export default config;
