// suite: slow host
/** Unmodified clients talk to models on Bedrock, and one host stands in for another. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bedrock } from '../../../src/platforms/bedrock/bedrock.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import {
  claudeSignature,
  thinkingPieces,
} from '../../../src/testing/providers/anthropic-replies.ts';
import { type MountedGateway, mountedGateway } from '../../support/mounted-gateway.ts';

const region = 'us-east-1';
const counted = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
let mounted: MountedGateway;

beforeAll(async () => {
  mounted = await mountedGateway({}, (upstream, credential): readonly Model[] => {
    const { runtime, mantle } = upstream.bedrockBaseUrls;
    const onRuntime = { ...bedrock({ region, kind: 'runtime', baseUrl: runtime }), credential };
    const onMantle = { ...bedrock({ region, kind: 'mantle', baseUrl: mantle }), credential };
    const model = (id: string, ...channels: readonly Channel[]): Model => ({
      id,
      vendor: 'Anthropic',
      protocols: ['messages', 'chat'],
      groups: ['chat'],
      price: { per: 'token', rates: { input: 1_000_000n, output: 1_000_000n } },
      maxOutputTokens: 4_000,
      channels,
    });
    const profile = 'us.anthropic.claude-sonnet-4-5-agent-2';
    const keys = () => ({ accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'secret' });
    return [
      model('runtime', { id: 'r', upstreamModel: profile, countModel: counted, ...onRuntime }),
      model('mantle', { id: 'm', upstreamModel: 'anthropic.claude-agent-2', ...onMantle }),
      model('signed', { id: 's', upstreamModel: profile, ...onRuntime, credential: keys }),
      model(
        'several',
        {
          id: 'direct',
          dialect: 'anthropic',
          baseUrl: upstream.anthropicBaseUrl,
          credential,
          upstreamModel: 'demo-503',
        },
        { id: 'r', priority: 1, upstreamModel: 'eu.anthropic.claude-sonnet-4-5', ...onRuntime },
      ),
      ...['demo-cut', 'demo-stall', 'demo-error-event', 'demo-429', 'demo-500'].map((fault) =>
        model(fault, { id: fault, upstreamModel: fault, ...onRuntime }),
      ),
    ];
  });
});
afterAll(() => mounted.close());

function client(): Anthropic {
  return new Anthropic({ baseURL: mounted.origin, apiKey: mounted.secrets.chat, maxRetries: 0 });
}

const weather: Anthropic.Tool = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

describe.each(['runtime', 'mantle', 'signed'])('Anthropic’s client on %s', (model) => {
  it('makes two rounds with tools, streamed, and counts tokens before each', async () => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Weather in Rome?' }];
    const params = { model, max_tokens: 2_000, tools: [weather], messages };
    for (let rounds = 0; ; rounds += 1) {
      const { input_tokens } = await client().messages.countTokens({ model, messages });
      expect(input_tokens).toBeGreaterThan(0);
      const { content, stop_reason, usage } = await client().messages.stream(params).finalMessage();
      expect(usage.output_tokens).toBeGreaterThan(0);
      if (stop_reason !== 'tool_use') {
        expect(rounds).toBe(2);
        expect(content.at(-1)?.type).toBe('text');
        break;
      }
      const results = content.flatMap((block) =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'Sunny' }]
          : [],
      );
      messages.push({ role: 'assistant', content }, { role: 'user', content: results });
    }
  });
});

it('OpenAI’s client is translated to runtime', async () => {
  const openai = new OpenAI({ baseURL: `${mounted.origin}/v1`, apiKey: mounted.secrets.chat });
  const stream = await openai.chat.completions.create({
    model: 'runtime',
    messages: [{ role: 'user', content: 'Hello!' }],
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let tokens = 0;
  for await (const { choices, usage } of stream) {
    text += choices[0]?.delta.content ?? '';
    tokens = usage?.completion_tokens ?? tokens;
  }

  expect(text).toContain('Hello');
  expect(tokens).toBeGreaterThan(0);
});

it('a call goes from Anthropic to Bedrock with its cache marks and signatures', async () => {
  const messages = [
    { role: 'user', content: 'Hello!' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: thinkingPieces.join(''), signature: claudeSignature },
        { type: 'text', text: 'Hi.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
    },
    { role: 'user', content: 'And now?' },
  ] as const satisfies readonly Anthropic.MessageParam[];
  mounted.upstream.reset();

  await client().messages.create({ model: 'several', max_tokens: 64, messages: [...messages] });

  const [direct, runtime] = mounted.upstream.calls;
  expect(mounted.upstream.calls).toHaveLength(2);
  expect(direct?.json()).toMatchObject({ model: 'demo-503', messages });
  expect(direct?.headers['anthropic-version']).toBe('2026-10-21');
  expect(runtime?.path).toBe('/model/eu.anthropic.claude-sonnet-4-5/invoke');
  expect(runtime?.json()).toEqual({ anthropic_version: '2026-10-21', max_tokens: 64, messages });
});

it.each([
  ['demo-cut', 502],
  ['demo-429', 429],
  ['demo-500', 502],
])('%s fails for the client with %i, streamed or not', async (model, status) => {
  const params = { model, max_tokens: 64, messages: [{ role: 'user' as const, content: 'Hi' }] };

  await expect(client().messages.create(params)).rejects.toMatchObject({ status });
  await expect(client().messages.stream(params).finalMessage()).rejects.toThrow();
});
