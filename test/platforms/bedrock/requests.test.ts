// suite: slow host
/**
 * What the gateway sends to Bedrock is what the official clients send: path, query, body and
 * headers.
 */

import { AnthropicAws } from '@anthropic-ai/aws-sdk';
import { AnthropicBedrock, AnthropicBedrockMantle } from '@anthropic-ai/bedrock-sdk';
import { BedrockRuntimeClient, CountTokensCommand } from '@aws-sdk/client-bedrock-runtime';
import OpenAI from 'openai';
import { bedrock as openaiOnBedrock } from 'openai/providers/bedrock';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { bedrock } from '../../../src/platforms/bedrock/bedrock.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { apiKey, arn, calls, hello, keys, modelId, region, workspaceId } from './calls.ts';
import { type Recorded, type Recorder, startRecorder } from './recorder.ts';

let recorder: Recorder;

beforeAll(async () => {
  recorder = await startRecorder();
});
afterAll(async () => {
  await recorder.close();
});
afterEach(() => recorder.forget());

/** Headers that are the client's own, its connection's, or that differ in each request. */
const unlike = new RegExp(
  [
    '^(?:user-agent|accept-encoding|accept-language|connection|content-length|sec-fetch-mode',
    'host|authorization|x-stainless-.*|x-amz-.*)$',
  ].join('|'),
);

/** Streams of events have this type; the clients ask for JSON in either case. */
const streamType = 'text/event-stream';

function compare(ours: Recorded, theirs: Recorded): void {
  expect(ours.method).toBe(theirs.method);
  expect(ours.path).toBe(theirs.path);
  expect(JSON.parse(ours.body.toString())).toEqual(JSON.parse(theirs.body.toString()));
  const compared = ({ headers }: Recorded) =>
    Object.fromEntries(
      Object.entries(headers)
        .filter(([name]) => !unlike.test(name))
        .map(([name, value]) => [name, value === streamType ? 'application/json' : value]),
    );
  expect(compared(ours)).toEqual(compared(theirs));
}

const runtimeChannel = (): Partial<Channel> => ({
  ...bedrock({ region, kind: 'runtime', baseUrl: recorder.origin }),
  credential: apiKey,
});

describe('on runtime, Claude', () => {
  const official = (): AnthropicBedrock =>
    new AnthropicBedrock({ awsRegion: region, apiKey, baseURL: recorder.origin, maxRetries: 0 });

  it.each(Object.keys(calls))('%s', async (name) => {
    const params = calls[name] ?? hello;
    await official().messages.create({ ...params, model: modelId });
    const theirs = recorder.last();

    compare(await recorder.throughGateway(runtimeChannel(), params), theirs);
    expect(theirs.headers.authorization).toBe(`Bearer ${apiKey}`);
    expect(recorder.last().headers.authorization).toBe(`Bearer ${apiKey}`);
  });

  it.each(Object.keys(calls))('%s, streamed', async (name) => {
    const params = { ...(calls[name] ?? hello), stream: true } as const;
    for await (const _ of await official().messages.create({ ...params, model: modelId }));
    const theirs = recorder.last();

    compare(await recorder.throughGateway(runtimeChannel(), params), theirs);
  });

  it('by the ARN of an inference profile', async () => {
    await official().messages.create({ ...hello, model: arn });
    const theirs = recorder.last();
    const ours = await recorder.throughGateway({ ...runtimeChannel(), upstreamModel: arn }, hello);

    compare(ours, theirs);
    expect(ours.path).toContain(
      '/model/arn:aws:bedrock:us-west-2:123456789012:inference-profile%2F',
    );
  });

  it('with beta flags, of the caller or of the channel', async () => {
    const betas = ['interleaved-thinking-2025-05-14', 'context-1m-2025-08-07'];
    await official().beta.messages.create({ ...hello, model: modelId, betas });
    const { headers: theirHeaders, ...rest } = recorder.last();
    const { 'anthropic-beta': _, ...headers } = theirHeaders;
    const flags = betas.join(',');

    const options = { search: 'beta=true', headers: { 'anthropic-beta': flags } };
    compare(await recorder.throughGateway(runtimeChannel(), hello, options), { ...rest, headers });
    const own = { ...runtimeChannel(), headers: { 'Anthropic-Beta': flags } };
    compare(await recorder.throughGateway(own, hello), { ...rest, headers });
  });

  it('counts tokens', async () => {
    const params = { messages: hello.messages };
    const body = { anthropic_version: '2026-10-21', max_tokens: 1, ...params };
    const counted = 'anthropic.claude-sonnet-4-5-20250929-v1';
    const theirs = await sentByAws(
      new CountTokensCommand({
        modelId: counted,
        input: { invokeModel: { body: Buffer.from(JSON.stringify(body)) } },
      }),
    );
    const channel = { ...runtimeChannel(), countModel: counted };
    const path = '/v1/messages/count_tokens';
    const ours = await recorder.throughGateway(channel, params, { path });

    expect([ours.method, ours.path]).toEqual([theirs.method, theirs.path]);
    expect(ours.headers['content-type']).toBe(theirs.headers['content-type']);
    expect(countedBody(ours.body.toString())).toEqual(
      countedBody(new TextDecoder().decode(theirs.body)),
    );
  });
});

interface SentByAws {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** What AWS's own client would send: it speaks HTTP/2, which the recorder does not. */
async function sentByAws(command: CountTokensCommand): Promise<SentByAws> {
  // On Node 20 it warns that later versions will need Node 22.
  vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', 'true');
  const sent: SentByAws[] = [];
  const client = new BedrockRuntimeClient({
    region,
    credentials: keys,
    requestHandler: {
      handle: async (request: SentByAws) => {
        sent.push(request);
        throw new Error('recorded');
      },
    },
    maxAttempts: 1,
  });
  await expect(client.send(command)).rejects.toThrow('recorded');
  vi.unstubAllEnvs();
  const [first] = sent;
  if (first === undefined) throw new Error('Nothing was sent.');
  return first;
}

function countedBody(text: string): unknown {
  const { input, ...others } = JSON.parse(text);
  const { invokeModel, ...rest } = input;
  return [others, rest, JSON.parse(Buffer.from(invokeModel.body, 'base64').toString())];
}

describe('on mantle, Claude', () => {
  const baseUrl = (): string => `${recorder.origin}/anthropic`;
  const official = (): AnthropicBedrockMantle =>
    new AnthropicBedrockMantle({ awsRegion: region, apiKey, baseURL: baseUrl(), maxRetries: 0 });
  const channel = (): Partial<Channel> => ({
    ...bedrock({ region, kind: 'mantle', baseUrl: `${baseUrl()}/v1` }),
    credential: apiKey,
  });

  it.each(Object.keys(calls))('%s', async (name) => {
    const params = calls[name] ?? hello;
    for (const stream of [false, true]) {
      await official().messages.create({ ...params, model: modelId, stream });
      const theirs = recorder.last();

      compare(await recorder.throughGateway(channel(), { ...params, stream }), theirs);
    }
  });

  it('counts tokens', async () => {
    const params = { messages: hello.messages };
    await official().messages.countTokens({ ...params, model: modelId });
    const theirs = recorder.last();
    const path = '/v1/messages/count_tokens';

    compare(await recorder.throughGateway(channel(), params, { path }), theirs);
  });

  it('with beta flags', async () => {
    const betas = ['interleaved-thinking-2025-05-14'];
    await official().beta.messages.create({ ...hello, model: modelId, betas });
    const theirs = recorder.last();
    const options = { headers: { 'anthropic-beta': betas.join() } };

    compare(await recorder.throughGateway(channel(), hello, options), theirs);
  });
});

describe('Claude Platform on AWS', () => {
  const official = (): AnthropicAws =>
    new AnthropicAws({
      ...{ awsRegion: region, apiKey, baseURL: recorder.origin, workspaceId, maxRetries: 0 },
    });
  const channel = (): Partial<Channel> => ({
    ...bedrock({ region, kind: 'anthropic', workspaceId, baseUrl: `${recorder.origin}/v1` }),
    credential: apiKey,
  });

  it.each(Object.keys(calls))('%s', async (name) => {
    const params = calls[name] ?? hello;
    for (const stream of [false, true]) {
      await official().messages.create({ ...params, model: modelId, stream });
      const theirs = recorder.last();

      compare(await recorder.throughGateway(channel(), { ...params, stream }), theirs);
      expect(recorder.last().headers['anthropic-workspace-id']).toBe(workspaceId);
      expect(recorder.last().headers.authorization).toBe(theirs.headers.authorization);
    }
  });

  it('counts tokens', async () => {
    const params = { messages: hello.messages };
    await official().messages.countTokens({ ...params, model: modelId });
    const theirs = recorder.last();
    const path = '/v1/messages/count_tokens';

    compare(await recorder.throughGateway(channel(), params, { path }), theirs);
  });
});

describe.each(['mantle', 'runtime'] as const)("on %s, OpenAI's API", (kind) => {
  const baseURL = (): string => `${recorder.origin}/openai/v1`;
  const upstreamModel = 'openai.gpt-oss-120b';
  const official = (): OpenAI =>
    new OpenAI({
      provider: openaiOnBedrock({ region, apiKey, baseURL: baseURL() }),
      maxRetries: 0,
    });
  const channel = (): Partial<Channel> => ({
    ...bedrock({ region, kind, dialect: 'openai', baseUrl: baseURL() }),
    credential: apiKey,
    upstreamModel,
  });
  const messages = [{ role: 'user', content: 'Hello!' }] as const;

  it('chat', async () => {
    const params = { messages: [...messages], max_completion_tokens: 64 };
    await official().chat.completions.create({ ...params, model: upstreamModel });
    const theirs = recorder.last();
    const path = '/v1/chat/completions';

    compare(await recorder.throughGateway(channel(), params, { path }), theirs);
    expect(recorder.last().headers.authorization).toBe(`Bearer ${apiKey}`);
  });

  it('Responses', async () => {
    const params = { input: 'Hello!', max_output_tokens: 64, store: false };
    await official().responses.create({ ...params, model: upstreamModel });
    const theirs = recorder.last();
    const path = '/v1/responses';
    const responses = { ...channel(), capabilities: { responses: true } };

    compare(await recorder.throughGateway(responses, params, { path }), theirs);
  });
});
