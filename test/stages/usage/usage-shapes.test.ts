// suite: quick
/**
 * Every form in which a provider states its usage, by the documented examples of all, of whole
 * replies and streams, relayed and translated; the cost that a reply states; unknown numbers.
 */
import { describe, expect, it } from 'vitest';
import { vendorCapabilities } from '../../../src/dialects/vendors.ts';
import { noUsage } from '../../../src/money.ts';
import { costOf, ratedModel as model } from './usage-charges.ts';
import { usageExamples } from './usage-examples.ts';
import {
  callsWith,
  contentApis,
  rawNumber,
  type UpstreamApi,
  type UsageCall,
} from './usage-replies.ts';

const streamable: ReadonlySet<UpstreamApi> = new Set(contentApis);

/** The callers that reach an upstream of this API, each with whole replies and streams. */
function callsOf(api: UpstreamApi): readonly (readonly [caller: UpstreamApi, isStream: boolean])[] {
  if (!streamable.has(api)) return [[api, false]];
  const callers = api === 'responses' ? [api] : contentApis;
  return callers.flatMap((caller) => [[caller, false] as const, [caller, true] as const]);
}

describe.each(usageExamples)('$provider ($source)', (example) => {
  const { api, preset, usage, place, expected, costNanos } = example;
  const capabilities = {
    ...(preset === undefined ? {} : vendorCapabilities[preset]),
    responses: api === 'responses',
  };

  it.each(callsOf(api))('is read for a caller of %s, streamed: %s', async (caller, isStream) => {
    const call: UsageCall = {
      ...{ api, caller, usage, isStream, model, channel: { cost: 'reported', capabilities } },
      ...(place === undefined ? {} : { place }),
    };

    const { record, anomalies, unknown } = await callsWith(call);

    expect(record.usage).toMatchObject(expected);
    expect(record.usage).not.toHaveProperty('remarks');
    expect(record.chargeNanos).toBe(costOf(record.usage ?? noUsage));
    expect(record.costNanos).toBe(costNanos);
    const isAbove = { reason: 'above_hold' };
    expect(anomalies).toEqual(anomalies.map(() => expect.objectContaining(isAbove)));
    expect(unknown).toEqual([]);
  });
});

it('every preset has an example', () => {
  const presets = new Set<string | undefined>(usageExamples.map(({ preset }) => preset));

  expect(Object.keys(vendorCapabilities).filter((vendor) => !presets.has(vendor))).toEqual([]);
});

describe('a reported cost', () => {
  const costs = [
    ['0.000000001', 1n],
    ['0.0000000010000000000000000001', 2n],
    ['1.4e-07', 140n],
    ['0.123456789012345678901234567890', 123_456_790n],
    ['9007199.254740991', 9_007_199_254_740_991n],
    ['9007199.254740992', undefined],
    ['-0.5', undefined],
    ['0', 0n],
  ] as const;
  const calls = (['chat', 'responses', 'embeddings'] as const).flatMap((api) =>
    [false, true]
      .filter((isStream) => !isStream || api !== 'embeddings')
      .map((isStream) => ({ api, isStream })),
  );

  it.each(calls)('is read from its digits: $api, streamed: $isStream', async ({
    api,
    isStream,
  }) => {
    for (const [digits, costNanos] of costs) {
      const usage = {
        prompt_tokens: 7,
        completion_tokens: 0,
        total_tokens: 7,
        cost: rawNumber(digits),
      };
      const call = { api, caller: api, usage, isStream, model } as const;

      const { record } = await callsWith({ ...call, channel: { cost: 'reported' } });
      const other = await callsWith({ ...call, channel: { cost: { per: 'free' } } });

      expect([digits, record.costNanos]).toEqual([digits, costNanos]);
      expect(other.record.costNanos).toBe(0n);
    }
  });

  it('of a translated reply is read from its digits too', async () => {
    const usage = {
      prompt_tokens: 7,
      completion_tokens: 1,
      cost: rawNumber(`0.1${'0'.repeat(20)}1`),
    };
    const call = { api: 'chat', caller: 'messages', usage, isStream: true, model } as const;

    const { record } = await callsWith({ ...call, channel: { cost: 'reported' } });

    expect(record.costNanos).toBe(100_000_001n);
  });
});

describe('a number that no row knows', () => {
  const plain = { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 };
  const call = { api: 'chat', caller: 'chat', model } as const;

  it.each([false, true])('is an event once for the channel, streamed: %s', async (isStream) => {
    const usage = {
      ...plain,
      thought_tokens: 3,
      prompt_tokens_details: { new_tokens: 2.5, cached_tokens: 1 },
      nested: { deep: { tokens: 1 } },
      text: 'a text',
      zero_tokens: 0,
      [`long_${'x'.repeat(70)}`]: 5,
      'a name that could be a text': 5,
    };
    const { unknown, anomalies } = await callsWith({ ...call, usage, isStream }, 3);

    const members = ['thought_tokens', 'prompt_tokens_details.new_tokens', 'nested.deep.tokens'];
    expect(unknown).toEqual([{ type: 'unknown_usage', channelId: 'openai', members }]);
    expect(anomalies).toEqual([]);
  });

  it('names at most eight', async () => {
    const numbers = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`n${at}`, 1]));
    const { unknown } = await callsWith({
      ...call,
      usage: { ...plain, ...numbers },
      isStream: false,
    });

    expect(unknown).toMatchObject([{ members: Array.from({ length: 8 }, (_, at) => `n${at}`) }]);
  });
});
