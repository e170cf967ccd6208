// suite: quick
/**
 * A further API is only a folder and a row: the toy is relayed, translated, refused and charged.
 */
import { describe, expect, it } from 'vitest';
import { dialects } from '../../../src/dialects/table.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { protocols } from '../../../src/protocols/table.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  wholeChat,
} from '../../support/any-model-gateway.ts';
import { type ScriptedReply, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { toy } from '../../translate/toy/dialect.ts';
import { toyName, toyProtocol } from './protocol.ts';

const toyReply = '{"says":"Hello you.","spent":[3,4]}';
const openaiReply = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Hello you.' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});

const toyChannel: Partial<Channel> = JSON.parse('{"dialect":"toy","upstreamModel":"up"}');

function toyGateway(scripted: ScriptedReply, channel: Partial<Channel>) {
  const upstream = scriptedUpstream(scripted);
  const gateway = anyModelGateway({
    upstream,
    channel,
    model: { protocols: [toyName, 'chat'] },
    table: { ...dialects, toy },
    rows: { ...protocols, toy: toyProtocol },
  });
  return {
    call: gateway.call,
    records: () => gateway.records,
    sent: () => upstream.requests[0],
  };
}

function send(body = '{"model":"m", "ask":["hi"]}', secret = 'caller-secret'): CallerRequest {
  return { path: '/toy/ask', body, headers: { 'x-toy-key': secret } };
}

describe('a toy protocol', () => {
  it('is relayed to an upstream of its own dialect, byte for byte except the model', async () => {
    const gateway = toyGateway({ chunks: [toyReply] }, toyChannel);

    const { status, text } = await gateway.call(send());

    expect(gateway.sent()?.path).toBe('/v1/say');
    expect(bodyOf(gateway.sent())).toBe('{"model":"up", "ask":["hi"]}');
    expect(status).toBe(200);
    expect(text).toBe(toyReply);
  });

  it('is translated for an upstream of another dialect', async () => {
    const gateway = toyGateway({ chunks: [openaiReply] }, { dialect: 'openai' });

    const { status, text } = await gateway.call(send());

    expect(gateway.sent()?.path).toBe('/v1/chat/completions');
    expect(JSON.parse(bodyOf(gateway.sent()))).toMatchObject({
      messages: [{ role: 'user', content: 'hi' }],
    });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({ says: 'Hello you.', spent: [3, 4] });
  });

  it.each([
    ['relayed', toyReply, toyChannel],
    ['translated', openaiReply, { dialect: 'openai' } as const],
  ])('is charged by its usage, %s', async (_, reply, channel) => {
    const gateway = toyGateway({ chunks: [reply] }, channel);

    await gateway.call(send());

    expect(gateway.records()).toMatchObject([
      { protocol: 'toy', chargeNanos: 7n, usage: { inputTokens: 3, outputTokens: 4 } },
    ]);
  });

  it.each([
    ['a wrong key', 401, send(undefined, 'other'), 'x-toy-key: <key>'],
    ['a body that is too large', 413, send(`{"model":"m","ask":["${'x'.repeat(2_000)}"]}`), '1024'],
    ['a missing member', 400, send('{"model":"m"}'), '`ask` is missing'],
    ['more answers than it offers', 400, send('{"model":"m","ask":[""],"times":2}'), '`times`'],
  ])('refuses %s in its own error format', async (_, expected, request, message) => {
    const { status, text } = await toyGateway({}, toyChannel).call(request);

    expect(status).toBe(expected);
    expect(JSON.parse(text).oops).toContain(message);
  });

  it('names its key header to caches', async () => {
    const { headers } = await toyGateway({ chunks: [toyReply] }, toyChannel).call(send());

    expect(headers.vary?.split(', ')).toContain('x-toy-key');
  });

  it('changes nothing for other APIs', async () => {
    const gateway = toyGateway({ chunks: [openaiReply] }, { dialect: 'openai' });

    expect((await gateway.call(chat(wholeChat))).text).toBe(openaiReply);
  });
});

function bodyOf(request: { readonly body: readonly Uint8Array[] } | undefined): string {
  return Buffer.concat([...(request?.body ?? [])]).toString();
}
