/** The tests: every `*.test.ts` of `test/`, against the source. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { consolePages } from './console-page.ts';
import { reporters } from './test/support/reporters.ts';

const here = import.meta.dirname;
/**
 * The longest searches by generators, about pure functions or the order of events, and the densest
 * matrices, of which `npm test` has a sample. `npm test` and the runs on other Node versions leave
 * them out; `npm run test:generators`, a part of `npm run verify`, runs them.
 */
const generators: readonly string[] = [
  'test/bytes/small-chunks.test.ts',
  'test/dialects/{redact,redact-parts}.test.ts',
  'test/examples/readme.test.ts',
  'test/events/long-histories.test.ts',
  'test/faults/{callers-crowds,cut-replies,ports-fuzz}.test.ts',
  'test/holds/{embedding-holds,hold-bounds,misplaced-blocks}.test.ts',
  'test/proof/{linearisable,memory,sqlite}.test.ts',
  'test/relay/{embedding-failures,foreign-text,truncated}.test.ts',
  'test/stages/{changed-records,outages,random-outages,refusal-histories,reply-start}.test.ts',
  'test/upstream/body-in-turns.test.ts',
  'test/translate/{every-cut-call,hostile-replies,hostile-requests,reply-limits}.test.ts',
  'test/translate/{numbers,openai-client-calls}.test.ts',
  'test/translate/messages/{secrets,thinking-loops}.test.ts',
  'test/translate/responses/reasoning-loops.test.ts',
  'test/translate/loss/{replies,requests,schema-keywords}.test.ts',
  'test/translate/laws/*.test.ts',
];
/**
 * The longest suites about hosts, callers and processes, which may differ between Node versions:
 * they run with the generators, and on every other version.
 */
const longest: readonly string[] = [
  'test/admin/odd-requests.test.ts',
  'test/command/serve-{disk,faults,ports,reload}.test.ts',
  'test/adapters/{fuzz,unread-replies,unserved}.test.ts',
  'test/faults/{callers,processes}.test.ts',
  'test/examples/quickstart-again.test.ts',
  'test/opentelemetry/express.test.ts',
  'test/stages/host-client-faults.test.ts',
  'test/stores/sqlite/processes.test.ts',
  'test/translate/embeddings/large.test.ts',
];
/**
 * Searches of which `npm test` and the other versions run a sample (`test/support/sample.ts`), and
 * `npm run test:generators` the whole. Tests of all mounts run whole on the other versions, too.
 */
const sampled: readonly string[] = [
  'test/adapters/{contract,cuts,leaving,matrix,odd-names,sessions,stalls}.test.ts',
  'test/bytes/json-scan.test.ts',
  'test/console/without-session.test.ts',
  'test/dialects/anthropic/stream-tap.test.ts',
  'test/events/bugs.test.ts',
  'test/faults/upstreams.test.ts',
  'test/relay/embeddings.test.ts',
  'test/relay/messages.test.ts',
  'test/relay/recorded.test.ts',
  'test/relay/responses.test.ts',
  'test/stages/idempotency-random-events.test.ts',
  'test/stages/inconsistent-usage.test.ts',
  'test/stages/rate-settlements.test.ts',
  'test/stages/rate-waits.test.ts',
  'test/stores/sqlite/contracts.test.ts',
  'test/translate/gemini-results.test.ts',
  'test/translate/malformed-arguments.test.ts',
  'test/translate/messages/laws.test.ts',
  'test/translate/messages/malformed-arguments.test.ts',
  'test/translate/responses/laws.test.ts',
  'test/translate/responses/odd-requests.test.ts',
  'test/translate/schema.test.ts',
  'test/translate/schema-back.test.ts',
];
/**
 * Left out on other Node versions (`TEST_FORM=thin`), because the version makes no difference:
 * databases, types, long searches over pure functions of bytes, and measurements.
 */
const thick: readonly string[] = [
  'test/{stores,proof}/{redis,postgres}*',
  'test/stores/{redis,postgres}/**',
  'test/proof/**',
  'test/prometheus/promtool.test.ts',
];
/**
 * Also left out on versions between the oldest and the newest (`TEST_FORM=between`): functions of
 * text and numbers alone, which run the same on all if they do on these two.
 */
const pure: readonly string[] = [
  'test/translate/**',
  'test/{bytes,dialects,holds,prices,protocols}/**',
];
/** The slowest suites, left out of `npm run test:quick`. */
const slow: readonly string[] = [
  'test/faults/{upstreams,callers-hosts}.test.ts',
  'test/adapters/{matrix,early-refusals}.test.ts',
  'test/translate/loss/**',
  'test/{proof,examples}/**',
  'test/stores/sqlite/contracts.test.ts',
  'test/contract/idempotency-stores.test.ts',
  'test/translate/schema.test.ts',
];
/** Small files with long tests, which begin first: at the end, the other workers would wait. */
const first: readonly string[] = [
  'test/faults/upstreams.test.ts',
  'test/stores/sqlite/contracts.test.ts',
  'test/examples/quickstart.test.ts',
  'test/command/serve.test.ts',
  'test/faults/callers-hosts.test.ts',
];
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFirst = ({ moduleId }: TestSpecification): boolean =>
      first.some((path) => moduleId.endsWith(path));
    const sorted = await super.sort(files);
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}
const form = process.env.TEST_FORM;
/** What each form leaves out; without a form, as in `npm test`, also the longest suites. */
const leftOutOf: Readonly<Record<string, readonly string[]>> = {
  full: [],
  generators: [],
  thin: [...generators, ...thick],
  between: [...generators, ...thick, ...pure],
  quick: [...generators, ...longest, ...slow],
};
const leftOut = leftOutOf[form ?? ''] ?? [...generators, ...longest];
/** Processes and long histories over real servers, which only `npm run test:services` runs. */
const services: readonly string[] =
  process.env.TEST_SUITE === 'services'
    ? []
    : [
        'test/stores/rolling/**',
        'test/stores/postgres/{quota-contract,quota-storm}.test.ts',
        'test/stores/redis/responses-processes.test.ts',
        'test/proof/{redis,postgres}.test.ts',
        'test/prometheus/dashboard.test.ts',
      ];
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
  define: consolePages(),
  resolve: {
    // As in the paths of tsconfig: tests and examples import the package, and get its source.
    alias: [
      { find: /^tollgate$/, replacement: `${here}/src/index.ts` },
      {
        find: /^tollgate\/(express|fastify|fetch|koa|node)$/,
        replacement: `${here}/adapters/$1.ts`,
      },
      { find: /^tollgate\/opentelemetry$/, replacement: `${here}/src/opentelemetry/index.ts` },
      { find: /^tollgate\/testing$/, replacement: `${here}/src/testing/index.ts` },
      { find: /^tollgate\/prometheus$/, replacement: `${here}/src/prometheus/index.ts` },
      { find: /^tollgate\/(admin|console)$/, replacement: `${here}/src/$1/index.ts` },
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
          include:
            form === 'generators' ? [...generators, ...longest, ...sampled] : ['test/**/*.test.ts'],
          // `test/clients` has packages of its own, and some packages ship their tests.
          exclude: ['**/node_modules/**', ...alone, ...services, ...leftOut],
          // No module has state, so files can share a process. Importing the source again for each
          // file took a quarter of the time.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      ...(form === undefined || form === 'full' ? [measured] : []),
    ],
    setupFiles: ['test/support/fail-on-unhandled.ts', 'test/support/seed-properties.ts'],
    sequence: { sequencer: LongFirst },
    // CI transforms the same files for each run and each Node version. Not elsewhere, because a
    // change of the console's page (`define`) would not reach a cached module.
    experimental: { fsModuleCache: process.env.CI === 'true' },
    passWithNoTests: false,
    allowOnly: false,
    pool: 'forks',
    // One more than CI has cores, because some tests wait for processes, sockets and timers.
    maxWorkers: 3,
    // Long enough for a busy machine: a test that hangs is the only one that it ends.
    testTimeout: form === 'full' ? 600_000 : 120_000,
    hookTimeout: 120_000,
    unstubEnvs: true,
    unstubGlobals: true,
    restoreMocks: true,
    reporters: reporters(process.env.TEST_SUITE ?? 'tests'),
  },
});

export default config;
