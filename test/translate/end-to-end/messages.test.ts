// suite: quick
/** Messages calls over upstreams of other dialects, through the whole gateway. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { member } from '../../../src/json.ts';
import { type CallerRequest, messages } from '../../support/any-model-gateway.ts';
import { parsed } from '../../support/codec.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { brokenLaws, foldedMessage, messagesEvents } from '../../support/laws/messages-laws.ts';
import { channel, events, model } from '../../support/models.ts';
import { document, eventStream, exchanged } from '../laws/exchange.ts';

const hello = [{ role: 'user', content: 'hi' }];
const request = (members: object = {}): CallerRequest =>
  messages(JSON.stringify({ model: 'm', max_tokens: 99, messages: hello, ...members }));
const whole = request();
const streamed = request({ stream: true });
const chunk = (delta: object, finish: string | null = null): object => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
const geminiReply = (parts: readonly object[]): object => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1_290, totalTokenCount: 1_295 },
});

describe('usage that the upstream does not state', () => {
  const message = { role: 'assistant', content: 'Hello there.' };
  const reply = { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] };

  it('is estimated as it is charged, and a whole reply says so', async () => {
    const { answer, gateway } = await exchanged('openai', whole, document(JSON.stringify(reply)));

    expect(answer.headers['x-tollgate-estimated']).toBe('usage');
    // A token costs a nano here.
    const charge = Number(gateway.records[0]?.chargeNanos);
    expect(member(parsed(answer.text), 'usage')).toMatchObject({
      input_tokens: charge - 5,
      output_tokens: 5,
    });
    expect(charge).toBeGreaterThan(5);
  });

  it('is estimated at the end of a stream, never at its start', async () => {
    const stream = events(chunk({ content: 'Hello there.' }), chunk({}, 'stop'), '[DONE]');
    const { answer, gateway } = await exchanged('openai', streamed, eventStream(stream));

    const written = messagesEvents(answer.text);
    const start = member(member(written[0]?.data, 'message'), 'usage');
    expect(start).toMatchObject({ input_tokens: 0, output_tokens: 0 });
    expect(foldedMessage(written).usage).toMatchObject({
      input_tokens: Number(gateway.records[0]?.chargeNanos) - 5,
      output_tokens: 5,
    });
  });

  it('that is stated is not marked', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    const stated = document(JSON.stringify({ ...reply, usage }));
    const { answer } = await exchanged('openai', whole, stated);

    expect(answer.headers['x-tollgate-estimated']).toBeUndefined();
  });
});

describe('a reply of media alone', () => {
  const reply = JSON.stringify(geminiReply([picture]));

  const charged = {
    reason: 'upstream_unusable_output',
    usage: { inputTokens: 5, outputTokens: 1_290 },
  };

  it('is a failure with its status, and charged', async () => {
    const { answer, gateway } = await exchanged('gemini', whole, document(reply));

    expect(answer.status).toBe(502);
    expect(parsed(answer.text)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
    expect(gateway.records[0]).toMatchObject(charged);
  });

  it('is an error within the stream that it has begun, and charged', async () => {
    const { answer, gateway } = await exchanged(
      'gemini',
      streamed,
      eventStream(`data: ${reply}\n\n`),
    );

    expect(messagesEvents(answer.text).at(-1)?.data).toMatchObject({
      type: 'error',
      error: { type: 'api_error' },
    });
    expect(gateway.records[0]).toMatchObject(charged);
  });

  it('with a text is a reply that lists it', async () => {
    const mixed = document(JSON.stringify(geminiReply([picture, { text: 'A cat.' }])));
    const { answer } = await exchanged('gemini', whole, mixed);

    expect(answer.headers['x-tollgate-dropped']).toBe('content.image');
    expect(member(parsed(answer.text), 'content')).toEqual([{ type: 'text', text: 'A cat.' }]);
  });
});

describe('a prompt that the provider’s filter refuses', () => {
  const refused = {
    ...document(
      '{"error":{"code":"content_filter","message":"no","type":"invalid_request_error"}}',
    ),
    status: 400,
  };

  it('is a refusal, whole and streamed', async () => {
    const { answer } = await exchanged('openai', whole, refused);
    const stream = await exchanged('openai', streamed, refused);

    const message = parsed(answer.text);
    expect(message).toMatchObject({ content: [], stop_reason: 'refusal' });
    const written = messagesEvents(stream.answer.text);
    expect(brokenLaws(written, { isOwn: true })).toEqual([]);
    expect(foldedMessage(written)).toMatchObject({
      stop_details: member(message, 'stop_details'),
      usage: { input_tokens: 0, output_tokens: 0 },
    });
  });
});

describe('a stream that breaks off', () => {
  it('ends with the error as its last write, and the connection ends cleanly', async () => {
    const started = events(chunk({ content: 'Once' }));
    const scripted = { ...eventStream(started), ending: 'reset' } as const;
    const { answer } = await exchanged('openai', streamed, scripted);

    expect(answer.isCut).toBe(false);
    expect(answer.writes.at(-1)?.toString()).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":' +
        '"The upstream failed to answer this request. Retry later."},' +
        `"request_id":"${answer.headers['request-id']}"}\n\n`,
    );
    expect(brokenLaws(messagesEvents(answer.text), { isOwn: true })).toEqual([]);
  });
});

describe('a stream that is silent', () => {
  it('gets a ping every 15 seconds, before its first event and between them', async () => {
    const channels = [channel({ id: 'openai', dialect: 'openai' })];
    const harness = gatewayInProcess({ models: [model({ protocols: ['messages'], channels })] });
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        harness.clock.advance(1_000);
        await turn();
      }
    };
    const body = { model: 'chat', max_tokens: 9, messages: hello, stream: true };
    const calling = harness.start({ path: '/v1/messages', body });
    const up = await harness.upstream.next();
    up.respond(200, { 'content-type': 'text/event-stream' });
    await pass(31);
    up.write(events(chunk({ content: 'Once' })));
    await pass(31);
    up.write(events(chunk({}, 'stop'), '[DONE]'));
    up.end();

    const { text } = await calling.reply;
    expect(text.match(/^event: .*$/gm)?.map((line) => line.slice('event: '.length))).toEqual([
      'ping',
      'ping',
      'message_start',
      'content_block_start',
      'content_block_delta',
      'ping',
      'ping',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(text).toContain('event: ping\ndata: {"type": "ping"}\n\n');
    expect(brokenLaws(messagesEvents(text), { isOwn: true })).toEqual([]);
  });
});

describe('thinking of another provider in a history', () => {
  it('is left out and listed once', async () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' };
    const turns = [1, 2, 3].flatMap(() => [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [thinking, { type: 'text', text: 'Hi.' }] },
    ]);
    const call = request({ messages: [...turns, ...hello] });
    const reply = document(JSON.stringify(geminiReply([{ text: 'Hi.' }])));
    const { answer, sent } = await exchanged('gemini', call, reply);

    expect(answer.headers['x-tollgate-dropped']).toBe('messages.thinking');
    expect(sent).not.toContain('c2lnbmVk');
  });
});
