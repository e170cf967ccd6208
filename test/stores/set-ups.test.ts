// suite: slow
/** Stores and clients with wrong options name the option and the remedy at start-up. */
import { expect, it } from 'vitest';
import { jsonlUsageSink } from '../../src/stores/jsonl/usage-sink.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { memoryRateLimiter } from '../../src/stores/memory/rate-limiter.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { untyped } from '../stages/ports/failing.ts';

const notCounts = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null];
const count = 'must be a positive integer. Leave it out for the default.';
const limit = { subject: 'a', limitNanos: 1n };

const makers = {
  jsonlUsageSink: { make: jsonlUsageSink, valid: { path: 'usage.jsonl' } },
  memoryQuotaStore: { make: memoryQuotaStore, valid: {} },
  memoryRateLimiter: { make: memoryRateLimiter, valid: {} },
  memoryUsageSink: { make: memoryUsageSink, valid: {} },
  undiciClient: { make: undiciClient, valid: {} },
};
type Maker = keyof typeof makers;

const rows: readonly (readonly [
  Maker,
  path: string,
  values: readonly unknown[],
  expected: string,
])[] = [
  [
    'jsonlUsageSink',
    'path',
    [undefined, null, '', 5, 'a\0b'],
    'must be the path of a file. Give it the file to append to.',
  ],
  ['jsonlUsageSink', 'flushMs', notCounts, 'must be a positive integer of ms. Leave it out'],
  ['jsonlUsageSink', 'flushMs', [2 ** 31], 'must be at most 2147483647 ms. Leave it out'],
  ['jsonlUsageSink', 'maxBufferedRecords', notCounts, count],
  ['jsonlUsageSink', 'onError', [null, 'log'], 'must be a function. Leave it out'],
  ['jsonlUsageSink', 'clock', [null, Date], 'with now(), monotonicMs(), every()'],
  ['jsonlUsageSink', 'file', ['x'], "look for its name in the type of jsonlUsageSink's options."],
  ['memoryQuotaStore', 'maxEnded', notCounts, count],
  ['memoryQuotaStore', 'endedTtlMs', notCounts, count],
  ['memoryQuotaStore', 'clock', [null, {}], 'with now(), monotonicMs(), every()'],
  ['memoryQuotaStore', 'limits', [null, limit], 'must be a list of limits. Leave it out'],
  ['memoryQuotaStore', 'limits[0]', [[null], [5]], 'must be a limit: a subject and limitNanos.'],
  [
    'memoryQuotaStore',
    'limits[0].subject',
    [undefined, '', 'a b', 5].map((subject) => [{ ...limit, subject }]),
    'must be 1 to 128 printable ASCII characters without spaces.',
  ],
  [
    'memoryQuotaStore',
    'limits[0].period',
    [null, 'month', 5].map((period) => [{ ...limit, period }]),
    "must be '', 'YYYY-MM', 'YYYY-MM-DD', 'YYYY-Www' or 'YYYY-MM.DD'.",
  ],
  [
    'memoryQuotaStore',
    'limits[1].limitNanos',
    [undefined, 5, -1n].map((limitNanos) => [limit, { ...limit, limitNanos }]),
    "must be a bigint of nanos, such as money('0.15'), from 0n to 2^53 − 1",
  ],
  [
    'memoryQuotaStore',
    'limits[0].limit',
    [[{ ...limit, limit: 5n }]],
    'does not exist. Did you mean limitNanos?',
  ],
  ['memoryRateLimiter', 'maxBuckets', notCounts, count],
  ['memoryRateLimiter', 'clock', [null, {}], 'with now(), monotonicMs(), every()'],
  ['memoryRateLimiter', 'points', [5], 'does not exist. Take it out, or look for its name in'],
  ['memoryUsageSink', 'limit', notCounts, count],
  ['memoryUsageSink', 'max', [5], 'does not exist. Take it out, or look for its name in'],
  ['undiciClient', 'connections', notCounts, count],
  ['undiciClient', 'pipelining', [5], 'does not exist. Take it out, or look for its name in'],
];

it.each(rows)('%s refuses a wrong %s', (maker, path, values, expected) => {
  const { make, valid } = makers[maker];
  for (const value of values) {
    const refused = () => make(untyped({ ...valid, [path.replace(/\[.*$/, '')]: value })());

    expect(refused).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
    expect(refused).toThrow(`${maker}: options.${path} `);
    expect(refused).toThrow(expected);
  }
});

it.each(Object.entries(makers))('%s refuses options that are not an object', (maker, { make }) => {
  for (const options of [null, 5, 'x']) {
    expect(() => make(untyped(options)())).toThrow(`${maker}: options must be an object.`);
  }
});

it('required options are reported as missing', () => {
  expect(() => Reflect.apply(jsonlUsageSink, undefined, [])).toThrow('options must be an object.');
});
