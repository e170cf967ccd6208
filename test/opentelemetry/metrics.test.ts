// suite: slow
/** Metrics of calls: names and bounds of the conventions, and a bounded number of series. */
import { expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { openTelemetry } from '../../src/opentelemetry/index.ts';
import { boundedValues } from '../../src/opentelemetry/open-telemetry.ts';
import { type GatewaySetup, gatewayInProcess } from '../support/gateway-in-process.ts';
import { chat, completeReply, events, headersOf, model } from '../support/models.ts';
import { inMemorySdk } from './exported.ts';

const base = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'chat',
  'gen_ai.provider.name': 'openai',
};

function watched(setup: GatewaySetup = {}) {
  const sdk = inMemorySdk();
  const gateway = gatewayInProcess(setup);
  openTelemetry(gateway.gateway, sdk);
  return { ...gateway, points: sdk.points };
}

it('a stream counts its seconds, its tokens by modality, and its charge', async () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    prompt_tokens_details: { cached_tokens: 4, audio_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 2 },
  };
  const models = [
    model({
      price: {
        per: 'token',
        rates: { input: 1_000_000n, output: 2_000_000n, audioInput: 1_000_000n },
      },
    }),
  ];
  const { start, upstream, clock, ended, points } = watched({ models });
  const { reply, firstBytes } = start(chat({ stream: true }));
  const sent = await upstream.next();
  sent.respond(200, headersOf('chatStream'));
  clock.advance(250);
  sent.write(events({ choices: [{ index: 0, delta: { content: 'Hi' } }] }));
  await firstBytes;
  clock.advance(1_750);
  sent.write(events({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  sent.write(events({ choices: [], usage }, '[DONE]'));
  sent.end();
  await reply;
  await ended(1);

  const found = await points();
  const boundaries = Array.from({ length: 14 }, (_, index) => 0.01 * 2 ** index);
  expect(found['gen_ai.client.operation.duration']).toEqual([
    {
      attributes: base,
      value: expect.objectContaining({
        sum: 2,
        count: 1,
        buckets: expect.objectContaining({ boundaries }),
      }),
    },
  ]);
  expect(found['gen_ai.client.operation.time_to_first_chunk']).toEqual([
    { attributes: base, value: expect.objectContaining({ sum: 0.25, count: 1 }) },
  ]);
  const tokens = (name: string): readonly unknown[] =>
    (found[`gen_ai.client.inference.usage.${name}`] ?? []).map(({ attributes, value }) => [
      attributes['gen_ai.token.modality'],
      value,
    ]);
  expect(tokens('input_tokens')).toEqual([
    ['audio', 3],
    ['unknown', 7],
  ]);
  expect(tokens('output_tokens')).toEqual([['unknown', 5]]);
  expect(tokens('cache_read.input_tokens')).toEqual([['unknown', 4]]);
  expect(tokens('cache_write.input_tokens')).toEqual([['unknown', 0]]);
  expect(tokens('reasoning.output_tokens')).toEqual([['unknown', 2]]);
  expect(found['tollgate.charge']).toEqual([{ attributes: base, value: 20 }]);
});

it('a call that fails has error.type, no first chunk, and counts no tokens', async () => {
  const { call, upstream, ended, points } = watched();
  const reply = call(chat());
  (await upstream.next()).answer(401, { error: { message: 'wrong key' } });
  await reply;
  await ended(1);

  const found = await points();
  expect(found['gen_ai.client.operation.duration']?.[0]?.attributes).toEqual({
    ...base,
    'error.type': 'upstream_auth_error',
  });
  expect(found['gen_ai.client.operation.time_to_first_chunk']).toBeUndefined();
  expect(found['gen_ai.client.inference.usage.input_tokens']).toEqual([
    { attributes: { ...base, 'gen_ai.token.modality': 'unknown' }, value: 0 },
  ]);
  expect(found['tollgate.charge']).toBeUndefined();
});

it('refusals are counted by code and reason, without what the caller sent', async () => {
  const { call, points } = watched();
  await call({ ...chat(), withoutKey: true });
  await call(chat({ model: 'no-such-model' }));
  await call(chat({ model: 'no-such-model-either' }));

  const refusals = (await points())['tollgate.refusals'] ?? [];
  expect(
    refusals.map(({ attributes, value }) => [attributes['tollgate.refusal.code'], value]),
  ).toEqual([
    ['invalid_key', 1],
    ['model_not_found', 2],
  ]);
  expect(JSON.stringify(refusals)).not.toContain('no-such');
});

it('a catalog that invents models gives 200 series, and one for all others', async () => {
  const any = { ...staticCatalog([]), find: (id: string) => model({ id }) };
  const { call, ended, points } = watched({
    options: { catalog: any },
    handlers: Array.from({ length: 250 }, () => completeReply('chat')),
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000_000n }] },
  });
  for (let count = 0; count < 250; count += 1) await call(chat({ model: `model-${count}` }));
  await ended(250);

  const series = (await points())['gen_ai.client.operation.duration'] ?? [];
  const names = new Set(series.map(({ attributes }) => attributes['gen_ai.request.model']));
  expect([names.size, names.has('_OTHER')]).toEqual([201, true]);
});

it('a value that is known stays itself after the bound is reached', () => {
  const bounded = boundedValues(2);

  expect(['a', 'b', 'c', 'a', 'd', 'b'].map(bounded)).toEqual([
    'a',
    'b',
    '_OTHER',
    'a',
    '_OTHER',
    'b',
  ]);
});
