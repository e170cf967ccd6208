// suite: quick
/** Illegal options: each is refused at start-up, by its name and with a hint. */
import { expect, it } from 'vitest';
import type { GatewayOptions } from '../../src/gateway-options.ts';
import { settingsOf } from '../../src/options.ts';
import { plainDefaults } from '../../src/plain-options.ts';
import { defaultResponseOptions } from '../../src/ports/replies/response-options-schema.ts';
import { untyped } from './ports/failing.ts';

const find = (): undefined => undefined;
const quota = {
  ...Object.fromEntries(
    ['reserve', 'extend', 'settle', 'release', 'sweep', 'read', 'adjust', 'check', 'close'].map(
      (name) => [name, find],
    ),
  ),
};
const ports = { keys: { find }, quota, catalog: { find, list: find } };

/** Options that their type does not allow. */
function written(options: unknown): GatewayOptions {
  return untyped(options)();
}

const unfit = [undefined, null, 'x', 5, {}];
const noCount = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, 5n, []];
type Row = readonly [option: string, values: readonly unknown[], says: RegExp];
const plain = Object.entries(plainDefaults).flatMap(([name, value]): readonly Row[] => {
  if (typeof value === 'number') return [[name, noCount, /must be an? .*integer.*\. Leave it out/]];
  if (typeof value !== 'boolean') return [];
  return [[name, ['yes', 1, null], /must be true or false\. Leave it out/]];
});
const rows: readonly Row[] = [
  ...plain,
  [
    'keys',
    unfit,
    /must be an object with find\(\).*\. memoryKeyStore\(\{ keys: .* \}\) creates one\.$/,
  ],
  ['sessions', [null, 'x', 5, []], /must be an object with find\(\).*\. Leave sessions out/],
  ['sessions.find', [{}, { find: 5 }], /must be a function\. Leave sessions out if all callers/],
  ['sessions.origins', [{ find, origins: 'https://a.example' }], /must be a list of origins\./],
  [
    'sessions.origins[0]',
    [
      'app.example',
      'https://app.example/',
      'HTTPS://app.example',
      'https://a.example:443',
      'null',
      5,
    ].map((origin) => ({ find, origins: [origin] })),
    /must be an origin as browsers send it, such as https:\/\/app\.example\. Leave sessions out/,
  ],
  [
    'quota',
    [...unfit, { reserve: find }],
    /with reserve\(\), .*check\(\).*\. memoryQuotaStore\(\) creates one\.$/,
  ],
  [
    'catalog',
    [...unfit, { find }],
    /with find\(\), list\(\).*\. staticCatalog\(\[…\]\) creates one\.$/,
  ],
  ['rateLimiter', [null, {}, { take: find }, find], /with take\(\), adjust\(\).*\. Leave it out/],
  ['defaultRates', [null, 5, {}], /must be a list of limits: .*\. Leave it out/],
  ['defaultRates[0]', [[null], [{}], [{ subject: 'all' }]], /must (?:be limits: |limit calls)/],
  ['defaultRates[0].calls', [{}, 5].map((calls) => [{ calls }]), /must (?:be an object|state)/],
  [
    'defaultRates[0].tokens.perDay',
    [...noCount, 10_000_000_001].map((perDay) => [{ tokens: { perDay } }]),
    /must be (?:a positive integer|at most 10000000000)\. Leave defaultRates out/,
  ],
  ['defaultRates[0].subject', [[{ calls: { perDay: 1 }, subject: 'a b' }]], /must be 1 to 128/],
  ['guard', [null, 'x', 5], /must be an object with check\(\).*\. Leave guard out if every call/],
  ['guard.check', [{}, { check: 5 }], /must be a function\. Leave guard out/],
  ['guard.onFailure', [{ check: find, onFailure: 'skip' }], /must be 'refuse' or 'pass'\./],
  ['usage', [null, { record: find }], /with record\(\), close\(\).*\. Leave it out/],
  ['idempotency', [null, {}, { claim: find }], /with claim\(\), finish\(\), abandon\(\)/],
  ['results', [null, {}, { put: find }], /with put\(\), get\(\).*\. Leave it out/],
  ['responses', [null, 5, 'x'], /must be an object\. Leave it out/],
  [
    'responses.index',
    [null, {}, { find }].map((index) => ({ index })),
    /with remember\(\), find\(\), forget\(\)/,
  ],
  [
    'responses.items',
    [null, true, {}, { get: find }].map((items) => ({ items })),
    /must be false or an object with put\(\)/,
  ],
  [
    'responses.unknownReferences',
    ['pass', true].map((unknownReferences) => ({ unknownReferences })),
    /must be 'refuse' or 'relay'\./,
  ],
  [
    'responses.maxReferences',
    [...noCount, 1_025].map((maxReferences) => ({ maxReferences })),
    /must be a positive integer of at most 1024/,
  ],
  ['upstream', [null, { send: find }], /with send\(\), close\(\).*\. Leave it out/],
  [
    'clock',
    [null, Date, { now: find }],
    /with now\(\), monotonicMs\(\), every\(\).*\. Leave it out/,
  ],
  [
    'nativeKeyHeaders',
    [[], 'x-key', null, {}],
    /must be a non-empty list of header names in lower case/,
  ],
  [
    'nativeKeyHeaders[0]',
    [['X-Key'], ['x key'], [5], ['']],
    /must be a non-empty list of header names/,
  ],
  [
    'nativeKeyHeaders[1]',
    ['authorization', 'cookie', 'x-api-key'].map((name) => ['x-key', name]),
    /must not be authorization.*other meanings\. Leave nativeKeyHeaders out/,
  ],
  ['unserved', [true, 'serve', null], /must be 'refuse' or 'pass'\. Leave it out/],
  ['defaultImageModel', [5, '', null, 'a\n'], /must be the id of a model\. Leave it out/],
  ['timeouts', [null, 5, 'x'], /must be an object\. Leave it out/],
  [
    'leaseMs',
    [...noCount, 4_999, 900_001],
    /from 5,000 to 900,000 ms, because leases are renewed once a second at most\. Leave it out/,
  ],
  ['storeTimeoutMs', [2 ** 31], /must be at most 2147483647 ms\. Leave it out/],
  ['chargePolicy', [null, 'x', 5], /must be an object\. Spread the exported chargePolicy/],
  ['chargePolicy.not_run', [{}], /must be an object\. Spread the exported chargePolicy/],
  ['onEvent', [null, {}, 'x'], /must be a function, or an object with listener\(\)\. Leave it out/],
  ['ids', [null, 'x'], /must be a function\. Leave it out/],
  ['random', [null, 0.5], /must be a function\. Leave it out/],
];

it.each(rows)('%s', (option, values, pattern) => {
  const [name = ''] = option.split(/[.[]/);
  for (const value of values) {
    const refused = () => settingsOf(written({ ...ports, [name]: value }));

    expect(refused).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
    expect(refused).toThrow(`options.${option} `);
    expect(refused).toThrow(pattern);
  }
});

it.each(Object.keys(plainDefaults.timeouts))('timeouts.%s', (name) => {
  for (const value of noCount) {
    expect(() => settingsOf(written({ ...ports, timeouts: { [name]: value } }))).toThrow(
      new RegExp(
        `^options\\.timeouts\\.${name} must be a positive integer of ms\\. Leave timeouts out`,
      ),
    );
  }
});

it.each([
  [{ ...ports, maxSizeOfBodies: 5 }, 'maxSizeOfBodies', 'Take it out, or look for its name in'],
  [{ ...ports, timeouts: { connect: 5 } }, 'timeouts.connect', 'Did you mean connectMs?'],
  [{ onEvents: find }, 'onEvents', 'Did you mean onEvent? The names are in docs/options.md.'],
])('an unknown option: %#', (options, name, says) => {
  expect(() => settingsOf(written(options))).toThrow(`options.${name} does not exist. ${says}`);
});

it.each([
  ['nothing', undefined, 'catalog is missing, and must be an object with find(), list(). '],
  ['a list of models', [], 'catalog must be an object with find(), list(), not an array. '],
  ['null', null, 'catalog must be an object with find(), list(), not null. '],
  ['a text', 'models.json', 'catalog must be an object with find(), list(), not a string. '],
  [
    'another port',
    { reserve: find },
    'catalog must be an object with find(), list(); this one has none of them. ',
  ],
  [
    'half a port',
    { find },
    'catalog must be an object with find(), list(); this one has no list()',
  ],
])('says what it got in place of a port: %s', (_what, catalog, says) => {
  expect(() => settingsOf(written({ ...ports, catalog }))).toThrow(`options.${says}`);
});

it.each([
  [{ maxBodyBytes: 2 ** 28 + 1 }, 'maxBodyBytes: it is 268435456, and maxBodyBytes is 268435457.'],
  [{ maxBufferedBytes: 2 ** 24 }, 'maxBodyBytes: it is 16777216, and maxBodyBytes is 33554432.'],
  [
    { maxBodyBytes: 5, maxBufferedBytes: 10, maxImageBodyBytes: 11 },
    'maxImageBodyBytes: it is 10, and maxImageBodyBytes is 11.',
  ],
])('a body limit above the size of the buffer: %o', (limits, message) => {
  expect(() => settingsOf(written({ ...ports, ...limits }))).toThrow(
    `options.maxBufferedBytes must be at least ${message} Raise maxBufferedBytes or lower`,
  );
});

it('a body may be as large as the buffer', () => {
  const same = { maxBodyBytes: 10, maxBufferedBytes: 10, maxImageBodyBytes: 10 };

  expect(settingsOf(written({ ...ports, ...same }))).toMatchObject(same);
});

it.each([undefined, null, 5, 'x'])('options that are %o', (options) => {
  expect(() => settingsOf(written(options))).toThrow(/^options must be an object/);
});

it('undefined is the same as leaving an option out', () => {
  const names = rows.map(([name]) => name).filter((name) => /^\w+$/.test(name) && !(name in ports));
  const absent = Object.fromEntries(names.map((name) => [name, undefined]));

  const settings = settingsOf(written({ ...ports, ...absent, timeouts: { idleMs: undefined } }));

  expect(settings).toMatchObject({ ...plainDefaults, responses: defaultResponseOptions });
});
