// suite: quick
/** Recorded replies, translated for callers of the other API, in every format they may ask for. */
import { describe, expect, it } from 'vitest';
import { type Fixture, fixture, fixtures } from '../../support/recorded/fixtures.ts';
import {
  answering,
  asFloats,
  embedGateway,
  floatsOf,
  nativeCall,
  openaiCall,
} from './embed-gateway.ts';

const recorded = fixtures('embeddings').filter(({ status }) => status === 200);
const geminiBatches = recorded.filter(({ url }) => url.includes(':batchEmbedContents'));
const openaiReplies = recorded.filter(({ url }) => url.endsWith('/embeddings'));

/** An upstream that gives this reply. */
function upstreamOf({ response }: Fixture) {
  return answering(() => ({ chunks: [response] }));
}

const textOf = ({ response }: Fixture): string => Buffer.from(response).toString();
const inputsOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `text ${index}`);

/** The numbers of a recorded Gemini reply as they are written, one list for each vector. */
function writtenNumbers(text: string): readonly string[] {
  return [...text.matchAll(/"values":\s*\[([^\]]*)\]/g)].map(([, list = '']) =>
    list.replace(/\s/g, ''),
  );
}

function openaiVectors(text: string): readonly (readonly number[])[] {
  return JSON.parse(text).data.map(({ embedding }: { embedding: string | readonly number[] }) =>
    typeof embedding === 'string' ? floatsOf(embedding) : embedding,
  );
}

describe.each(geminiBatches.map((one) => [one.name, one] as const))('%s', (_name, recording) => {
  const expected = writtenNumbers(textOf(recording));
  const usage = JSON.parse(textOf(recording)).usageMetadata?.promptTokenCount;

  it('reaches callers that want numbers digit for digit', async () => {
    const { call } = embedGateway({ dialect: 'gemini', upstream: upstreamOf(recording) });

    const { status, text } = await call(openaiCall({ input: inputsOf(expected.length) }));

    expect(status).toBe(200);
    expect([...text.matchAll(/"embedding":\[([^\]]*)\]/g)].map(([, list]) => list)).toEqual(
      expected,
    );
    expect(JSON.parse(text)).toMatchObject({ object: 'list', model: 'embedder' });
  });

  it('reaches callers that want Base64 as the nearest floats, with usage', async () => {
    const gateway = embedGateway({ dialect: 'gemini', upstream: upstreamOf(recording) });

    const { text, headers } = await gateway.call(
      openaiCall({ input: inputsOf(expected.length), encoding_format: 'base64' }),
    );
    const record = await gateway.nextRecord();

    const document = JSON.parse(text);
    expect(openaiVectors(text)).toEqual(expected.map((list) => asFloats(JSON.parse(`[${list}]`))));
    expect(document.data.map(({ index }: { index: number }) => index)).toEqual(
      expected.map((_, index) => index),
    );
    expect(document.usage.prompt_tokens).toBe(document.usage.total_tokens);
    if (usage === undefined) {
      expect(document.usage.prompt_tokens).toBeGreaterThan(0);
      expect(headers['x-tollgate-estimated']).toBe('usage');
    } else {
      expect(document.usage.prompt_tokens).toBe(usage);
      expect(headers['x-tollgate-estimated']).toBeUndefined();
    }
    expect(record.usage?.inputTokens).toBe(document.usage.prompt_tokens);
    expect(record.basis).toBe(usage === undefined ? 'estimate' : 'usage');
    expect(record.chargeNanos).toBe(BigInt(document.usage.prompt_tokens));
  });
});

describe('vectors of gemini-embedding-001 with fewer than all dimensions', () => {
  const upstream = () => upstreamOf(fixture('embeddings/gemini-batch.1'));
  const request = { input: inputsOf(3), dimensions: 768 };
  const setup = { dialect: 'gemini', upstreamModel: 'gemini-embedding-001' } as const;
  const lengthsIn = (text: string) => openaiVectors(text).map((one) => Math.hypot(...one));

  it.each([
    'float',
    'base64',
  ])('are scaled to unit length for OpenAI callers, as %s', async (format) => {
    const { call } = embedGateway({ ...setup, upstream: upstream() });

    const { text, headers } = await call(openaiCall({ ...request, encoding_format: format }));

    for (const length of lengthsIn(text)) expect(Math.abs(length - 1)).toBeLessThan(1e-6);
    expect(headers['x-tollgate-dropped']).toBe('reply.data.embedding');
  });

  it('are left alone where the channel says so, and listed nowhere', async () => {
    const { call } = embedGateway({
      ...setup,
      upstream: upstream(),
      capabilities: { unitLength: 'always' },
    });

    const { text, headers } = await call(openaiCall(request));

    for (const length of lengthsIn(text)) expect(length).toBeLessThan(0.6);
    expect(headers['x-tollgate-dropped']).toBeUndefined();
  });

  it('are scaled on a strict model too, which refuses only what a caller asks for', async () => {
    const { call } = embedGateway({ ...setup, upstream: upstream(), model: { strict: true } });

    const { status } = await call(
      openaiCall({ ...request, user: 'u1', encoding_format: 'base64' }),
    );

    expect(status).toBe(200);
  });
});

describe.each(openaiReplies.map((one) => [one.name, one] as const))('%s', (_name, recording) => {
  const document = JSON.parse(textOf(recording));
  const vectors = openaiVectors(textOf(recording));

  it('reaches native callers as numbers of nine digits at most, with usage', async () => {
    const upstream = upstreamOf(recording);
    const { call } = embedGateway({ dialect: 'openai', upstream });
    const content = { parts: [{ text: 'a' }] };

    const { status, text } = await call(
      nativeCall('batchEmbedContents', { requests: vectors.map(() => ({ content })) }),
    );

    const reply = JSON.parse(text);
    expect(status).toBe(200);
    expect(upstream.sent[0]?.body.encoding_format).toBe('base64');
    expect(
      reply.embeddings.map(({ values }: { values: readonly number[] }) => asFloats(values)),
    ).toEqual(vectors.map(asFloats));
    expect(reply.usageMetadata).toEqual({
      promptTokenCount: document.usage.prompt_tokens,
      promptTokenDetails: [{ modality: 'TEXT', tokenCount: document.usage.prompt_tokens }],
    });
  });

  it('keeps numbers in text digit for digit', async () => {
    const lists = [...textOf(recording).matchAll(/"embedding":\s*\[([^\]]*)\]/g)].map(
      ([, list = '']) => list.replace(/\s/g, ''),
    );
    const { call } = embedGateway({
      dialect: 'openai',
      upstream: upstreamOf(recording),
      capabilities: { embeddingBase64: false },
    });
    const content = { parts: [{ text: 'a' }] };

    const { text } = await call(
      nativeCall('batchEmbedContents', { requests: vectors.map(() => ({ content })) }),
    );

    if (lists.length === 0) return expect(typeof document.data[0].embedding).toBe('string');
    expect([...text.matchAll(/"values":\[([^\]]*)\]/g)].map(([, list]) => list)).toEqual(lists);
  });
});

describe('a native call of one content', () => {
  it('gets one embedding, and no usage where the upstream has none', async () => {
    const upstream = answering(() => ({
      chunks: ['{"object":"list","data":[{"embedding":[0.5,-1]}]}'],
    }));
    const gateway = embedGateway({ dialect: 'openai', upstream });

    const { text } = await gateway.call(
      nativeCall('embedContent', { content: { parts: [{ text: 'a' }] }, outputDimensionality: 2 }),
    );
    const { basis, chargeNanos } = await gateway.nextRecord();

    expect(text).toBe('{"embedding":{"values":[0.5,-1]}}');
    expect(upstream.sent[0]?.body).toEqual({
      model: 'text-embedding-3-small',
      input: ['a'],
      encoding_format: 'base64',
      dimensions: 2,
    });
    expect(basis).toBe('estimate');
    expect(chargeNanos).toBeGreaterThan(0n);
  });
});
