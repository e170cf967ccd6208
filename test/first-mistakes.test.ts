// suite: quick
/** What a host writes wrong first is answered by a sentence, and a guess if there is one. */
import { describe, expect, it } from 'vitest';
import {
  azure,
  createGateway,
  formatMoney,
  issueKey,
  memoryKeyStore,
  memoryQuotaStore,
  perKey,
  pricesFrom,
  reconcile,
  staticCatalog,
  tokenPrice,
  vertex,
} from '../src/index.ts';
import { openTelemetry } from '../src/opentelemetry/index.ts';
import { prometheusMetrics } from '../src/prometheus/index.ts';

const channel = {
  id: 'openai',
  dialect: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  credential: 'a-secret',
} as const;
const model = {
  id: 'm',
  groups: ['staff'],
  price: tokenPrice({ input: '0.15', output: '0.60' }),
  channels: [channel],
} as const;

/** Calls it as JavaScript can, whatever its parameters are. */
function call(called: (...args: never[]) => unknown, ...args: readonly unknown[]): unknown {
  return Reflect.apply(called, undefined, args);
}

describe('a misspelt value or name is answered with the likely one', () => {
  it.each([
    [
      'a dialect',
      () => call(staticCatalog, [{ ...model, channels: [{ ...channel, dialect: 'open-ai' }] }]),
      "Did you mean 'openai'?",
    ],
    [
      'an API',
      () => call(staticCatalog, [{ ...model, protocols: ['chats'] }]),
      "Did you mean 'chat'?",
    ],
    [
      'an option without its unit',
      () => call(issueKey, { group: 'staff', limit: 1n }),
      'Did you mean limitNanos?',
    ],
    [
      'a type of event',
      () =>
        call(createGateway, {
          keys: memoryKeyStore(),
          quota: memoryQuotaStore(),
          catalog: staticCatalog([model]),
          onEvent: { listener: () => {}, types: ['call_end'] },
        }),
      'Did you mean call_ended?',
    ],
  ])('%s', (_, run, guess) => {
    expect(run).toThrow(guess);
  });

  it('a value that is like no legal one gets no guess', () => {
    const channels = [{ ...channel, dialect: 'mistral' }];

    expect(() => call(staticCatalog, [{ ...model, channels }])).toThrow(
      /must be 'openai', 'gemini' or 'anthropic'\.$/,
    );
  });
});

describe('what would fail later, or with a TypeError, is refused with a sentence', () => {
  it.each([
    [
      'a shell variable as a credential',
      () =>
        call(staticCatalog, [
          { ...model, channels: [{ ...channel, credential: '$OPENAI_API_KEY' }] },
        ]),
      'is a placeholder in quotation marks',
    ],
    [
      'a platform without options',
      () => call(azure),
      "azure(): options must be an object such as { kind: 'v1'",
    ],
    [
      'another platform',
      () => call(vertex, {}),
      "vertex(): options must be an object such as { kind: 'google'",
    ],
    [
      'no function for each key',
      () => call(perKey, 'a-secret'),
      'perKey: credential must be a function',
    ],
    [
      'the default import of a list of prices',
      () => call(pricesFrom, { default: {} }),
      'with calcPrice()',
    ],
    [
      'a text as an amount',
      () => call(formatMoney, '1'),
      'formatMoney: the amount must be a bigint of nanos',
    ],
    [
      'options in place of a gateway',
      () => call(openTelemetry, { gateway: {} }),
      'openTelemetry: gateway must be an object with subscribe()',
    ],
    [
      'no gateway for metrics',
      () => call(prometheusMetrics, undefined, { register: { registerMetric: () => {} } }),
      'prometheusMetrics: gateway must be an object with subscribe()',
    ],
  ])('%s', (_, run, sentence) => {
    expect(run).toThrow(sentence);
    expect(run).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
  });

  it('stores that cannot be compared', async () => {
    const sources = { quota: memoryQuotaStore(), usage: { record: () => {}, close: () => {} } };

    await expect(call(reconcile, sources)).rejects.toThrow(
      'reconcile: sources.usage must be an object with usageCharges(); this one has no',
    );
    await expect(call(reconcile)).rejects.toThrow('reconcile: sources must be the two stores');
  });
});
