/**
 * `npm run blocking`: the longest sections in which one body blocks all other calls. Not part of
 * `npm test`, because the result depends on the machine, which should be idle.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/blocking/**/*.check.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    testTimeout: 1_200_000,
    reporters: ['default'],
  },
});

export default config;
