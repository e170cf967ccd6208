/** The tests: every `*.test.ts` of `test/`, against the source. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { consolePages } from './console-page.ts';
import { builtWorker } from './sqlite-worker.ts';
import { failedSeeds } from './test/failed-seeds.ts';
import { alone, first, form, together } from './test/suites.ts';
import { reporters } from './test/support/runner/reporters.ts';

const here = import.meta.dirname;
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFirst = ({ moduleId }: TestSpecification): boolean =>
      first.some((path) => moduleId.endsWith(path));
    const sorted = await super.sort(files);
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}
// A failure prints its seed, and `TEST_SEED` repeats it.
if (form === 'generators') process.env.TEST_SEED ??= String(Date.now() % 2 ** 31);
const measured = {
  extends: true as const,
  test: {
    name: 'alone',
    include: [...alone],
    fileParallelism: false,
    sequence: { groupOrder: 1 },
  },
};
const repeated = failedSeeds.map(({ path, seed }) => ({
  extends: true as const,
  test: {
    name: `seed ${seed}`,
    include: [path],
    env: { TEST_SEED: String(seed), TEST_FORM: 'generators' },
  },
}));

const config: ViteUserConfig = defineConfig({
  define: { ...consolePages(), ...builtWorker() },
  resolve: {
    // As in the paths of tsconfig: tests and examples import the package, and get its source.
    alias: [
      { find: /^tollgate$/, replacement: `${here}/src/index.ts` },
      { find: /^tollgate\/ports$/, replacement: `${here}/src/ports.ts` },
      {
        find: /^tollgate\/(express|fastify|fetch|koa|node)$/,
        replacement: `${here}/adapters/$1.ts`,
      },
      { find: /^tollgate\/opentelemetry$/, replacement: `${here}/src/opentelemetry/index.ts` },
      { find: /^tollgate\/testing$/, replacement: `${here}/src/testing/index.ts` },
      {
        find: /^tollgate\/(admin|console|notify|prometheus)$/,
        replacement: `${here}/src/$1/index.ts`,
      },
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
          include: [...together],
          // No module has state, so files can share a process. Importing the source again for each
          // file took a quarter of the time.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      ...(alone.length > 0 ? [measured] : []),
      ...(form === 'searches' ? repeated : []),
    ],
    setupFiles: [
      'test/support/runner/fail-on-unhandled.ts',
      'test/support/runner/fail-on-leftovers.ts',
      'test/support/runner/seed-properties.ts',
    ],
    sequence: { sequencer: LongFirst },
    // CI transforms the same files for each run and each Node version. Not elsewhere, because a
    // change of the console's page (`define`) would not reach a cached module.
    experimental: { fsModuleCache: process.env.CI === 'true' },
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    // Hundreds of tests provoke process warnings, whose events `fail-on-unhandled.ts` still checks.
    execArgv: ['--no-warnings'],
    // One more than CI has cores, because some tests wait for processes, sockets and timers.
    maxWorkers: 3,
    // Long enough for a busy machine: a test that hangs is the only one that it ends.
    testTimeout: form === 'full' ? 600_000 : 120_000,
    hookTimeout: 120_000,
    unstubEnvs: true,
    unstubGlobals: true,
    restoreMocks: true,
    reporters: reporters(form ?? 'tests'),
  },
});

export default config;
