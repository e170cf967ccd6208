/** The tests: every `*.test.ts` of `test/`, against the source, with two workers. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { reporters } from './test/support/reporters.ts';

const here = import.meta.dirname;
/**
 * The longest searches by generators, which take a quarter of the time of all tests. They are left
 * out of `npm test` and run by `npm run test:generators`, a part of `npm run verify`.
 */
const generators: readonly string[] = [
  'test/bytes/small-chunks.test.ts',
  'test/faults/callers-crowds.test.ts',
  'test/stages/random-outages.test.ts',
  'test/translate/{every-cut-call,hostile-requests,reply-limits}.test.ts',
  'test/translate/laws/{chunks,truncated}.test.ts',
];
/**
 * Left out on other Node versions (`TEST_FORM=thin`), because the version makes no difference:
 * databases, types, long searches over pure functions of bytes, and measurements.
 */
const thick: readonly string[] = [
  'test/{stores,proof}/{redis,postgres}*',
  'test/stores/{redis,postgres}/**',
  'test/examples/readme.test.ts',
  'test/translate/laws/**',
  'test/relay/truncated.test.ts',
  'test/proof/**',
];
/** The slowest suites, left out of `npm run test:quick`. */
const slow: readonly string[] = [
  'test/faults/{upstreams,ports-fuzz,callers,callers-hosts,processes}.test.ts',
  'test/{adapters/matrix,adapters/fuzz,adapters/early-refusals}.test.ts',
  'test/{holds/hold-bounds,stages/reply-start,relay/truncated,relay/foreign-text}.test.ts',
  'test/translate/{laws,loss}/**',
  'test/{proof,examples}/**',
  'test/stores/sqlite/{contracts,processes}.test.ts',
  'test/contract/idempotency-stores.test.ts',
  'test/{dialects/redact,translate/schema,translate/numbers}.test.ts',
];
const form = process.env.TEST_FORM;
const leftOut =
  form === 'full' || form === 'generators'
    ? []
    : [...generators, ...(form === 'thin' ? thick : form === 'quick' ? slow : [])];
/** Files that measure a process: they run last, one at a time, without others on the machine. */
const alone: readonly string[] = ['test/acceptance/big-images.test.ts'];
const measured = {
  extends: true as const,
  test: {
    name: 'alone',
    include: [...alone],
    fileParallelism: false,
    sequence: { groupOrder: 1 },
  },
};

const config: ViteUserConfig = defineConfig({
  resolve: {
    // As in the paths of tsconfig: tests and examples import the package, and get its source.
    alias: [
      { find: /^tollgate$/, replacement: `${here}/src/index.ts` },
      {
        find: /^tollgate\/(express|fastify|fetch|koa|node)$/,
        replacement: `${here}/adapters/$1.ts`,
      },
      { find: /^tollgate\/testing$/, replacement: `${here}/src/testing/index.ts` },
      {
        find: /^tollgate\/(redis|postgres|sqlite)$/,
        replacement: `${here}/src/stores/$1/index.ts`,
      },
    ],
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: form === 'generators' ? [...generators] : ['test/**/*.test.ts'],
          exclude: [...alone, ...leftOut],
          // No module has state, so files can share a process. Importing the source again for each
          // file took a quarter of the time.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      ...(form === undefined || form === 'full' ? [measured] : []),
    ],
    setupFiles: ['test/support/fail-on-unhandled.ts'],
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: form === 'full' ? 600_000 : 60_000,
    hookTimeout: 60_000,
    unstubEnvs: true,
    unstubGlobals: true,
    restoreMocks: true,
    reporters: reporters(process.env.TEST_SUITE ?? 'tests'),
  },
});

export default config;
