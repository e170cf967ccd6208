/**
 * The real clients of the gateway's APIs. They are not part of `npm test`, because their packages
 * have to be installed.
 */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { reporters } from '../support/runner/reporters.ts';

/** Codex is tested by a command of its own, because its package is 400 MB when installed. */
const isCodex = process.env.CODEX_PACKAGE !== undefined;
const here = import.meta.dirname;
const root = `${here}/../../`;

const config: ViteUserConfig = defineConfig({
  root,
  resolve: {
    alias: [
      { find: /^tollgate$/, replacement: `${root}src/index.ts` },
      { find: /^tollgate\/ports$/, replacement: `${root}src/ports.ts` },
      {
        find: /^tollgate\/(express|fastify|fetch|koa|node)$/,
        replacement: `${root}adapters/$1.ts`,
      },
      { find: /^tollgate\/testing$/, replacement: `${root}src/testing/index.ts` },
      // Examples and docs import the packages by their names; the examples are outside this folder.
      { find: /^ai$/, replacement: `${here}/node_modules/ai7` },
      { find: /^@ai-sdk\/openai$/, replacement: `${here}/node_modules/ai-sdk-openai4` },
      { find: /^@ai-sdk\/anthropic$/, replacement: `${here}/node_modules/ai-sdk-anthropic4` },
      { find: /^@anthropic-ai\/sdk$/, replacement: `${here}/node_modules/@anthropic-ai/sdk` },
      { find: /^@openai\/agents$/, replacement: `${here}/node_modules/@openai/agents` },
    ],
  },
  test: {
    include: [isCodex ? 'test/clients/codex/*.check.ts' : 'test/clients/*.check.ts'],
    setupFiles: ['test/support/runner/fail-on-unhandled.ts', 'test/clients/quiet-ai-sdk.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: reporters('clients'),
  },
});

export default config;
