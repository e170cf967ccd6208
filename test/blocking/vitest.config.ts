/**
 * The longest sections for which one body holds up all other calls, `npm run blocking`. No part of
 * `npm test`: what it says depends on the machine, which it wants for itself.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/blocking/**/*.check.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    testTimeout: 600_000,
    reporters: ['default'],
  },
});

export default config;
