// suite: quick
/** The charge of a complete reply: by the upstream's usage, within bounds, else by counting. */
import { describe, expect, it } from 'vitest';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  channel,
  chat,
  completeReply,
  events,
  headersOf,
  image,
  model,
  sampleRequests,
} from '../../support/models.ts';

const choices = [
  { index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' },
];

interface Row {
  readonly usage: string;
  readonly figures: unknown;
  readonly charge: bigint;
  readonly basis: 'usage' | 'counted' | 'estimate';
  readonly anomaly?: string;
}

/** A reply of 101 bytes or more is counted as 34 tokens or more: see each row. */
const rows: readonly Row[] = [
  {
    usage: 'plain figures',
    figures: { prompt_tokens: 10, completion_tokens: 5 },
    charge: 20n,
    basis: 'usage',
  },
  {
    usage: 'zeros',
    figures: { prompt_tokens: 0, completion_tokens: 0 },
    charge: counted(),
    basis: 'counted',
    anomaly: 'missing',
  },
  {
    usage: 'zero for the output alone',
    figures: { prompt_tokens: 9, completion_tokens: 0 },
    charge: counted() - 2n,
    basis: 'counted',
    anomaly: 'missing',
  },
  {
    usage: 'an input alone',
    figures: { prompt_tokens: 9 },
    charge: counted() - 2n,
    basis: 'counted',
    anomaly: 'missing',
  },
  {
    usage: 'an output alone',
    figures: { completion_tokens: 5 },
    charge: 21n,
    basis: 'estimate',
    anomaly: 'missing',
  },
  {
    usage: 'a fraction beside an output',
    figures: { prompt_tokens: 1.5, completion_tokens: 5 },
    charge: 21n,
    basis: 'estimate',
    anomaly: 'missing',
  },
  {
    usage: 'good beside a total that is none',
    figures: { prompt_tokens: 10, completion_tokens: 5, total_tokens: -1 },
    charge: 20n,
    basis: 'usage',
  },
  {
    usage: 'beyond all sense',
    figures: { prompt_tokens: 1e18, completion_tokens: 5 },
    charge: 21n,
    basis: 'usage',
    anomaly: 'above_maximum',
  },
  {
    usage: 'more than the model can make',
    figures: { prompt_tokens: 11, completion_tokens: 90_000 },
    charge: 211n,
    basis: 'usage',
    anomaly: 'above_maximum',
  },
  {
    usage: 'more than the model can read',
    figures: { prompt_tokens: 9_000_000_000, completion_tokens: 5 },
    charge: 21n,
    basis: 'usage',
    anomaly: 'above_maximum',
  },
  ...[
    ['negative', { prompt_tokens: -10, completion_tokens: -5 }],
    ['fractions', { prompt_tokens: 1.5, completion_tokens: 5.5 }],
    ['texts', { prompt_tokens: '10', completion_tokens: '5' }],
    ['missing', undefined],
    ['null', null],
  ].map(
    ([usage, figures]): Row => ({
      usage: String(usage),
      figures,
      charge: counted(),
      basis: 'counted',
      anomaly: 'missing',
    }),
  ),
];

/** The prompt's 11 tokens, and 0.4 tokens for each byte of the content, at most the hold. */
function counted(): bigint {
  const bytes = choices.reduce((sum, { message }) => sum + message.content.length, 0);
  return 11n + 2n * BigInt(Math.ceil(bytes * 0.4));
}

it.each(rows)('usage that is $usage', async ({ figures, charge, basis, anomaly }) => {
  const harness = gatewayInProcess({
    handlers: [(up) => up.answer(200, { choices, usage: figures })],
  });

  await harness.call(sampleRequests.chat);

  expect(await harness.nextRecord()).toMatchObject({
    outcome: 'complete',
    basis,
    chargeNanos: charge,
  });
  expect(await harness.state()).toEqual({ held: 0n, used: charge, inFlight: 0 });
  expect(harness.events.filter(({ type }) => type === 'usage_anomaly')).toEqual(
    anomaly === undefined ? [] : [expect.objectContaining({ reason: anomaly })],
  );
});

describe('a usage above its hold', () => {
  const figures = { prompt_tokens: 11, completion_tokens: 90 };
  const bounded = chat({ max_tokens: 10 });

  it('is charged in full, and reported with both amounts', async () => {
    const harness = gatewayInProcess({
      handlers: [(up) => up.answer(200, { choices, usage: figures })],
    });

    await harness.call(bounded);

    const { requestId } = await harness.nextRecord();
    expect(await harness.state()).toEqual({ held: 0n, used: 191n, inFlight: 0 });
    expect(harness.events.filter(({ type }) => type === 'usage_anomaly')).toEqual([
      { type: 'usage_anomaly', requestId, reason: 'above_hold', heldNanos: 31n, usageNanos: 191n },
    ]);
  });

  it('is charged at the hold of a channel that is not trusted, and reported', async () => {
    const channels = [channel({ usageTrust: 'held' })];
    const harness = gatewayInProcess({
      models: [model({ channels })],
      handlers: [(up) => up.answer(200, { choices, usage: figures })],
    });

    await harness.call(bounded);

    expect(await harness.nextRecord()).toMatchObject({ chargeNanos: 31n, heldNanos: 31n });
    expect(harness.events).toContainEqual(
      expect.objectContaining({ reason: 'above_hold', heldNanos: 31n, usageNanos: 191n }),
    );
  });

  it('that fits what an untrusted channel may charge is charged unchanged', async () => {
    const channels = [channel({ usageTrust: 'held' })];
    const harness = gatewayInProcess({
      models: [model({ channels })],
      handlers: [completeReply('chat')],
    });

    await harness.call(bounded);

    expect(await harness.nextRecord()).toMatchObject({ chargeNanos: 20n });
    expect(harness.eventTypes()).toEqual(['call_ended']);
  });
});

it.each([
  ['as many images as were asked for', 2, 2, 1_000n],
  ['fewer', 2, 1, 500n],
  ['more, which costs more than was held', 2, 5, 2_500n],
])('%s', async (_how, n, made, charge) => {
  const data = Array.from({ length: made }, () => ({ b64_json: 'aGk=' }));
  const harness = gatewayInProcess({ handlers: [(up) => up.answer(200, { created: 1, data })] });

  await harness.call(image({ n }));

  expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: charge });
  expect(await harness.state()).toEqual({ held: 0n, used: charge, inFlight: 0 });
});

describe('a native reply of a model priced by the image', () => {
  const gemini = channel({ id: 'gemini-a', dialect: 'gemini' });
  const price = { per: 'image', rows: [{ nanos: 500n }] } as const;
  const models = [model({ id: 'native', protocols: ['native'], channels: [gemini], price })];
  const image = { inlineData: { mimeType: 'image/png', data: 'A'.repeat(40_000) } };
  const draft = { ...image, thought: true };
  const replied = (...parts: readonly object[]): object => ({
    candidates: [{ content: { parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
  });
  const text = { text: 'Not "inlineData":' };

  it.each([
    ['held', replied(text, { inlineData: { mimeType: 'image/png', data: 'aGk=' } }, text), 500n],
    ['streaming past', replied(image, text, image, draft, image), 1_500n],
    ['with none', replied(text), 0n],
  ])('costs the images that arrived: %s', async (_how, reply, chargeNanos) => {
    const harness = gatewayInProcess({ models, handlers: [(up) => up.answer(200, reply)] });

    await harness.call(sampleRequests.native);

    expect(await harness.nextRecord()).toMatchObject({ heldNanos: 500n, chargeNanos });
  });

  it('costs the images of all events of a stream', async () => {
    const stream = events(replied(image), replied(text), replied(image, draft));
    const harness = gatewayInProcess({
      models,
      handlers: [(up) => up.answer(200, stream, headersOf('nativeStream'))],
    });

    await harness.call(sampleRequests.nativeStream);

    expect(await harness.nextRecord()).toMatchObject({ chargeNanos: 1_000n });
    expect(harness.events).toContainEqual(
      expect.objectContaining({ reason: 'above_hold', heldNanos: 500n, usageNanos: 1_000n }),
    );
  });
});

it('counting tokens is free', async () => {
  const harness = gatewayInProcess({ handlers: [(up) => up.answer(200, { totalTokens: 3 })] });

  const { status } = await harness.call({
    ...sampleRequests.native,
    path: '/v1beta/models/native:countTokens',
  });

  expect(status).toBe(200);
  expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: 0n });
});

it('a stream is charged by its usage whether or not its caller requested it', async () => {
  for (const stream_options of [undefined, { include_usage: true }]) {
    const harness = gatewayInProcess({ handlers: [completeReply('chatStream')] });

    const { text } = await harness.call(chat({ stream: true, stream_options }));

    expect(text.includes('"usage"')).toBe(stream_options !== undefined);
    expect(await harness.nextRecord()).toMatchObject({ basis: 'usage', chargeNanos: 20n });
  }
});

it('a stream without usage is charged by counting', async () => {
  const delta = { choices: [{ index: 0, delta: { content: 'Hi!' }, finish_reason: 'stop' }] };
  const harness = gatewayInProcess({
    handlers: [(up) => up.answer(200, events(delta, '[DONE]'), headersOf('chatStream'))],
  });

  await harness.call(sampleRequests.chatStream);

  expect(await harness.nextRecord()).toMatchObject({
    outcome: 'complete',
    basis: 'counted',
    chargeNanos: 11n + 4n,
  });
});

it('the record describes the call, and contains neither body nor secret', async () => {
  const harness = gatewayInProcess({
    handlers: [completeReply('chat')],
    key: { metadata: { team: 'red' } },
  });

  await harness.call({ ...sampleRequests.chat, headers: { 'x-request-id': 'from-the-caller' } });
  const record = await harness.nextRecord();

  expect(record).toEqual({
    booked: true,
    revision: 1,
    requestId: 'from-the-caller',
    reservationId: 'test-id-00000001',
    partition: 'default',
    lines: [{ subject: 'caller', period: '', heldNanos: 211n }],
    keyId: 'caller',
    group: 'staff',
    metadata: { team: 'red' },
    protocol: 'chat',
    streamed: false,
    modelId: 'chat',
    channelId: 'openai-a',
    upstreamModel: 'chat',
    attempts: [
      {
        channelId: 'openai-a',
        status: 200,
        reason: undefined,
        mayHaveRun: true,
        durationMs: 0,
      },
    ],
    startedAtMs: harness.clock.now(),
    durationMs: 0,
    firstByteMs: 0,
    status: 200,
    outcome: 'complete',
    reason: undefined,
    usage: { inputTokens: 10, cachedInputTokens: 0, outputTokens: 5, images: 0 },
    basis: 'usage',
    heldNanos: 211n,
    chargeNanos: 20n,
    price: record.price,
  });
  expect(harness.events).toEqual([{ type: 'call_ended', record }]);
});
