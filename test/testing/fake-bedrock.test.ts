// suite: slow host
/** The fake Bedrock answers Anthropic's client for Bedrock, and refuses what Bedrock refuses. */
import { AnthropicBedrock, AnthropicBedrockMantle } from '@anthropic-ai/bedrock-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { collect, post } from './helpers.ts';

const apiKey = 'bedrock-api-key-0123456789';
const version = { anthropic_version: 'bedrock-2023-05-31' };
const hello = { max_tokens: 64, messages: [{ role: 'user', content: 'Hello!' }] } as const;
const model = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await startFakeUpstream({ apiKey });
});
afterEach(() => upstream.close());

function client(): AnthropicBedrock {
  const baseURL = upstream.bedrockBaseUrls.runtime;
  return new AnthropicBedrock({ apiKey, awsRegion: 'us-east-1', baseURL, maxRetries: 0 });
}

it('answers whole and as a stream with one text', async () => {
  const params = { ...hello, model, messages: [...hello.messages] };
  const whole = await client().messages.create(params);
  const events = await collect(await client().messages.create({ ...params, stream: true }));

  const text = events.flatMap((event) =>
    event.type === 'content_block_delta' && event.delta.type === 'text_delta'
      ? [event.delta.text]
      : [],
  );
  expect(whole.content).toEqual([{ type: 'text', text: text.join('') }]);
  expect(events.at(-1)?.type).toBe('message_stop');
});

it('has the paths of Anthropic and OpenAI below that of mantle', async () => {
  const baseURL = upstream.bedrockBaseUrls.mantle.replace(/\/v1$/, '');
  const mantle = new AnthropicBedrockMantle({ apiKey, awsRegion: 'us-east-1', baseURL });
  const messages = [...hello.messages];

  expect((await mantle.messages.countTokens({ model, messages })).input_tokens).toBeGreaterThan(0);
  expect(
    (await send('/bedrock-mantle/openai/v1/chat/completions', { model, messages })).status,
  ).toBe(200);
});

it('takes a signed request', async () => {
  const signed = new AnthropicBedrock({
    awsAccessKey: 'AKIAIOSFODNN7EXAMPLE',
    awsSecretKey: 'secret',
    awsRegion: 'us-east-1',
    baseURL: upstream.bedrockBaseUrls.runtime,
  });

  const { role } = await signed.messages.create({ ...hello, model, messages: [...hello.messages] });

  expect(role).toBe('assistant');
});

function send(path: string, body: unknown, authorization = `Bearer ${apiKey}`): Promise<Response> {
  const headers = { 'content-type': 'application/json', authorization };
  return post(upstream, path, body, { headers });
}

function counted(body: object): unknown {
  const encoded = Buffer.from(JSON.stringify(body)).toString('base64');
  return { input: { invokeModel: { body: encoded } } };
}

it.each<[string, string, unknown, number, string]>([
  ['a wrong key', '/model/m/invoke', { ...version, ...hello }, 403, 'AccessDeniedException'],
  [
    'a body with a model',
    '/model/m/invoke',
    { ...version, ...hello, model },
    400,
    'ValidationException',
  ],
  [
    'a body with stream',
    '/model/m/invoke',
    { ...version, ...hello, stream: true },
    400,
    'ValidationException',
  ],
  ['a body without a version', '/model/m/invoke', hello, 400, 'ValidationException'],
  [
    'a body without a bound',
    '/model/m/invoke',
    { ...version, messages: [] },
    400,
    'ValidationException',
  ],
  ['a body that is no object', '/model/m/invoke', [], 400, 'ValidationException'],
  [
    'a count of an inference profile',
    `/model/${model}/count-tokens`,
    counted({ ...version, ...hello }),
    400,
    'ValidationException',
  ],
  ['a count of no body', '/model/anthropic.claude-x/count-tokens', {}, 400, 'ValidationException'],
  ['a fault', '/model/demo-429/invoke', { ...version, ...hello }, 429, 'ThrottlingException'],
])('refuses %s', async (what, path, body, status, name) => {
  const response = await send(path, body, what === 'a wrong key' ? 'Bearer wrong' : undefined);

  expect(response.status).toBe(status);
  expect(response.headers.get('x-amzn-errortype')).toBe(name);
  expect(await response.json()).toEqual({ message: expect.any(String) });
});

it('counts the tokens of a foundation model', async () => {
  const path = '/model/anthropic.claude-sonnet-4-5-20250929-v1:0/count-tokens';
  const response = await send(path, counted({ ...version, ...hello }));

  expect(await response.json()).toEqual({ inputTokens: expect.any(Number) });
});

it('has an exception inside the stream of a model that fails so', async () => {
  const stream = await client().messages.create({
    ...hello,
    model: 'demo-error-event',
    messages: [...hello.messages],
    stream: true,
  });

  await expect(collect(stream)).rejects.toThrow();
});
