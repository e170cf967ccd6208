// suite: search
/**
 * Blocks in shapes and places that Anthropic refuses, but that a compatible server may take: what
 * is guarded is refused there too, and nothing costs more than was held.
 */
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/json.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { type CallerReply, gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model } from '../support/models.ts';
import { type Counting, countingUpstream } from './counting-upstream.ts';

const tokens = { image: 30_000, document: 40_000, reference: 50_000, audio: 100, video: 100 };
const counting: Counting = {
  tokensPerByte: 0.4,
  media: tokens,
  maxOutputTokens: 10,
  boundNames: ['max_tokens', 'max_completion_tokens', 'maxOutputTokens'],
};
const providers: readonly DialectName[] = ['anthropic', 'openai', 'gemini'];

/** Sends a request. Returns the reply, and the record of a call that was not refused. */
type Send = (
  path: string,
  body: JsonObject,
) => Promise<{ readonly reply: CallerReply; readonly record: UsageRecord | undefined }>;

function sender(dialect: DialectName, change: Partial<Model> = {}): Send {
  const served = model({
    id: 'm',
    protocols: ['messages', 'chat', 'native'],
    channels: [channel({ dialect })],
    maxOutputTokens: 10,
    contextTokens: 1_000_000,
    mediaPartTokens: tokens,
    ...change,
  });
  const harness = gatewayInProcess({
    models: [served],
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 9_000_000_000_000_000n }] },
    options: { upstream: countingUpstream(counting) },
  });
  return async (path, body) => {
    const reply = await harness.call({ path, body: { model: 'm', max_tokens: 7, ...body } });
    return { reply, record: reply.status === 200 ? await harness.nextRecord() : undefined };
  };
}

const question: JsonObject = { role: 'user', content: 'hi' };
const base64 = 'iVBORw0KGgo'.padEnd(20_000, 'A');
const pdf = 'JVBERi0xLjcK'.padEnd(20_000, 'A');

/** The same value in shapes that no schema has. */
const shapes: Readonly<Record<string, (value: JsonValue) => JsonValue>> = {
  'as it should be': (value) => value,
  'in a list': (value) => [value],
  'second in a list': (value) => [{ type: 'text', text: 'x' }, null, 'text', value],
  'in a list in a list': (value) => [[value]],
  'in the second of two lists': (value) => [[], [{ type: 'text', text: 'x' }, [value]]],
};

/** Bodies with this as the content of whatever may have some. */
function placesOf(content: JsonValue): Readonly<Record<string, JsonObject>> {
  const inMessage = (role: string, inside: JsonValue): JsonObject => ({
    messages: [question, { role, content: inside }, question],
  });
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content };
  const document = { type: 'document', source: { type: 'content', content } };
  const found = { type: 'search_result', source: 'x', title: 'x', content };
  const fetched = {
    type: 'web_fetch_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: { type: 'web_fetch_result', url: 'x', content },
  };
  return {
    'a message of the user': inMessage('user', content),
    'a message of the assistant': inMessage('assistant', content),
    'an instruction': inMessage('system', content),
    'a message of nobody': inMessage('someone', content),
    'another member of a message': { messages: [{ ...question, attachments: content }] },
    'the system prompt': { messages: [question], system: content },
    'a tool result': inMessage('user', [result]),
    'a tool result of the assistant': inMessage('assistant', [result]),
    'a tool result in one': inMessage('user', [{ ...result, content: [result] }]),
    'a document': inMessage('user', [document]),
    'a document of the assistant': inMessage('assistant', [document]),
    'a document in a tool result': inMessage('user', [{ ...result, content: [document] }]),
    'a search result': inMessage('user', [found]),
    'a fetched page': inMessage('assistant', [fetched]),
    'a text': inMessage('user', [{ type: 'text', text: 'x', content }]),
    'an unknown block': inMessage('user', [{ type: 'hologram', content }]),
    'a block without a type': inMessage('user', { content }),
  };
}

/** Every value in every shape at every place. */
function* everywhere(
  values: Readonly<Record<string, JsonValue>>,
): Generator<readonly [at: string, body: JsonObject]> {
  for (const [what, value] of Object.entries(values)) {
    for (const [shape, shaped] of Object.entries(shapes)) {
      for (const [place, body] of Object.entries(placesOf(shaped(value)))) {
        yield [`${what} ${shape} in ${place}`, body];
      }
    }
  }
}

/** Blocks with this source, alone or in a list. */
function withSource(source: JsonObject): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(
    ['image', 'document', 'Image', 'video'].flatMap((type) =>
      Object.entries(shapes).map(([shape, shaped]) => [
        `${type} with the source ${JSON.stringify(source).slice(0, 60)} ${shape}`,
        { type, source: shaped(source) },
      ]),
    ),
  );
}

const files: Readonly<Record<string, JsonValue>> = {
  ...withSource({ type: 'file', file_id: 'file_1' }),
  'an image with a file and bytes': {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: base64, file_id: 'file_1' },
  },
  'an image with a file and a text': {
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: 'x', file_id: 'file_1' },
  },
  'a file without its type': { type: 'document', source: { file_id: 'file_1' } },
  'a file in camel case': { type: 'document', source: { type: 'file', fileId: 'file_1' } },
  'a file beside its block': { type: 'document', file_id: 'file_1' },
  'a container': { type: 'container_upload', file_id: 'file_1' },
  'a file list': { type: 'document', source: { type: 'file', file_id: ['file_1'] } },
};

describe.each(providers)('files of the account over %s', (dialect) => {
  it('are refused in every shape and place', async () => {
    const send = sender(dialect);
    const passed: string[] = [];
    let refused = 0;

    for (const [at, body] of everywhere(files)) {
      // Only there a file may be what a tool of the provider left, whose id no server reads.
      if (at.endsWith('in a fetched page') && !at.includes('source')) continue;
      const { reply } = await send('/v1/messages', body);
      refused += 1;
      const isRefused = reply.status === 400 && /invalid_request_error/.test(reply.text);
      if (!isRefused) passed.push(`${at}: ${reply.status}`);
    }

    expect(passed).toEqual([]);
    expect(refused).toBeGreaterThan(2_000);
  });
});

const media: Readonly<Record<string, JsonValue>> = {
  ...withSource({ type: 'url', url: 'https://x.example/a.pdf' }),
  ...withSource({ type: 'url', url: { href: 'https://x.example/a.pdf' } }),
  ...withSource({ type: 'base64', media_type: 'application/pdf', data: pdf }),
  ...withSource({ type: 'base64', media_type: 'application/pdf', data: [pdf] }),
  ...withSource({ type: 'base64', media_type: 'image/png', data: base64.slice(0, 100) }),
  'a URL beside its block': { type: 'document', url: 'https://x.example/a.pdf' },
  'a URL as a source': { type: 'document', source: 'https://x.example/a.pdf' },
};

it('media are held as media in every shape and place', async () => {
  const send = sender('anthropic');
  const cheap: string[] = [];
  let accepted = 0;

  for (const [at, body] of everywhere(media)) {
    // A tool of the provider has read the page, and its URL is not read again.
    if (at.startsWith('a URL') && at.endsWith('in a fetched page')) continue;
    const { record } = await send('/v1/messages', body);
    if (record === undefined) continue;
    accepted += 1;
    // 1 nano a token, and 2 for each of 7 tokens of output.
    const least = BigInt(Math.min(tokens.image, tokens.document));
    if (record.heldNanos < least) cheap.push(`${at}: ${record.heldNanos}`);
  }

  expect(cheap).toEqual([]);
  expect(accepted).toBeGreaterThan(2_000);
});

const blocks: Readonly<Record<string, JsonValue>> = {
  'a thought': { type: 'thinking', thinking: 'Hm', signature: base64 },
  'a hidden thought': { type: 'redacted_thinking', data: base64 },
  'an image': {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: base64.repeat(10) },
  },
  'a PDF': {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: pdf.repeat(10) },
  },
  'a tool call': { type: 'tool_use', id: 'toolu_1', name: 'f', input: { signature: base64 } },
  'a call of a server': { type: 'server_tool_use', id: 'x', name: 'f', input: { data: base64 } },
  'a reference': { type: 'tool_reference', tool_name: base64 },
};

/** Turns of chat and native requests with a signature at every place. */
const signatures: readonly (readonly [path: string, body: JsonObject])[] = [
  ...['user', 'assistant', 'system', 'tool'].flatMap((role) =>
    ['reasoning_details', 'thinking_blocks', 'content'].flatMap((name) =>
      Object.values(shapes).map((shaped) => {
        const blocksOfChat = { type: 'thinking', thinking: 'Hm', signature: base64 };
        const message = { role, content: 'x', [name]: shaped(blocksOfChat) };
        return ['/v1/chat/completions', { messages: [question, message] }] as const;
      }),
    ),
  ),
  ...['user', 'model', 'function', undefined].flatMap((role) =>
    ['contents', 'systemInstruction'].flatMap((name) =>
      Object.values(shapes).map((shaped) => {
        const parts = shaped({ text: 'Hm', thoughtSignature: base64 });
        const content = { ...(role === undefined ? {} : { role }), parts };
        const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
        const body = name === 'contents' ? { contents: [...contents, content] } : { contents };
        const system = name === 'contents' ? {} : { systemInstruction: content };
        return ['/v1beta/models/m:generateContent', { ...body, ...system }] as const;
      }),
    ),
  ),
];

describe.each(providers)('over %s no block costs more than was held', (dialect) => {
  it('in a place where its role does not have it', async () => {
    const send = sender(dialect);
    const requests = [
      ...[...everywhere(blocks)].map(([at, body]) => ['/v1/messages', body, at] as const),
      ...signatures.map(([path, body]) => [path, body, JSON.stringify(body)] as const),
    ];
    const violations: string[] = [];
    let accepted = 0;

    for (const [path, body, at] of requests) {
      const { record } = await send(path, isJsonObject(body) ? body : {});
      if (record === undefined) continue;
      accepted += 1;
      const { chargeNanos, heldNanos } = record;
      if (chargeNanos > heldNanos) {
        violations.push(`${at.slice(0, 200)}: ${chargeNanos} charged, ${heldNanos} held`);
      }
    }

    expect(violations).toEqual([]);
    expect(accepted).toBeGreaterThan(10);
  });
});

it('nested blocks are refused above eight levels', async () => {
  const nested = Array.from({ length: 9 }).reduce<JsonValue>(
    (inside) => [inside],
    [{ type: 'text', text: 'x' }],
  );
  const { reply } = await sender('anthropic')('/v1/messages', {
    messages: [{ role: 'user', content: nested }],
  });

  expect(reply.status).toBe(400);
  expect(reply.text).toContain('lists of blocks in each other');
});
