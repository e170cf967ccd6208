// suite: slow host
/** The fake providers' embeddings: deterministic vectors of length 1, as the request asks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { post } from './helpers.ts';

let upstream: FakeUpstream;
beforeAll(async () => {
  upstream = await startFakeUpstream();
});
afterAll(() => upstream.close());

const openai = async (body: object) => {
  const reply = await post(upstream, '/v1/embeddings', {
    model: 'text-embedding-3-small',
    ...body,
  });
  return { status: reply.status, document: JSON.parse(await reply.text()) };
};
const google = async (model: string, method: string, body: object) => {
  const reply = await post(upstream, `/v1beta/models/${model}:${method}`, body);
  return { status: reply.status, document: JSON.parse(await reply.text()) };
};
const text = (words: string) => ({ content: { parts: [{ text: words }] } });
const lengthOf = (vector: readonly number[]) => Math.hypot(...vector);

describe('the fake OpenAI', () => {
  it('gives each input a vector of length 1, the same for the same text', async () => {
    const { document } = await openai({ input: ['a', 'b', 'a'] });
    const [a, b, again] = document.data.map((one: { embedding: number[] }) => one.embedding);

    expect(a).toHaveLength(1_536);
    expect(lengthOf(a)).toBeCloseTo(1, 6);
    expect(again).toEqual(a);
    expect(b).not.toEqual(a);
    expect(document).toMatchObject({
      object: 'list',
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
    expect(document.data.map((one: { index: number }) => one.index)).toEqual([0, 1, 2]);
  });

  it('packs the same numbers into Base64 on request', async () => {
    const request = { input: 'hello', dimensions: 8 };
    const floats = (await openai(request)).document.data[0].embedding;
    const packed = (await openai({ ...request, encoding_format: 'base64' })).document.data[0];

    const bytes = Buffer.from(packed.embedding, 'base64');
    expect(Array.from({ length: 8 }, (_, at) => bytes.readFloatLE(at * 4))).toEqual(floats);
  });

  it('counts token ids', async () => {
    expect((await openai({ input: [1, 2, 3] })).document.usage.prompt_tokens).toBe(3);
    expect((await openai({ input: [[1], [2, 3]] })).document.data).toHaveLength(2);
  });

  it('refuses a request without input', async () => {
    expect((await openai({})).status).toBe(400);
  });
});

describe('the fake Google', () => {
  it('answers one content and a batch, with the usage of newer models', async () => {
    const one = await google('gemini-embedding-2', 'embedContent', text('hello'));
    const batch = await google('gemini-embedding-2', 'batchEmbedContents', {
      requests: [{ model: 'models/gemini-embedding-2', ...text('hello') }],
    });

    expect(one.document.embedding.values).toHaveLength(3_072);
    expect(batch.document.embeddings).toEqual([one.document.embedding]);
    expect(batch.document.usageMetadata).toMatchObject({ promptTokenCount: 2 });
  });

  it('shortens vectors of the first model without scaling them, and has no usage', async () => {
    const short = { ...text('hello'), outputDimensionality: 768 };
    const { document } = await google('gemini-embedding-001', 'embedContent', short);

    expect(document.embedding.values).toHaveLength(768);
    expect(lengthOf(document.embedding.values)).toBeCloseTo(0.58, 6);
    expect(document).not.toHaveProperty('usageMetadata');
  });
});
