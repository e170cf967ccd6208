// suite: quick
/** A body that grows in translation is covered by the hold before it is sent. */
import { describe, expect, it } from 'vitest';
import { gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import { channel, contents, model } from '../../support/models.ts';

const openai = channel({ id: 'openai-a' });
const gemini = channel({
  id: 'gemini-a',
  dialect: 'gemini',
  baseUrl: 'https://gemini.example/v1beta',
  priority: 1,
});
/** Arguments are an object for Google's callers, and JSON within a string for OpenAI. */
const body = {
  contents: [
    ...contents,
    { role: 'model', parts: [{ functionCall: { name: 'f', args: { a: '"'.repeat(2_000) } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'ok' } } }] },
  ],
};
const values = { path: '/v1beta/models/native:generateContent', body };
const reply = { choices: [{ index: 0, message: { content: 'Hi!' }, finish_reason: 'stop' }] };
const native = { candidates: [{ content: { parts: [{ text: 'Hi!' }] }, finishReason: 'STOP' }] };

function setUp(
  limitNanos: bigint,
  channels = [openai],
): ReturnType<typeof gatewayInProcess> & { readonly extended: bigint[] } {
  const extended: bigint[] = [];
  const harness = gatewayInProcess({
    models: [model({ id: 'native', protocols: ['native'], channels, contextTokens: 1_000_000 })],
    key: { quota: [{ id: 'caller', period: 'total', limitNanos }] },
    handlers: [(up) => up.answer(200, up.request.path.includes('/chat/') ? reply : native)],
    store: (quota) => ({
      extend: (inputs, options) => {
        for (const { add } of inputs) extended.push(add?.[0] ?? 0n);
        return quota.extend(inputs, options);
      },
    }),
  });
  return { ...harness, extended };
}

describe('a longer body', () => {
  it('adds the difference to its hold, once', async () => {
    const harness = setUp(1_000_000n);

    expect((await harness.call(values)).status).toBe(200);

    const [sent] = harness.upstream.calls;
    const bytes = sent?.request.body.reduce((sum, { length }) => sum + length, 0) ?? 0;
    const { heldNanos } = await harness.nextRecord();
    expect(harness.extended).toHaveLength(1);
    expect(heldNanos).toBeGreaterThanOrEqual(BigInt(Math.ceil(bytes * 0.4)) + 200n);
  });

  it('is not sent if the quota is not sufficient: 403, and nothing stays held', async () => {
    // Enough for the caller's body, but not for the translated one.
    const harness = setUp(2_100n);

    const { status, text } = await harness.call(values);

    expect({ status, calls: harness.upstream.calls.length }).toEqual({ status: 403, calls: 0 });
    expect(text).toContain('quota');
    expect(await harness.state()).toEqual(untouched);
  });

  it('is passed over for the next channel, which gets what the caller sent', async () => {
    const harness = setUp(2_100n, [openai, gemini]);

    const calling = harness.start(values);
    await harness.upstream.next();
    const inFlight = harness.gateway.channels().map((one) => [one.channelId, one.inFlight]);

    expect((await calling.reply).status).toBe(200);
    expect(harness.upstream.calls.map(({ request }) => request.origin)).toEqual([
      'https://gemini.example',
    ]);
    // The channel that could not be used has its place back while the call runs at another.
    expect(inFlight).toEqual([
      ['openai-a', 0],
      ['gemini-a', 1],
    ]);
  });

  it('is not sent if the store does not answer: 503', async () => {
    const harness = gatewayInProcess({
      models: [
        model({ id: 'native', protocols: ['native'], channels: [openai], contextTokens: 9_000 }),
      ],
      store: () => ({
        extend: () => {
          throw new Error('down');
        },
      }),
    });

    expect((await harness.call(values)).status).toBe(503);
    expect(harness.upstream.calls).toHaveLength(0);
  });
});

it('a body of about the same length needs no second call of the store', async () => {
  const harness = setUp(1_000_000n);

  await harness.call({ ...values, body: { contents } });

  expect(harness.extended).toEqual([]);
});
