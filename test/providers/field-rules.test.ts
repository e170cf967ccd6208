// suite: slow host
/** The strict upstream refuses the values that OpenAI and Google refuse, and draws big images. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { items, type JsonValue, member, parseJson } from '../../src/json.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { decodePng, post } from '../testing/helpers.ts';
import { startStrictUpstream } from './strict-upstream.ts';

let upstream: FakeUpstream;

beforeAll(async () => {
  upstream = await startStrictUpstream();
});

afterAll(() => upstream.close());

interface Answer {
  readonly status: number;
  readonly document: JsonValue | undefined;
}

async function send(path: string, body: unknown): Promise<Answer> {
  const response = await post(upstream, path, body);
  return { status: response.status, document: parseJson(await response.text()) };
}

describe('images of OpenAI', () => {
  const request = { model: 'gpt-image-1', prompt: 'a cat' };

  it.each([
    [{ prompt: 7 }, 'prompt'],
    [{ response_format: 'b64_json' }, 'response_format'],
    [{ n: 11 }, 'n'],
    [{ n: 0 }, 'n'],
    [{ size: 'huge' }, 'size'],
  ])('are refused with %j', async (wrong, param) => {
    const { status, document } = await send('/v1/images/generations', { ...request, ...wrong });

    expect(status).toBe(400);
    expect(document).toMatchObject({ error: { type: 'invalid_request_error', param } });
  });
});

describe('embeddings', () => {
  it.each([
    { input: '' },
    { input: [] },
    { input: ['a', ''] },
    { input: 'a', encoding_format: 'int8' },
    { input: 'a', dimensions: 1_537 },
  ])('of OpenAI are refused with %j', async (body) => {
    const request = { model: 'text-embedding-3-small', ...body };

    expect((await send('/v1/embeddings', request)).status).toBe(400);
  });

  const content = { parts: [{ text: 'a' }] };

  it.each([
    ['no requests', []],
    ['too many requests', Array(101).fill({ model: 'models/e', content })],
    ['no model', [{ content }]],
    ['another model', [{ model: 'models/other', content }]],
    ['no parts', [{ model: 'models/e', content: { parts: [] } }]],
    ['too long a vector', [{ model: 'models/e', content, outputDimensionality: 3_073 }]],
  ])('of Google are refused with %s', async (_name, requests) => {
    const { status } = await send('/v1beta/models/e:batchEmbedContents', { requests });

    expect(status).toBe(400);
  });
});

describe('chats', () => {
  it('are refused without messages, whatever the model', async () => {
    const chat = await send('/v1/chat/completions', { model: 'm', messages: [] });
    const google = await send('/v1beta/models/m:generateContent', { messages: [] });

    expect([chat.status, google.status]).toEqual([400, 400]);
    expect(google.document).toMatchObject({
      error: {
        message: 'Invalid JSON payload received. Unknown name "messages": Cannot find field.',
      },
    });
  });
});

describe('reasoning of the Responses API', () => {
  const user = { role: 'user', content: 'Hi' };
  const refer = (item: JsonValue | undefined) => ({ type: 'item_reference', id: idOf(item) });
  const idOf = (item: JsonValue | undefined) => member(item, 'id') ?? null;
  const answered = (call: JsonValue | undefined) => ({
    type: 'function_call_output',
    call_id: member(call, 'call_id'),
    output: 'foggy',
  });

  it('is accepted as it was, whole or by its id, before its call or the id of that', async () => {
    const [reasoning, call] = await oneRound();

    for (const thought of [reasoning, refer(reasoning)]) {
      for (const called of [call, refer(call)]) {
        const input = [user, thought, called, answered(call)];
        expect((await send('/v1/responses', { model: 'm', input })).status).toBe(200);
      }
    }
  });

  it('is refused where it was changed, and where its call is missing', async () => {
    const [reasoning, call] = await oneRound();
    const changed = JSON.stringify(reasoning).replace(/gAAAAAB.{3}/, 'gAAAAABzzz');
    const messages = await Promise.all(
      [
        [user, parseJson(changed), call, answered(call)],
        [user, reasoning, user],
        [user, refer(reasoning), user],
        [user, refer(reasoning)],
      ].map((input) => send('/v1/responses', { model: 'm', input })),
    );

    const texts = messages.map(({ document }) => member(member(document, 'error'), 'message'));
    expect(texts[0]).toMatch(/could not be verified/);
    for (const text of texts.slice(1)) expect(text).toMatch(/without its required following item/);
  });

  async function oneRound(): Promise<readonly JsonValue[]> {
    const { document } = await send('/v1/responses', {
      model: 'any-agent-1',
      input: 'Hi',
      tools: [{ type: 'function', name: 'get_weather' }],
      include: ['reasoning.encrypted_content'],
    });
    return items(member(document, 'output'));
  }
});

describe('a model that is named for a number of megabytes', () => {
  const size = 2 * 1024 * 1024;

  it('draws so much Base64 in each image of OpenAI', async () => {
    const request = { model: 'image-2mb', prompt: 'a cat', n: 2 };
    const { document } = await send('/v1/images/generations', request);

    const images = items(member(document, 'data')).map((one) => String(member(one, 'b64_json')));
    expect(images.map((base64) => base64.length)).toEqual([size, size]);
    expect(decodePng(images[1] ?? '')).toEqual({ width: 64, height: 64 });
  });

  it('draws so much Base64 as Google', async () => {
    const { document } = await send('/v1beta/models/gemini-image-2mb:generateContent', {
      contents: [{ parts: [{ text: 'a cat' }] }],
      generationConfig: { responseModalities: ['IMAGE'] },
    });

    const content = member(items(member(document, 'candidates'))[0], 'content');
    const data = member(member(items(member(content, 'parts'))[0], 'inlineData'), 'data');
    expect(String(data)).toHaveLength(size);
    expect(document).toMatchObject({ modelVersion: 'gemini-image-2mb', usageMetadata: {} });
  });

  it('stops when the caller disconnects', async () => {
    upstream.reset();
    const response = await post(upstream, '/v1/images/generations', {
      model: 'image-512mb',
      prompt: 'x',
    });
    const call = await upstream.nextCall();
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();

    expect(await call.closed).toBe('aborted');
  });
});
