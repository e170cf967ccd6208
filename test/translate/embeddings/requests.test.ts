// suite: quick
/** What is carried, refused and listed of translated embedding requests. */
import { describe, expect, it } from 'vitest';
import { answering, embedGateway, nativeCall, openaiCall } from './embed-gateway.ts';

const gemini = () => answering(() => ({ chunks: ['{"embeddings":[{"values":[1]}]}'] }));
const openai = () => answering(() => ({ chunks: ['{"data":[{"index":0,"embedding":[1]}]}'] }));

async function overGemini(members: object, model: object = {}) {
  const upstream = gemini();
  const { call } = embedGateway({
    dialect: 'gemini',
    upstream,
    upstreamModel: 'gemini-embedding-2',
    model,
  });
  const reply = await call(openaiCall({ input: 'a', ...members }));
  return { ...reply, sent: upstream.sent[0], document: JSON.parse(reply.text) };
}

async function overOpenai(request: object, model: object = {}) {
  const upstream = openai();
  const { call } = embedGateway({ dialect: 'openai', upstream, model });
  const reply = await call(nativeCall('batchEmbedContents', { requests: [request] }));
  return { ...reply, sent: upstream.sent[0], document: JSON.parse(reply.text) };
}

const parts = [{ text: 'a' }];

describe('a call of OpenAI’s shape over Gemini', () => {
  it('is a batch, with the model in each request', async () => {
    const { sent } = await overGemini({ input: ['task: search result | query: x'], user: 'u1' });

    expect(sent?.path).toBe('/v1/models/gemini-embedding-2:batchEmbedContents');
    expect(sent?.body).toEqual({
      requests: [
        {
          model: 'models/gemini-embedding-2',
          content: { parts: [{ text: 'task: search result | query: x' }] },
        },
      ],
    });
  });

  it.each([
    [{ task_type: 'retrieval_query', title: 'T' }],
    [{ extra_body: { google: { task_type: 'RETRIEVAL_QUERY', title: 'T' } } }],
    [{ google: { task_type: 'Retrieval_Query', title: 'T' } }],
  ])('carries the task and the title of %j', async (members) => {
    const { sent, headers } = await overGemini({ ...members, dimensions: 1 });

    expect(sent?.body.requests[0]).toMatchObject({
      taskType: 'RETRIEVAL_QUERY',
      title: 'T',
      outputDimensionality: 1,
    });
    expect(headers['x-tollgate-dropped']).toBeUndefined();
  });

  it.each([[[1, 2, 3]], [[[1], [2]]]])('refuses token ids: %j', async (input) => {
    const { status, document, sent } = await overGemini({ input });

    expect(status).toBe(400);
    expect(document.error).toMatchObject({ param: 'input', type: 'invalid_request_error' });
    expect(sent).toBeUndefined();
  });

  it('lists members that nobody carries, and refuses them on a strict model', async () => {
    const members = { truncate: 'END', extra_body: { google: { speed: 1 } }, user: 'u' };
    const { headers } = await overGemini(members);
    const strict = await overGemini(members, { strict: true });

    expect(headers['x-tollgate-dropped']).toBe('truncate,extra_body.google.speed');
    expect(strict.document.error).toMatchObject({ param: 'truncate' });
  });

  it('never refuses the encoding, nor `user`, on a strict model', async () => {
    for (const encoding_format of ['float', 'base64']) {
      const { status } = await overGemini({ encoding_format, user: 'u' }, { strict: true });

      expect(status).toBe(200);
    }
  });

  it('answers numbers where nothing is asked for, and Base64 where it is', async () => {
    const numbers = await overGemini({});
    const base64 = await overGemini({ encoding_format: 'base64' });

    expect(numbers.document.data[0].embedding).toEqual([1]);
    expect(base64.document.data[0].embedding).toBe('AACAPw==');
  });
});

describe('a native call over OpenAI', () => {
  it('joins the texts of one content, and says so', async () => {
    const { sent, headers } = await overOpenai({ content: { parts: [...parts, { text: 'b' }] } });

    expect(sent?.body.input).toEqual(['a\nb']);
    expect(headers['x-tollgate-dropped']).toBe('requests[0].content');
  });

  it.each([
    ['inlineData', { inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
    ['inline_data', { inline_data: { mime_type: 'image/png', data: 'AAAA' } }],
    ['fileData', { fileData: { fileUri: 'files/1' } }],
    ['an unknown part', { thing: {} }],
  ])('refuses %s by its path', async (_name, part) => {
    const { status, text } = await overOpenai({ content: { parts: [...parts, part] } });

    expect(status).toBe(400);
    expect(text).toContain('requests[0].content.parts[1]');
  });

  it.each([[[]], [[{ text: '' }]]])('refuses the empty content %j', async (empty) => {
    const { status, text } = await overOpenai({ content: { parts: empty } });

    expect(status).toBe(400);
    expect(text).toContain('requests[0].content');
  });

  it('lists what only Google knows, once', async () => {
    const upstream = answering(() => ({
      chunks: ['{"data":[{"embedding":[1]},{"embedding":[2]}]}'],
    }));
    const { call } = embedGateway({ dialect: 'openai', upstream });
    const one = { content: { parts }, taskType: 'CLUSTERING', autoTruncate: true, title: 't' };

    const { headers } = await call(nativeCall('batchEmbedContents', { requests: [one, one] }));

    expect(headers['x-tollgate-dropped']).toBe(
      'requests.autoTruncate,requests.taskType,requests.title',
    );
    expect(upstream.sent[0]?.body).toEqual({
      model: 'text-embedding-3-small',
      input: ['a', 'a'],
      encoding_format: 'base64',
    });
  });

  it.each([
    ['outputDimensionality', 'outputDimensionality'],
    ['output_dimensionality', 'output_dimensionality'],
  ])('carries `%s`, and refuses different ones in one batch', async (name) => {
    const { sent } = await overOpenai({ content: { parts }, [name]: 1 });
    const { call } = embedGateway({ dialect: 'openai', upstream: openai() });
    const requests = [{ content: { parts }, [name]: 1 }, { content: { parts } }];
    const refused = await call(nativeCall('batchEmbedContents', { requests }));

    expect(sent?.body.dimensions).toBe(1);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('requests[1].outputDimensionality');
  });

  it('asks for numbers where the channel knows no Base64', async () => {
    const upstream = openai();
    const { call } = embedGateway({
      dialect: 'openai',
      upstream,
      capabilities: { embeddingBase64: false },
    });

    await call(nativeCall('embedContent', { content: { parts } }));

    expect(upstream.sent[0]?.body.encoding_format).toBe('float');
  });
});

describe('the hold of a title', () => {
  it('counts it with each input', async () => {
    const upstream = gemini();
    const gateway = embedGateway({ dialect: 'gemini', upstream });
    const title = 'x'.repeat(1_000);

    await gateway.call(openaiCall({ input: ['a', 'b', 'c'], title }));
    const { heldNanos } = await gateway.nextRecord();

    expect(heldNanos).toBeGreaterThanOrEqual(1_200n);
  });
});
