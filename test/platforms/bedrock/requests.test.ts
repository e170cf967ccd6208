// suite: slow host
/**
 * What the gateway sends to Bedrock is what the official clients send: path, query, body and
 * headers, and its signatures are those of AWS.
 */

import { AnthropicAws } from '@anthropic-ai/aws-sdk';
import { AnthropicBedrock, AnthropicBedrockMantle } from '@anthropic-ai/bedrock-sdk';
import type Anthropic from '@anthropic-ai/sdk';
import { BedrockRuntimeClient, CountTokensCommand } from '@aws-sdk/client-bedrock-runtime';
import type { HttpRequest } from '@smithy/types';
import OpenAI from 'openai';
import { bedrock as openaiOnBedrock } from 'openai/providers/bedrock';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { bedrock } from '../../../src/platforms/bedrock/bedrock.ts';
import type { Channel } from '../../../src/ports/catalog.ts';
import type { UpstreamClient } from '../../../src/ports/upstream-client.ts';
import { undiciClient } from '../../../src/upstream/undici-client.ts';
import { anyModelGateway } from '../../support/any-model-gateway.ts';
import { type Recorded, type Recorder, startRecorder } from './recorder.ts';
import { signatureFacts } from './signature.ts';

let recorder: Recorder;
let upstream: UpstreamClient;

beforeAll(async () => {
  recorder = await startRecorder();
  upstream = undiciClient();
});
afterAll(async () => {
  await upstream.close();
  await recorder.close();
});
afterEach(() => recorder.forget());

const region = 'us-west-2';
const apiKey = 'bedrock-api-key-0123456789';
const keys = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: 'FwoGZXIvYXdzEXAMPLETOKEN//////////wEaD',
};
const workspaceId = 'wrkspc_0123456789';
const modelId = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const arn =
  'arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0';

type MessageParams = Omit<Anthropic.MessageCreateParamsNonStreaming, 'model'>;

const hello: MessageParams = { max_tokens: 64, messages: [{ role: 'user', content: 'Hello!' }] };
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A call of each kind. */
const calls: Readonly<Record<string, MessageParams>> = {
  text: hello,
  'a system prompt and settings': {
    ...hello,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    service_tier: 'standard_only',
    stop_sequences: ['END'],
    metadata: { user_id: 'u-1' },
  },
  tools: {
    ...hello,
    tools: [
      {
        name: 'weather',
        description: 'The weather in a city',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
    tool_choice: { type: 'auto' },
    messages: [
      { role: 'user', content: 'Weather in Rome?' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Sunny' }],
      },
    ],
  },
  images: {
    ...hello,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          { type: 'text', text: 'What is this?' },
        ],
      },
    ],
  },
  thinking: { ...hello, max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 1_024 } },
};

/** Sends a call through a gateway; `member` is the caller's, with `m` as its model. */
async function throughGateway(
  channel: Partial<Channel>,
  body: object,
  { path = '/v1/messages', search = '', headers = {} as Record<string, string> } = {},
): Promise<Recorded> {
  const model = { maxOutputTokens: 4_000 };
  const gateway = anyModelGateway({
    upstream,
    model,
    channel: { upstreamModel: modelId, ...channel },
  });
  const sentHeaders = { 'anthropic-version': '2026-10-21', ...headers };
  const request = {
    path,
    search,
    headers: sentHeaders,
    body: JSON.stringify({ model: 'm', ...body }),
  };
  const { status, text } = await gateway.call(request);
  expect(text, `status ${status}`).not.toContain('"error"');
  expect(status).toBe(200);
  return recorder.last();
}

/** Headers that are the client's own, its connection's, or that differ in each request. */
const unlike =
  /^(?:user-agent|accept-encoding|accept-language|connection|content-length|sec-fetch-mode|host|authorization|x-stainless-.*|x-amz-.*|amz-sdk-.*)$/;

/** What the official client sends and the gateway does not, and the other way round. */
const accepted: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  // The gateway asks for the form of the reply that it reads.
  mantle: ['accept'],
  anthropic: ['accept'],
  openai: ['accept'],
};

function compare(kind: keyof typeof accepted, ours: Recorded, theirs: Recorded): void {
  expect(ours.method).toBe(theirs.method);
  expect(ours.path).toBe(theirs.path);
  expect(JSON.parse(ours.body.toString())).toEqual(JSON.parse(theirs.body.toString()));
  const compared = ({ headers }: Recorded) =>
    Object.fromEntries(
      Object.entries(headers).filter(
        ([name]) => !unlike.test(name) && accepted[kind]?.includes(name) !== true,
      ),
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

    compare('runtime', await throughGateway(runtimeChannel(), params), theirs);
    expect(theirs.headers.authorization).toBe(`Bearer ${apiKey}`);
    expect(recorder.last().headers.authorization).toBe(`Bearer ${apiKey}`);
  });

  it.each(Object.keys(calls))('%s, streamed', async (name) => {
    const params = { ...(calls[name] ?? hello), stream: true } as const;
    for await (const _ of await official().messages.create({ ...params, model: modelId }));
    const theirs = recorder.last();

    compare('runtime', await throughGateway(runtimeChannel(), params), theirs);
  });

  it('by the ARN of an inference profile', async () => {
    await official().messages.create({ ...hello, model: arn });
    const theirs = recorder.last();
    const ours = await throughGateway({ ...runtimeChannel(), upstreamModel: arn }, hello);

    compare('runtime', ours, theirs);
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

    const asked = { search: 'beta=true', headers: { 'anthropic-beta': flags } };
    compare('runtime', await throughGateway(runtimeChannel(), hello, asked), { ...rest, headers });
    const own = { ...runtimeChannel(), headers: { 'Anthropic-Beta': flags } };
    compare('runtime', await throughGateway(own, hello), { ...rest, headers });
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
    const ours = await throughGateway(channel, params, { path });

    expect([ours.method, ours.path]).toEqual([theirs.method, theirs.path]);
    expect(ours.headers['content-type']).toBe(theirs.headers['content-type']);
    expect(countedBody(ours.body.toString())).toEqual(countedBody(String(theirs.body)));
  });
});

/** What AWS's own client would send: it speaks HTTP/2, which the recorder does not. */
async function sentByAws(command: CountTokensCommand): Promise<HttpRequest> {
  // On Node 20 it warns that later versions will need Node 22.
  vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', 'true');
  const sent: HttpRequest[] = [];
  const client = new BedrockRuntimeClient({
    region,
    credentials: keys,
    requestHandler: {
      handle: async (request: HttpRequest) => {
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

      compare('mantle', await throughGateway(channel(), { ...params, stream }), theirs);
    }
  });

  it('counts tokens', async () => {
    const params = { messages: hello.messages };
    await official().messages.countTokens({ ...params, model: modelId });
    const theirs = recorder.last();
    const path = '/v1/messages/count_tokens';

    compare('mantle', await throughGateway(channel(), params, { path }), theirs);
  });

  it('with beta flags', async () => {
    const betas = ['interleaved-thinking-2025-05-14'];
    await official().beta.messages.create({ ...hello, model: modelId, betas });
    const theirs = recorder.last();
    const asked = { headers: { 'anthropic-beta': betas.join() } };

    compare('mantle', await throughGateway(channel(), hello, asked), theirs);
  });
});

describe('Claude Platform on AWS', () => {
  it.each(Object.keys(calls))('%s', async (name) => {
    const params = calls[name] ?? hello;
    const baseURL = recorder.origin;
    const official = new AnthropicAws({
      awsRegion: region,
      apiKey,
      baseURL,
      workspaceId,
      maxRetries: 0,
    });
    await official.messages.create({ ...params, model: modelId });
    const theirs = recorder.last();
    const channel = {
      ...bedrock({ region, kind: 'anthropic', workspaceId, baseUrl: `${baseURL}/v1` }),
      credential: apiKey,
    };

    compare('anthropic', await throughGateway(channel, params), theirs);
    expect(recorder.last().headers['anthropic-workspace-id']).toBe(workspaceId);
    expect(recorder.last().headers.authorization).toBe(theirs.headers.authorization);
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

    compare('openai', await throughGateway(channel(), params, { path }), theirs);
    expect(recorder.last().headers.authorization).toBe(`Bearer ${apiKey}`);
  });

  it('Responses', async () => {
    const params = { input: 'Hello!', max_output_tokens: 64, store: false };
    await official().responses.create({ ...params, model: upstreamModel });
    const theirs = recorder.last();
    const path = '/v1/responses';
    const responses = { ...channel(), capabilities: { responses: true } };

    compare('openai', await throughGateway(responses, params, { path }), theirs);
  });
});

describe('a signed request', () => {
  const scopes = [
    ['runtime', '', 'bedrock'],
    ['mantle', '/anthropic/v1', 'bedrock-mantle'],
    ['anthropic', '/v1', 'aws-external-anthropic'],
  ] as const;

  it.each(scopes)('on %s is verified by AWS', async (kind, path, service) => {
    const { sessionToken: _, ...plain } = keys;
    for (const credential of [keys, plain]) {
      for (const upstreamModel of [modelId, arn, "odd !'()*&=+ name"]) {
        const workspace = kind === 'anthropic' ? { workspaceId } : {};
        const place = bedrock({ region, kind, baseUrl: `${recorder.origin}${path}`, ...workspace });
        const channel = { ...place, credential: () => credential, upstreamModel };
        const sent = await throughGateway(channel, hello, { search: 'beta=true' });

        expect(signatureFacts(sent, keys.secretAccessKey)).toMatchObject({
          accessKeyId: keys.accessKeyId,
          region,
          service,
          isValid: true,
        });
        expect(sent.headers['x-amz-security-token']).toBe(
          'sessionToken' in credential ? credential.sessionToken : undefined,
        );
        expect(sent.headers['x-api-key']).toBe(undefined);
      }
    }
  });

  it('is signed anew for each attempt with the keys that are valid then', async () => {
    let turn = 0;
    const renewed = [keys, { ...keys, accessKeyId: 'AKIAIOSFODNN7RENEWED' }];
    const channel = {
      ...bedrock({ region, kind: 'runtime', baseUrl: recorder.origin }),
      credential: () => renewed[turn++] ?? keys,
    };
    recorder.refuseNext(403, { 'x-amzn-errortype': 'ExpiredTokenException' });
    const sent = await throughGateway(channel, hello);

    expect(turn).toBe(2);
    expect(signatureFacts(sent, keys.secretAccessKey)).toMatchObject({
      accessKeyId: 'AKIAIOSFODNN7RENEWED',
      isValid: true,
    });
  });

  it('reads no other credentials of AWS than those of the channel', async () => {
    const sent = await throughGateway(runtimeChannel(), hello);

    expect(sent.headers['x-amz-date']).toBe(undefined);
    expect(sent.headers.authorization).toBe(`Bearer ${apiKey}`);
  });
});
