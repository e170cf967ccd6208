// suite: quick
/** How long callers are told to wait, and whether their SDKs may retry by themselves. */
import { describe, expect, it } from 'vitest';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, model, sampleRequests } from '../../support/models.ts';

const limits =
  (headers: Readonly<Record<string, string>> = {}, error: object = {}): CallHandler =>
  (up) =>
    up.answer(429, { error: { message: 'Slow down.', ...error } }, headers);

/** A chat model with channels a, b, … in this order. */
function channels(count: number, handlers: readonly CallHandler[]): InProcessGateway {
  const list = ['a', 'b', 'c'].slice(0, count).map((id, priority) => channel({ id, priority }));
  return gatewayInProcess({ handlers, models: [model({ channels: list })] });
}

function waitIn({ status, headers }: CallerReply): readonly unknown[] {
  return [status, headers['retry-after'], headers['x-should-retry']];
}

const retryInfo = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }];
const inBandErrors = [
  ['RetryInfo', 'gemini', { status: 'RESOURCE_EXHAUSTED', details: retryInfo }, '34'],
  ['RetryInfo of a compatible endpoint', 'openai', { details: retryInfo }, '34'],
  ['words', 'openai', { message: 'Please try again in 20s.' }, '20'],
  ['a header', 'openai', { message: 'Slow down.' }, '7'],
  ['a longer header', 'gemini', { message: 'Please retry in 2s.' }, '7'],
] as const;

describe('a caller whose channels all cool down', () => {
  it('gets the time until the first of them is back, not the last that was tried', async () => {
    const harness = channels(2, [limits({ 'retry-after': '7' }), limits({ 'retry-after': '20' })]);

    expect(waitIn(await harness.call(sampleRequests.chat))).toEqual([429, '7', undefined]);
  });

  it('gets the time for which they cool down if they state none, longer each time', async () => {
    const harness = channels(1, [limits(), limits()]);

    expect(waitIn(await harness.call(sampleRequests.chat))).toEqual([429, '10', undefined]);
    harness.clock.advance(10_000);
    expect(waitIn(await harness.call(sampleRequests.chat))).toEqual([429, '20', undefined]);
  });

  it('gets the longer time of a header and RetryInfo', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' }];
    const gemini = channel({ id: 'g', dialect: 'gemini', baseUrl: 'https://g.example/v1beta' });
    const harness = gatewayInProcess({
      handlers: [limits({ 'retry-after': '7' }, { details })],
      models: [model({ channels: [gemini] })],
    });

    expect(waitIn(await harness.call(sampleRequests.chat))).toEqual([429, '7', undefined]);
    expect(harness.gateway.channels()[0]?.models[0]?.untilMs).toBe(harness.clock.now() + 7_000);
  });

  it.each(inBandErrors)('gets the time in the first event of a stream: %s', async (...row) => {
    const [, dialect, error, seconds] = row;
    const headers = { 'content-type': 'text/event-stream', 'retry-after': '7' };
    const event = `data: ${JSON.stringify({ error: { code: 429, ...error } })}\n\n`;
    for (const request of [sampleRequests.chatStream, sampleRequests.nativeStream]) {
      const id = request === sampleRequests.chatStream ? 'chat' : ('native' as const);
      const upstream = channel({ id: 'g', dialect, baseUrl: 'https://g.example/v1' });
      const harness = gatewayInProcess({
        handlers: [(up) => up.answer(200, event, headers)],
        models: [model({ id, protocols: [id], channels: [upstream] })],
      });

      expect(waitIn(await harness.call(request))).toEqual([429, seconds, undefined]);
      expect(harness.gateway.channels()[0]?.models[0]?.untilMs).toBe(
        harness.clock.now() + Number(seconds) * 1_000,
      );
    }
  });

  it('is told not to retry by itself if the time is more than a minute', async () => {
    for (const [seconds, advice] of [
      ['60', undefined],
      ['61', 'false'],
      ['3600', 'false'],
    ] as const) {
      const harness = channels(1, [limits({ 'retry-after': seconds })]);

      expect(waitIn(await harness.call(sampleRequests.chat))).toEqual([429, seconds, advice]);
    }
  });

  it('is told to wait an hour if the account has no credit, and so are later calls', async () => {
    const harness = channels(1, [limits({}, { code: 'insufficient_quota' })]);

    expect(waitIn(await harness.call(sampleRequests.chat))).toEqual([429, '3600', 'false']);
    expect(waitIn(await harness.call(sampleRequests.chat))).toEqual([503, '3600', 'false']);
  });

  it('gets no time in the error text, which an SDK might wait for', async () => {
    const harness = channels(1, [limits({ 'retry-after': '3600' })]);

    expect((await harness.call(sampleRequests.chat)).text).not.toMatch(
      /try again in|\d+ ?s(?:econds)?\b/i,
    );
  });
});

it('a model that no upstream serves is not to be retried', async () => {
  const missing: CallHandler = (up) => up.answer(404, { error: { message: 'No such model.' } });
  const { call, events } = gatewayInProcess({ handlers: [missing] });

  const { status, headers, text } = await call(sampleRequests.chat);

  expect([status, headers['x-should-retry']]).toEqual([404, 'false']);
  expect(text).not.toMatch(/retry|again/i);
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'channel_changed',
      channelId: 'openai-a',
      upstreamModel: 'chat',
      reason: 'upstream_model_not_found',
    }),
  );
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'attempt_ended', upstreamModel: 'chat' }),
  );
});
