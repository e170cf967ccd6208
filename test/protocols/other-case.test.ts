// suite: quick
/**
 * Servers in Go and .NET find members whatever the case of their names: they would run the model
 * that `Model` names, and make the answers that `N` asks for. Every member that has an influence on
 * how the gateway reads a call is therefore refused in any other case, alone or beside the member
 * itself. All others are the upstream's to judge.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { operations } from '../../src/apis.ts';
import { wholeBody } from '../../src/bytes/body/body.ts';
import { scanBody } from '../../src/bytes/json/scan/body.ts';
import type { Call } from '../../src/call.ts';
import { isGatewayError } from '../../src/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/json.ts';
import type { ProtocolName } from '../../src/ports/models/catalog.ts';
import { readChat } from '../../src/protocols/chat/protocol.ts';
import { readEmbeddings } from '../../src/protocols/embeddings/protocol.ts';
import { readImages } from '../../src/protocols/images/protocol.ts';
import { readMessages } from '../../src/protocols/messages/protocol.ts';
import { readNative } from '../../src/protocols/native/read.ts';
import { readBatchEmbedContents } from '../../src/protocols/native-embeddings/protocol.ts';
import { readResponses } from '../../src/protocols/responses/read.ts';

type Read = (body: JsonObject) => Call;
const scanned = (body: JsonObject) => scanBody(wholeBody(Buffer.from(JSON.stringify(body))));
const target = { modelId: 'm', operation: operations.content, framing: 'json' } as const;
/** For the APIs whose bodies name the model. */
const inBody = { ...target, modelId: undefined };
const tools = [{ type: 'openrouter:subagent', parameters: { model: 'large' } }];
/** Members that several APIs have, or that servers add. */
const common: JsonObject = {
  ...{ model: 'm', n: 3, tools, models: ['large'], plugins: [{ id: 'web' }], best_of: 4 },
  ...{ service_tier: 'priority', web_search_options: {}, provider: { order: ['a'] }, top_k: 4 },
  ...{ speed: 'fast', fallbacks: [{ model: 'large' }], reasoning: { max_tokens: 99_999 } },
  ...{ api_base: 'https://example.org', image_config: { image_size: '4K' }, seed: 1, user: 'u' },
  ...{ extra_body: { tools, best_of: 4, temperature: 1 }, file_ids: ['f'], mcp_servers: [{}] },
  ...{ temperature: 1, metadata: { Model: 'a' }, Someone_Else: 1, responseKind: 'x' },
};
const chat: JsonObject = {
  ...common,
  ...{ messages: [{ role: 'user', content: 'hi' }], stream: true, max_tokens: 7 },
  ...{ stream_options: { include_usage: true }, modalities: ['audio'] },
};
const native: JsonObject = {
  ...{ contents: [{ role: 'user', parts: [{ text: 'hi' }] }], tools: [{ googleSearch: {} }] },
  generationConfig: {
    ...{ maxOutputTokens: 7, candidateCount: 3, responseModalities: ['AUDIO'], topK: 4 },
    ...{ imageConfig: { imageSize: '4K', aspectRatio: '1:1' }, thinkingConfig: {} },
  },
  ...{ serviceTier: 'priority', safetySettings: [{}], cachedContent: 'cachedContents/a' },
};

const apis: Readonly<Record<ProtocolName | 'native embeddings', readonly [Read, JsonObject]>> = {
  chat: [(body) => readChat(scanned(body), inBody), chat],
  responses: [
    (body) => readResponses(scanned(body), inBody),
    { ...common, input: 'hi', stream: true, max_output_tokens: 7, previous_response_id: 'resp_1' },
  ],
  messages: [
    (body) => readMessages(scanned(body), target),
    {
      ...{ ...common, thinking: { budget_tokens: 99_999 }, container: 'c', stream: true },
      ...{ max_tokens: 7, messages: [{ role: 'user', content: 'hi' }] },
    },
  ],
  images: [
    (body) => readImages(scanned(body), inBody, { defaultImageModel: 'default' }),
    { ...common, prompt: 'a', size: '1024x1024', quality: 'high' },
  ],
  embeddings: [
    (body) => readEmbeddings(scanned(body), inBody),
    { model: 'm', input: ['a', 'b'], dimensions: 7, api_base: 'https://example.org', user: 'u' },
  ],
  native: [(body) => readNative(scanned(body), target), native],
  'native embeddings': [
    (body) => readBatchEmbedContents(scanned(body), target),
    { requests: [{ content: { parts: [{ text: 'a' }] }, title: 'a' }], tools: [{ maps: {} }] },
  ],
};

/** What the gateway does with a call; undefined for one that it refuses. */
function readAs(read: Read, body: JsonObject): unknown {
  try {
    const { body: _, tape: __, demand, references, promptCacheKey: ___, ...call } = read(body);
    const { prompt, ...bounds } = demand;
    const { textBytes: ____, ...media } = prompt;
    return { ...call, bounds, media, references: references !== undefined };
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

/** The same name with letters in the other case, also in the two that fold to ASCII. */
function variants(name: string): fc.Arbitrary<string> {
  const letters = [...name].map((letter) => {
    const upper = letter.toUpperCase();
    const others = { s: ['ſ'], k: ['\u212a'] }[letter.toLowerCase()] ?? [];
    return fc.constantFrom(letter, upper, letter.toLowerCase(), ...others);
  });
  return fc
    .tuple(...letters)
    .map((chosen) => chosen.join(''))
    .filter((other) => other !== name);
}

/** The body without the member, and with other members in its place. */
function without(body: JsonObject, path: readonly string[], others: JsonObject = {}): JsonObject {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    const { [name]: _, ...kept } = body;
    return { ...kept, ...others };
  }
  return { ...body, [name]: without(inside(body, name), rest, others) };
}

function inside(body: JsonObject, name: string): JsonObject {
  const value = body[name];
  return isJsonObject(value) ? value : {};
}

/** The members of the body and of the objects in it that the gateway reads. */
function pathsOf(body: JsonObject): readonly (readonly string[])[] {
  return Object.keys(body).flatMap((name) => [
    [name],
    ...(name === 'metadata' ? [] : Object.keys(inside(body, name)).map((own) => [name, own])),
  ]);
}

describe.each(Object.entries(apis))('%s', (_api, [read, body]) => {
  it.each(
    pathsOf(body).map((path) => [path.join('.'), path] as const),
  )('takes %s in no other case if it reads it', (_at, path) => {
    const name = path.at(-1) ?? '';
    const value = path.slice(0, -1).reduce(inside, body)[name] ?? null;
    // Its own name alone, so that no other refusal hides that of this one.
    const kept = pathsOf(body).filter(
      ([top]) => top === path[0] || !Object.hasOwn(common, top ?? '') || top === 'model',
    );
    const small = Object.fromEntries(kept.map(([top = '']) => [top, body[top] ?? null]));
    const exact = readAs(read, small);
    const isRead = JSON.stringify(exact) !== JSON.stringify(readAs(read, without(small, path)));
    fc.assert(
      fc.property(variants(name), fc.boolean(), (other, isBeside) => {
        const others = { [other]: value, ...(isBeside ? { [name]: value } : {}) };
        const found = readAs(read, without(small, path, others));

        const isReadAlike = JSON.stringify(found) === JSON.stringify(exact);
        if (isRead && !isReadAlike) expect(found, other).toBeUndefined();
      }),
      { numRuns: 30 },
    );
  });
});

it('reads every model that an object names', () => {
  const svg = { model: 'a', Model: 'b', judge_model: 'c' };

  const { demand } = readImages(scanned({ model: 'm', prompt: 'a', svg }), inBody, {
    defaultImageModel: undefined,
  });

  expect(demand.guarded).toMatchObject([{ row: 'svg', models: ['a', 'b', 'c'] }]);
});

it('leaves other names to the upstream, whatever their case', () => {
  for (const [read, body] of [apis.chat, apis.native]) {
    const others = { responseMimeType: 'a', TopP: 1, Someone_Else: 1, metadata: { Model: 'a' } };
    expect(readAs(read, { ...body, ...others })).toEqual(readAs(read, body));
  }
});
