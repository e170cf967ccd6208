// suite: slow host
/** The fake Google, tested with the real SDK. */
import { FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { collect, decodePng, post } from './helpers.ts';

let upstream: FakeUpstream;
let google: GoogleGenAI;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  google = new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: upstream.origin } });
});

afterEach(() => upstream.close());

const weatherDeclaration = {
  name: 'get_weather',
  parameters: {
    type: Type.OBJECT,
    properties: { city: { type: Type.STRING } },
    required: ['city'],
  },
};

describe('as Google', () => {
  const request = { model: 'gemini-x', contents: 'Hello!' };

  it('replies with the requested model and with usage', async () => {
    const reply = await google.models.generateContent(request);

    expect(reply.text).toBe('Hello! How can I help you today?');
    expect(reply.modelVersion).toBe('gemini-x');
    expect(reply.usageMetadata).toMatchObject({ promptTokenCount: 9, totalTokenCount: 52 });
  });

  it('streams with the usage so far on every event', async () => {
    const events = await collect(await google.models.generateContentStream(request));

    expect(events.map((event) => event.text ?? '').join('')).toBe(
      'Hello! How can I help you today?',
    );
    expect(events.map((event) => event.usageMetadata?.candidatesTokenCount)).toEqual([3, 6, 9, 9]);
    expect(events.at(-1)?.candidates?.[0]?.finishReason).toBe('STOP');
  });

  it('frames a stream with CRLF and no [DONE] for alt=sse, and as an array without', async () => {
    const body = { contents: [{ parts: [{ text: 'Hello!' }] }] };
    const path = '/v1beta/models/gemini-x:streamGenerateContent';
    const events = await (await post(upstream, `${path}?alt=sse`, body)).text();
    const array = await (await post(upstream, path, body)).json();

    expect(events).toMatch(/^(data: [^\r\n]+\r\n\r\n)+$/);
    expect(events).not.toContain('[DONE]');
    expect(array).toHaveLength(4);
  });

  it('calls an offered function, streamed or not, and then replies to its result', async () => {
    const config = { tools: [{ functionDeclarations: [weatherDeclaration] }] };
    const reply = await google.models.generateContent({ ...request, config });
    const events = await collect(await google.models.generateContentStream({ ...request, config }));
    const answered = await google.models.generateContent({
      ...request,
      contents: [
        { role: 'user', parts: [{ text: 'Weather?' }] },
        reply.candidates?.[0]?.content ?? {},
        { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: {} } }] },
      ],
      config,
    });

    const call = { name: 'get_weather', args: { city: 'sample' } };
    expect(reply.functionCalls).toEqual([call]);
    expect(reply.candidates?.[0]?.content?.parts?.[0]?.thoughtSignature).toMatch(/^CusB/);
    expect(events.flatMap((event) => event.functionCalls ?? [])).toEqual([call]);
    expect(answered.text).toContain('57°F');
  });

  it('calls no function where the mode forbids it', async () => {
    const reply = await google.models.generateContent({
      ...request,
      config: {
        tools: [{ functionDeclarations: [weatherDeclaration] }],
        toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.NONE } },
      },
    });

    expect(reply.functionCalls).toBeUndefined();
  });

  it('respects a response schema with upper-case types', async () => {
    const reply = await google.models.generateContent({
      ...request,
      config: {
        responseMimeType: 'application/json',
        responseSchema: { type: Type.OBJECT, properties: { score: { type: Type.INTEGER } } },
      },
    });

    expect(JSON.parse(reply.text ?? '')).toEqual({ score: 1 });
  });

  it('returns an image in the requested ratio', async () => {
    const config = { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } };
    const drawn = await google.models.generateContent({ ...request, config });

    const data = drawn.candidates?.[0]?.content?.parts?.[0]?.inlineData?.data ?? '';
    expect(decodePng(data)).toEqual({ width: 1344, height: 768 });
  });

  it('includes thoughts on request, in a separate part', async () => {
    const config = { thinkingConfig: { includeThoughts: true } };
    const whole = await google.models.generateContent({ ...request, config });
    const events = await collect(await google.models.generateContentStream({ ...request, config }));

    const partsOf = (reply: typeof whole) => reply.candidates?.[0]?.content?.parts ?? [];
    const thoughts = events.flatMap(partsOf).filter(({ thought }) => thought === true);
    expect(partsOf(whole)).toMatchObject([{ thought: true }, { text: whole.text }]);
    expect(thoughts.map(({ text }) => text).join('')).toBe(partsOf(whole)[0]?.text);
  });

  it('counts tokens and pages through its models', async () => {
    const counted = await google.models.countTokens(request);
    const models = await collect(await google.models.list({ config: { pageSize: 4 } }));
    const one = await google.models.get({ model: 'gemini-2.5-flash' });

    expect(counted.totalTokens).toBe(9);
    expect(models.map((model) => model.name)).toContain('models/demo-html');
    expect(new Set(models.map((model) => model.name)).size).toBe(models.length);
    expect(one.displayName).toBe('Gemini 2.5 Flash');
  });

  it('accepts a model name with slashes and colons', async () => {
    const body = { contents: [{ parts: [{ text: 'Hello!' }] }] };
    const reply = await post(upstream, '/v1beta/models/vendor/m%3Afree:generateContent', body);

    expect(await reply.json()).toMatchObject({ modelVersion: 'vendor/m:free' });
  });

  it('refuses unknown paths and invalid bodies with its own 404 and 400', async () => {
    const path = await post(upstream, '/v1beta/nothing', {});
    const method = await post(upstream, '/v1beta/models/m:embedText', {});
    const empty = await post(upstream, '/v1beta/models/m:generateContent', { contents: [] });

    expect([path.status, method.status, empty.status]).toEqual([404, 404, 400]);
    expect(await path.json()).toMatchObject({ error: { code: 404, status: 'NOT_FOUND' } });
    expect(await empty.json()).toEqual({
      error: {
        code: 400,
        message: '* GenerateContentRequest.contents: contents is not specified\n',
        status: 'INVALID_ARGUMENT',
      },
    });
  });
});
