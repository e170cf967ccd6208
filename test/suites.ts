/**
 * Which test files `npm test` and the other runs have: vitest.config.ts reads these lists, and
 * `TEST_FORM` chooses among them (test/README.md).
 */

/** How much is run; undefined in `npm test`. */
export const form: string | undefined = process.env.TEST_FORM;

/**
 * The longest searches by generators, about pure functions or the order of events, and the densest
 * matrices, of which `npm test` has a sample. `npm test` and the runs on other Node versions leave
 * them out; `npm run test:generators`, a part of `npm run verify`, runs them.
 */
export const generators: readonly string[] = [
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
export const longest: readonly string[] = [
  'test/admin/odd-requests.test.ts',
  'test/command/serve-{disk,faults,ports,reload}.test.ts',
  'test/adapters/{fuzz,unread-replies,unserved}.test.ts',
  'test/faults/{callers,processes}.test.ts',
  'test/opentelemetry/express.test.ts',
  'test/stages/host-client-faults.test.ts',
  'test/stores/sqlite/processes.test.ts',
  'test/translate/embeddings/large.test.ts',
];
/**
 * Searches of which `npm test` and the other versions run a sample (`test/support/sample.ts`), and
 * `npm run test:generators` the whole. Tests of all mounts run whole on the other versions, too.
 */
export const sampled: readonly string[] = [
  'test/adapters/{contract,cuts,leaving,matrix,odd-names,sessions,stalls}.test.ts',
  'test/bytes/json-scan.test.ts',
  'test/console/without-session.test.ts',
  'test/dialects/anthropic/stream-tap.test.ts',
  'test/events/bugs.test.ts',
  'test/examples/quickstart.test.ts',
  'test/faults/upstreams.test.ts',
  'test/relay/embeddings.test.ts',
  'test/relay/messages.test.ts',
  'test/relay/recorded.test.ts',
  'test/relay/responses.test.ts',
  'test/stages/claim-leases.test.ts',
  'test/stages/counted-charges.test.ts',
  'test/stages/fall-back-order.test.ts',
  'test/stages/idempotency-random-events.test.ts',
  'test/stages/inconsistent-usage.test.ts',
  'test/stages/rate-settlements.test.ts',
  'test/stages/rate-waits.test.ts',
  'test/stages/refused-accounts.test.ts',
  'test/stores/sqlite/contracts.test.ts',
  'test/translate/embeddings/leaving.test.ts',
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
/** What runs a server, a process or a database, and other slow tests: not in `test:quick`. */
const slow: readonly string[] = [
  'test/{acceptance,adapters,admin,command,console,examples,faults,opentelemetry}/**',
  'test/{prometheus,proof,relay,stores,testing}/**',
  'test/exact-numbers.test.ts',
  'test/bytes/{json-scan,raw-values,scan-body,scan-in-steps,splice,watch}.test.ts',
  'test/contract/{idempotency-stores,quota-mutants,third-party-store,upstream-clients}.test.ts',
  'test/dialects/{anthropic,openai-responses}/stream-tap.test.ts',
  'test/events/{attempt-status,bugs,histories}.test.ts',
  'test/holds/named-media.test.ts',
  'test/stages/{blocked-event-loop,check-members,close,exit,fair-shares,generated-content}.test.ts',
  'test/stages/{guard,idempotency,idempotency-disconnects,idempotency-stores}.test.ts',
  'test/stages/{incomplete-items,kept-items-memory,messages-charges,messages-members}.test.ts',
  'test/stages/{missing-usage,own-provider-keys,provider-refusals,quota-levels}.test.ts',
  'test/stages/{rate-settlements,repeated-usage,responses-requests,responses-tools}.test.ts',
  'test/stages/{sessions,stalled-callers,sticky-channels,unread-replies}.test.ts',
  'test/stages/upstream-failures.test.ts',
  'test/translate/{accepted-media,anthropic-corpus,anthropic-laws,big-events}.test.ts',
  'test/translate/{broken-upstreams,complexity,gemini-client-replies}.test.ts',
  'test/translate/{gemini-server-pairing,media,nothing-to-send,openai-client-laws}.test.ts',
  'test/translate/{schema,schema-strictness}.test.ts',
  'test/translate/embeddings/{repair,split,unusable}.test.ts',
  'test/translate/{end-to-end/replies,loss/recorded-requests}.test.ts',
  'test/translate/messages/{gateway,laws,malformed-arguments,silent-thinking}.test.ts',
  'test/translate/responses/{custom-loops,item-order,laws,odd-requests}.test.ts',
  'test/upstream/{choose,faults,health-model,named-accounts,body/decode}.test.ts',
];
/** Small files with long tests, which begin first: at the end, the other workers would wait. */
export const first: readonly string[] = [
  'test/faults/upstreams.test.ts',
  'test/stores/sqlite/contracts.test.ts',
  'test/examples/quickstart.test.ts',
  'test/command/serve.test.ts',
  'test/faults/callers-hosts.test.ts',
];
/** What each form leaves out. `npm test` has none, and leaves out the longest suites as well. */
const leftOutOf: Readonly<Record<string, readonly string[]>> = {
  full: [],
  generators: [],
  thin: [...generators, ...thick],
  between: [...generators, ...thick, ...pure],
  quick: [...generators, ...longest, ...slow],
};
/** What this run leaves out. */
export const leftOut: readonly string[] = leftOutOf[form ?? ''] ?? [...generators, ...longest];
/** Processes and long histories over real servers, which only `npm run test:services` runs. */
export const services: readonly string[] =
  process.env.TEST_SUITE === 'services'
    ? []
    : [
        'test/stores/rolling/**',
        'test/stores/postgres/{quota-contract,quota-storm}.test.ts',
        'test/stores/redis/responses-processes.test.ts',
        'test/proof/{redis,postgres}.test.ts',
        'test/prometheus/{alerts,dashboard}.test.ts',
      ];
/** Files that measure a process: they run last, one at a time, without others on the machine. */
export const alone: readonly string[] = ['test/acceptance/big-images.test.ts'];
