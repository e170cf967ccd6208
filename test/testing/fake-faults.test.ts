// suite: slow host
/** Faults by model name, and refusals of calls without the key. */
import { ApiError, GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { collect, hello, post } from './helpers.ts';

let upstream: FakeUpstream;
let openai: OpenAI;
let google: GoogleGenAI;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  openai = new OpenAI({ baseURL: upstream.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: upstream.origin } });
});

afterEach(() => upstream.close());

describe('with an apiKey', () => {
  it('accepts calls with the key and refuses others with the provider’s error', async () => {
    const locked = await startFakeUpstream({ apiKey: 'sk-right' });
    const asOpenai = (apiKey: string): OpenAI =>
      new OpenAI({ baseURL: locked.openaiBaseUrl, apiKey, maxRetries: 0 });
    const asGoogle = (apiKey: string): GoogleGenAI =>
      new GoogleGenAI({ apiKey, httpOptions: { baseUrl: locked.origin } });

    const right = await collect(asOpenai('sk-right').models.list());
    const rightGoogle = await asGoogle('sk-right').models.get({ model: 'gemini-2.5-flash' });
    const wrong = await asOpenai('sk-wrong')
      .models.list()
      .catch((error: unknown) => error);
    const wrongGoogle = await asGoogle('sk-wrong')
      .models.list()
      .catch((error: unknown) => error);
    const none = await fetch(`${locked.geminiBaseUrl}/models`);
    await locked.close();

    expect(right.length).toBeGreaterThan(0);
    expect(rightGoogle.name).toBe('models/gemini-2.5-flash');
    expect(wrong).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(wrongGoogle).toBeInstanceOf(ApiError);
    expect(String(wrongGoogle)).toContain('API_KEY_INVALID');
    expect(none.status).toBe(403);
  });
});

describe('faults by model name', () => {
  const chat = (model: string, stream = false): Promise<Response> =>
    post(upstream, '/v1/chat/completions', { model, messages: hello, stream });
  const native = (model: string, method = 'generateContent'): Promise<Response> =>
    post(upstream, `/v1beta/models/${model}:${method}`, {
      contents: [{ parts: [{ text: 'Hi' }] }],
    });

  it.each([
    ['demo-503', 503],
    ['demo-500', 500],
    ['demo-429', 429],
    ['demo-html', 502],
  ])('%s returns %i as each provider', async (model, status) => {
    const answers = await Promise.all([chat(model), chat(model, true), native(model)]);

    expect(answers.map((answer) => answer.status)).toEqual([status, status, status]);
  });

  it('demo-429 says when to retry, in the form of each provider', async () => {
    const openaiAnswer = await chat('demo-429');
    const googleAnswer = await native('demo-429');

    expect(openaiAnswer.headers.get('retry-after')).toBe('2');
    expect(JSON.stringify(await googleAnswer.json())).toContain('"retryDelay":"2s"');
  });

  it('demo-slow delays the status line', async () => {
    const slow = await startFakeUpstream({ slowMs: 1 });
    const client = new OpenAI({ baseURL: slow.openaiBaseUrl, apiKey: 'k' });

    const reply = await client.chat.completions.create({ model: 'demo-slow', messages: hello });
    await slow.close();

    expect(reply.choices).toHaveLength(1);
  });

  it('demo-cut breaks off half-way, streamed or not', async () => {
    for (const answer of [
      await chat('demo-cut'),
      await chat('demo-cut', true),
      await native('demo-cut'),
      await native('demo-cut', 'streamGenerateContent?alt=sse'),
    ]) {
      expect(answer.status).toBe(200);
      await expect(answer.text()).rejects.toThrow('terminated');
    }
  });

  it('demo-stall sends the first half and then nothing until the caller disconnects', async () => {
    const answer = await chat('demo-stall', true);
    const call = await upstream.nextCall();
    const reader = answer.body?.getReader();
    const first = await reader?.read();
    await reader?.cancel();

    expect(Buffer.from(first?.value ?? []).toString()).toMatch(/^data: /);
    expect(await call.closed).toBe('aborted');
  });

  it('demo-refuse resets the connection before a reply', async () => {
    await expect(chat('demo-refuse')).rejects.toThrow('fetch failed');
    await expect(native('demo-refuse')).rejects.toThrow('fetch failed');
  });

  it('demo-safety blocks the prompt and demo-empty has no content', async () => {
    const blocked = await google.models.generateContent({ model: 'demo-safety', contents: 'x' });
    const filtered = await (await chat('demo-safety')).json();
    const nothing = await google.models.generateContent({ model: 'demo-empty', contents: 'x' });
    const choiceless = await (await chat('demo-empty')).json();

    expect(blocked.promptFeedback?.blockReason).toBe('SAFETY');
    expect(blocked.candidates).toBeUndefined();
    expect(filtered).toMatchObject({ choices: [{ finish_reason: 'content_filter' }] });
    expect(nothing.candidates).toEqual([]);
    expect(choiceless).toMatchObject({ choices: [] });
  });

  it('demo-error-event fails inside a stream that has begun, like each provider', async () => {
    const stream = await openai.chat.completions.create({
      model: 'demo-error-event',
      messages: hello,
      stream: true,
    });
    const events = await native('demo-error-event', 'streamGenerateContent?alt=sse');
    const array = await native('demo-error-event', 'streamGenerateContent');
    const whole = await native('demo-error-event');

    await expect(collect(stream)).rejects.toThrow('The server had an error');
    // Google writes the error after the events without a `data:` prefix.
    expect(await events.text()).toMatch(/\}\r\n\r\n\{\n {2}"error": \{\n.*503/);
    expect(JSON.stringify(await array.json())).toContain('"UNAVAILABLE"');
    expect(whole.status).toBe(200);
    expect(await whole.json()).toMatchObject({ error: { status: 'INTERNAL' } });
  });
});
