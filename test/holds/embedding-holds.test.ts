// suite: search
/**
 * The hold of an embedding call bounds its cost. 100 KB are planted at every place of valid bodies,
 * and an upstream reports every text, number and unknown name that it received as used, for each
 * input separately. It shares no code with the gateway's own counting.
 */
import { describe, expect, it } from 'vitest';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../src/json.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { tokenPrice } from '../../src/prices/codec.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel } from '../support/models.ts';
import { scriptedBody } from '../support/scripted-upstream.ts';
import { planted, plants } from './plant.ts';

/** Plants every kind at every place; otherwise the kinds take turns. */
const isFull = process.env.HOLDS === 'full';
const mediaTokens = { image: 1_000, audio: 100, video: 100, document: 3_000, reference: 5_000 };
const tokensPerByte = 0.4;
/** Texts are marked by two tokens at some models. */
const marks = 2;

/** The names that every request has, and the settings that no model reads as text. */
const structure = ['parts', 'text', 'role', 'inlineData', 'inline_data', 'mimeType', 'mime_type'];
const settings = ['model', 'taskType', 'outputDimensionality', 'dimensions', 'encoding_format'];

/** The bytes of all texts, numbers and names in a value but those of the structure. */
function leafBytes(value: JsonValue, known: readonly string[] = structure): number {
  if (Array.isArray(value))
    return items(value).reduce<number>((sum, one) => sum + leafBytes(one), 0);
  if (isJsonObject(value)) {
    return Object.entries(value).reduce(
      (sum, [name, inside]) =>
        sum + (known.includes(name) ? 0 : bytesOf(JSON.stringify(name))) + leafBytes(inside),
      0,
    );
  }
  return bytesOf(JSON.stringify(value));
}

/** Without the quotes of a text. */
function bytesOf(json: string): number {
  return Buffer.byteLength(json) - (json.startsWith('"') ? 2 : 0);
}

interface Count {
  readonly text: number;
  readonly media: number;
}

function inputsOf({ input = null }: JsonObject): readonly JsonValue[] {
  const list = items(input);
  return typeof input === 'string' || list.every(isNumber) ? [input] : list;
}

function countOpenai(body: JsonObject): Count {
  const { input: _counted, ...rest } = body;
  const ofInputs = inputsOf(body).reduce<number>((sum, one) => {
    const ids = items(one);
    return sum + (ids.length > 0 ? ids.length : leafBytes(one) * tokensPerByte + marks);
  }, 0);
  return { text: ofInputs + leafBytes(withoutSettings(rest)) * tokensPerByte, media: 0 };
}

function countGemini(body: JsonObject): Count {
  const { requests, ...rest } = body;
  const all = requests === undefined ? [body] : items(requests);
  const outside = requests === undefined ? 0 : leafBytes(withoutSettings(rest)) * tokensPerByte;
  let text = outside;
  let media = 0;
  for (const one of all) {
    const { content = null, title = '', ...others } = isJsonObject(one) ? one : {};
    const found = mediaIn(content);
    const bytes = leafBytes(content) + leafBytes(title) + leafBytes(withoutSettings(others));
    text += (bytes - found.payload) * tokensPerByte + marks;
    media += found.tokens;
  }
  return { text, media };
}

function withoutSettings(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !settings.includes(name)));
}

/** Media in the places where Google reads it. */
function mediaIn(content: JsonValue): { readonly payload: number; readonly tokens: number } {
  const parts = member(content, 'parts') ?? null;
  let payload = 0;
  let tokens = 0;
  for (const part of Array.isArray(parts) ? items(parts) : [parts]) {
    for (const name of ['inlineData', 'inline_data']) {
      const blob = member(part, name);
      const data = member(blob, 'data');
      const type = String(member(blob, 'mimeType') ?? member(blob, 'mime_type') ?? '');
      if (typeof data !== 'string' || !type.startsWith('image/')) continue;
      payload += data.length;
      tokens += mediaTokens.image;
    }
  }
  return { payload, tokens };
}

function isNumber(value: JsonValue): boolean {
  return typeof value === 'number';
}

/** Reports each call's tokens as used, media as images, with a vector for each input. */
function countingUpstream(): UpstreamClient {
  return {
    send: async ({ path, body }) => {
      const parsed: unknown = JSON.parse(Buffer.concat(body).toString());
      const document = isJsonObject(parsed) ? parsed : {};
      const reply = path.includes(':') ? geminiReply(document) : openaiReply(document);
      const headers = { 'content-type': 'application/json' };
      return { status: 200, headers, body: scriptedBody({ chunks: [JSON.stringify(reply)] }) };
    },
    close: async () => {},
  };
}

function openaiReply(body: JsonObject): object {
  const tokens = Math.floor(countOpenai(body).text);
  const width = Number(body.dimensions ?? 1);
  const isPacked = body.encoding_format === 'base64';
  const vector = isPacked ? Buffer.alloc(4 * width).toString('base64') : Array(width).fill(0);
  return {
    data: inputsOf(body).map((_, index) => ({ index, embedding: vector })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function geminiReply(body: JsonObject): object {
  const { text, media } = countGemini(body);
  const requests = body.requests === undefined ? [body] : items(body.requests);
  const embeddings = requests.map((one) => ({
    values: Array(Number(member(one, 'outputDimensionality') ?? 1)).fill(0),
  }));
  return {
    embedding: embeddings[0],
    embeddings,
    usageMetadata: {
      promptTokenCount: Math.floor(text + media),
      promptTokenDetails: [{ modality: 'IMAGE', tokenCount: media }],
    },
  };
}

const base64 = 'iVBORw0KGgo'.padEnd(4_000, 'A');
const openaiSeeds: readonly JsonObject[] = [
  { input: 'What is the weather?', dimensions: 8, encoding_format: 'float', user: 'someone' },
  { input: ['What is', 'the "weather"?\n'], extra: { a: ['b', 1.5] } },
  { input: [1, 2, 3] },
  { input: [[1, 2, 3], [4]] },
];
const one = { content: { role: 'user', parts: [{ text: 'What is the weather?' }] } } as const;
const picture = { inlineData: { mimeType: 'image/png', data: base64 } };
const nativeSeeds: readonly JsonObject[] = [
  { ...one, taskType: 'RETRIEVAL_DOCUMENT', title: 'Weather', outputDimensionality: 8 },
  { content: { parts: [{ text: 'See' }, picture] } },
];
const seedsOf = [
  { path: '/v1/embeddings', seeds: openaiSeeds },
  { path: '/v1beta/models/m:embedContent', seeds: nativeSeeds },
  {
    path: '/v1beta/models/m:batchEmbedContents',
    seeds: [{ requests: [...nativeSeeds, one] }, { requests: [one, one], extra: 'x' }],
  },
] as const;

const prices = {
  'at one rate': tokenPrice({ input: '1', imageInput: '1', audioInput: '1', videoInput: '1' }),
  'with media at rates of their own': tokenPrice({
    ...{ input: '1', imageInput: '3', audioInput: '7', videoInput: '2' },
    tiers: [{ aboveInputTokens: 20_000, input: '2', imageInput: '9' }],
  }),
} as const;

/** Of the two, one is relayed and the other translated. */
const cases = [
  ['openai', 'at one rate'],
  ['openai', 'with media at rates of their own'],
  ['gemini', 'at one rate'],
  ['gemini', 'with media at rates of their own'],
] as const;

describe.each(seedsOf)('$path: no place costs more than was held', ({ path, seeds }) => {
  it.each(cases)('over %s, %s', async (dialect, name) => {
    const price = prices[name];
    const model: Model = {
      id: 'm',
      protocols: ['embeddings'],
      groups: ['staff'],
      price,
      channels: [channel({ dialect })],
      mediaPartTokens: mediaTokens,
    };
    const records: UsageRecord[] = [];
    const { call } = gatewayInProcess({
      models: [model],
      key: { quota: [{ id: 'caller', period: 'total', limitNanos: 9_000_000_000_000_000n }] },
      options: {
        upstream: countingUpstream(),
        usage: { record: (record) => void records.push(record), close: async () => {} },
      },
    });
    const violations: string[] = [];
    let accepted = 0;

    for (const seed of seeds) {
      for (const [which, plant] of plants.entries()) {
        let place = 0;
        for (const { at, body } of planted(seed, plant)) {
          place += 1;
          if (!isJsonObject(body) || (!isFull && place % 3 !== which % 3)) continue;
          records.length = 0;
          const { status } = await call({ path, body: { ...body, model: 'm' } });
          const [record] = records;
          if (status !== 200 || record === undefined) continue;
          accepted += 1;
          const { chargeNanos, heldNanos } = record;
          if (chargeNanos <= heldNanos) continue;
          violations.push(`${plant.what} at ${at}: ${chargeNanos} charged, ${heldNanos} held`);
        }
      }
    }

    expect(violations).toEqual([]);
    expect(accepted).toBeGreaterThan(plants.length);
  });
});
