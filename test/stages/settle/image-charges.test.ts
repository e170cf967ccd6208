// suite: quick
/** A model priced by the image: the images in a complete reply are charged, on every path. */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  channel,
  chat,
  events,
  headersOf,
  image,
  model,
  sampleRequests,
} from '../../support/models.ts';

const price = { per: 'image', rows: [{ nanos: 500n }] } as const;
const picture = 'iVBORw0KGgo'.padEnd(40, 'A');

/** An upstream's reply with text and this many images. */
function reply(dialect: DialectName, count: number): object {
  const inlineData = { mimeType: 'image/png', data: picture };
  if (dialect === 'gemini') {
    const parts = [{ text: 'ok' }, ...Array.from({ length: count }, () => ({ inlineData }))];
    return {
      candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 9 },
    };
  }
  return { choices: [{ index: 0, finish_reason: 'stop', message: textMessage(count) }] };
}

function textMessage(count: number): object {
  const url = `data:image/png;base64,${picture}`;
  const images = Array.from({ length: count }, () => ({ type: 'image_url', image_url: { url } }));
  return { role: 'assistant', content: 'ok', images };
}

function streamOf(dialect: DialectName, count: number): string {
  if (dialect === 'gemini') return events(reply(dialect, count));
  return events(
    { choices: [{ index: 0, finish_reason: 'stop', delta: textMessage(count) }] },
    '[DONE]',
  );
}

const streamed = chat({ stream: true });
const paths: readonly (readonly [string, 'chat' | 'native', CallerRequest])[] = [
  ['chat', 'chat', chat()],
  ['streamed chat', 'chat', streamed],
  ['native', 'native', sampleRequests.native],
  ['native stream', 'native', sampleRequests.nativeStream],
];
const dialects: readonly DialectName[] = ['openai', 'gemini'];
const cases = paths.flatMap(([name, protocol, request]) =>
  dialects.flatMap((dialect) =>
    [0, 1, 3].map((count) => ({ name, protocol, request, dialect, count })),
  ),
);

it.each(cases)('$name over $dialect with $count images costs them', async (one) => {
  const { name, protocol, request, dialect, count } = one;
  const isStream = name.includes('stream');
  const harness = gatewayInProcess({
    models: [
      model({ id: protocol, protocols: [protocol], channels: [channel({ dialect })], price }),
    ],
    handlers: [
      (up) =>
        isStream
          ? up.answer(200, streamOf(dialect, count), headersOf('chatStream'))
          : up.answer(200, reply(dialect, count)),
    ],
  });

  const { text } = await harness.call(request);

  expect(text.split(picture).length - 1).toBe(count);
  expect(await harness.nextRecord()).toMatchObject({
    outcome: 'complete',
    usage: { images: count },
    chargeNanos: BigInt(count) * 500n,
  });
  const isAbove = count > 1;
  expect(
    harness.events.filter(
      (event) => event.type === 'usage_anomaly' && event.reason === 'above_hold',
    ),
  ).toHaveLength(isAbove ? 1 : 0);
});

describe('the images route', () => {
  it.each([
    [1, 3],
    [2, 1],
    [2, 4],
  ])('charges the images that arrived: %i requested, %i sent', async (n, count) => {
    const data = Array.from({ length: count }, () => ({ b64_json: picture }));
    const harness = gatewayInProcess({
      models: [model({ id: 'image', protocols: ['images'], price })],
      handlers: [(up) => up.answer(200, { created: 1, data })],
    });

    await harness.call(image({ n }));

    expect(await harness.nextRecord()).toMatchObject({
      usage: { images: count },
      heldNanos: BigInt(n) * 500n,
      chargeNanos: BigInt(count) * 500n,
    });
  });
});

it('a stream that breaks off before its first image costs those requested', async () => {
  const harness = gatewayInProcess({
    models: [model({ price })],
    handlers: [
      (up) => {
        up.answer(
          200,
          events({
            choices: [{ index: 0, delta: { content: 'Here' } }],
            usage: { prompt_tokens: 1, completion_tokens: 1 },
          }),
          headersOf('chatStream'),
        );
      },
    ],
  });

  await harness.call(streamed);

  expect(await harness.nextRecord()).toMatchObject({ outcome: 'broken', chargeNanos: 500n });
});
