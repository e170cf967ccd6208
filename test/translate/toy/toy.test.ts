// suite: quick
/** A fourth dialect is a folder and a row: the toy is served to both protocols, streamed or not. */

import { describe, expect, it } from 'vitest';
import { concatBytes, emptyBytes } from '../../../src/bytes/sse.ts';
import type { Dialect } from '../../../src/dialects/dialect.ts';
import type { Hosting } from '../../../src/dialects/hosting.ts';
import type { StreamFormat } from '../../../src/dialects/stream-format.ts';
import { dialects } from '../../../src/dialects/table.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { anyModelGateway, chat, native, wholeChat } from '../../support/any-model-gateway.ts';
import { type ScriptedReply, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { toy } from './dialect.ts';

const whole: ScriptedReply = { chunks: ['{"says":"Hello you.","spent":[3,4]}'] };
const streamed: ScriptedReply = {
  headers: { 'content-type': 'text/event-stream' },
  chunks: ['data: {"says":"Hello "}\n\n', 'data: {"says":"you.","spent":[3,4]}\n\n'],
};

/**
 * A real dialect adds its name to `dialectNames`, which the toy must not do, so that the
 * configuration is given as text.
 */
const toyChannel: Partial<Channel> = JSON.parse('{"dialect":"toy"}');

/** A gateway with one toy channel, and the requests it sent there. */
function toyGateway(
  scripted: ScriptedReply,
  dialect: Dialect = toy,
  channel: Partial<Channel> = {},
) {
  const upstream = scriptedUpstream(scripted);
  const gateway = anyModelGateway({
    upstream,
    channel: { ...toyChannel, ...channel },
    table: { ...dialects, toy: dialect },
  });
  return {
    call: gateway.call,
    records: () => gateway.records,
    request: () => upstream.requests[0],
    sent: () => JSON.parse(Buffer.concat(upstream.requests[0]?.body ?? []).toString()),
  };
}

describe('a toy dialect', () => {
  it('answers a chat', async () => {
    const gateway = toyGateway(whole);

    const { status, text } = await gateway.call(chat(wholeChat));

    expect(gateway.sent()).toEqual({ lines: ['user: hi'], stream: false });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      choices: [{ message: { content: 'Hello you.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    });
  });

  it('answers a native call', async () => {
    const { status, text } = await toyGateway(whole).call(native('json'));

    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      candidates: [{ content: { parts: [{ text: 'Hello you.' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
    });
  });

  it.each([
    ['chat', chat(), '"content":"Hello "'],
    ['native', native('sse'), '"text":"Hello "'],
    ['native as an array', native('json_array'), '"text":"Hello "'],
  ])('streams to %s', async (_, request, message) => {
    const gateway = toyGateway(streamed);

    const { status, text, isCut } = await gateway.call(request);

    expect(gateway.sent()).toEqual({ lines: ['user: hi'], stream: true });
    expect(status).toBe(200);
    expect(text).toContain(message);
    expect(isCut).toBe(false);
  });

  it('is charged by its own usage', async () => {
    const gateway = toyGateway(whole);

    await gateway.call(chat(wholeChat));

    expect(gateway.records()[0]).toMatchObject({ usage: { inputTokens: 3, outputTokens: 4 } });
  });

  it('lists what it left out, and refuses what it cannot express', async () => {
    const warm = wholeChat.replace('"m"', '"m","temperature":1');
    const picture = '[{"type":"image_url","image_url":{"url":"https://a.example/a.png"}}]';

    const dropped = await toyGateway(whole).call(chat(warm));
    const refused = await toyGateway(whole).call(chat(wholeChat.replace('"hi"', picture)));

    expect(dropped.headers['x-tollgate-dropped']).toBe('temperature');
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text).error.param).toBe('messages[0].content[0]');
  });

  it('reports failures in the caller’s error format', async () => {
    const { status, text } = await toyGateway({ chunks: ['{"oops":1}'] }).call(native('json'));

    expect(status).toBe(502);
    expect(JSON.parse(text).error.status).toBe('UNAVAILABLE');
  });

  it('may sign each request over its bytes, and frame its streams in its own way', async () => {
    const signed = {
      ...toy,
      streams: lines,
      hosting: { path: (path: string) => path, sign: sumOf },
    };
    const chunks = ['{"says":"Hel', 'lo "}\n{"says":"you.","spent":[3,4]}\n'];
    const headers = { 'content-type': 'application/x-lines' };
    const gateway = toyGateway({ headers, chunks }, signed, { credential: () => keys });

    const { status, text } = await gateway.call(chat());

    const { path, body, headers: sent } = gateway.request() ?? {};
    expect(sent).toMatchObject({
      accept: 'application/x-lines',
      'x-sum': `POST ${path} ${Buffer.concat([...(body ?? [])]).length} ${JSON.stringify(keys)}`,
    });
    expect(status).toBe(200);
    expect(text).toContain('"content":"Hello "');
    expect(text).toContain('data: [DONE]');
  });
});

const keys = { accessKeyId: 'AKIA1', secretAccessKey: 'account-secret-4711' };

/** A readable signature: the signed text itself. */
const sumOf: NonNullable<Hosting['sign']> = async ({ method, path, body, secret }) => ({
  'x-sum': `${method} ${path} ${Buffer.concat([...body]).length} ${secret}`,
});

/** One document per line. */
const lines: StreamFormat = {
  contentType: 'application/x-lines',
  reader: () => {
    let rest: Uint8Array = emptyBytes;
    return {
      push: (chunk) => {
        const all = concatBytes([rest, chunk]);
        const end = all.lastIndexOf(0x0a) + 1;
        rest = all.subarray(end);
        return all.subarray(0, end);
      },
      frameAt: (block, start) => {
        const raw = block.subarray(start, block.indexOf(0x0a, start) + 1);
        return { raw, name: undefined, data: Buffer.from(raw).toString(), unframedText: '' };
      },
      rest: () => emptyBytes,
    };
  },
};
