// suite: slow host
/**
 * What the gateway sends to Azure is what the official clients send: path, query, body and headers.
 */

import { AnthropicFoundry } from '@anthropic-ai/foundry-sdk';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { AzureOpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { azure } from '../../../src/platforms/places.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import type { AzureOptions } from '../../../src/ports/models/platform.ts';
import type { RecordedCall } from '../../../src/testing/providers/exchange.ts';
import { type MountedGateway, mountedGateway } from '../../support/mounted-gateway.ts';
import { collect } from '../../testing/helpers.ts';

const apiVersion = '2025-04-01-preview';
const deployment = 'gpt-eu';

/** The channels, each the only one of a model with its name. */
const platforms: Readonly<Record<string, Omit<AzureOptions, 'baseUrl'>>> = {
  v1: { kind: 'v1' },
  deployments: { kind: 'deployments', apiVersion },
  images: { kind: 'v1', kinds: { images: 'deployments' }, apiVersion },
  others: {
    kind: 'deployments',
    kinds: { chat: 'v1', responses: 'v1', embeddings: 'v1' },
    apiVersion,
  },
  foundry: { kind: 'anthropic' },
};

let harness: MountedGateway;

beforeAll(async () => {
  harness = await mountedGateway({}, (upstream, secret) =>
    Object.entries(platforms).flatMap(([id, options]) =>
      [secret, async () => ({ token: secret })].map((credential, index): Model => {
        const name = index === 0 ? id : `${id}-token`;
        const place = azure({ ...options, baseUrl: upstream.origin, deployment });
        const channel: Channel = { id: name, credential, ...place };
        const protocols =
          place.dialect === 'anthropic'
            ? (['messages'] as const)
            : (['chat', 'responses', 'embeddings', 'images'] as const);
        return {
          id: name,
          price: { per: 'free' },
          groups: ['chat'],
          protocols,
          channels: [channel],
        };
      }),
    ),
  );
});

afterAll(() => harness.close());

const calls: Readonly<Record<string, (client: OpenAI, model: string) => Promise<unknown>>> = {
  text: (client, model) => client.chat.completions.create({ model, messages, temperature: 0.5 }),
  stream: async (client, model) =>
    collect(
      await client.chat.completions.create({
        model,
        messages,
        stream: true,
        stream_options: { include_usage: true },
      }),
    ),
  tools: (client, model) =>
    client.chat.completions.create({
      model,
      messages,
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      tool_choice: 'required',
    }),
  responses: (client, model) => client.responses.create({ model, input: 'Hi', store: false }),
  'responses stream': async (client, model) =>
    collect(await client.responses.create({ model, input: 'Hi', stream: true })),
  count: (client, model) => client.responses.inputTokens.count({ model, input: 'Hi' }),
  embeddings: (client, model) =>
    client.embeddings.create({ model, input: ['Hi', 'Ho'], encoding_format: 'float' }),
  images: (client, model) =>
    client.images.generate({ model, prompt: 'a cat', size: '1024x1024', quality: 'low' }),
};
const messages = [{ role: 'user' as const, content: 'Hi' }];

/** Why a header differs, or is sent by one side alone. */
const ownHeaders: Readonly<Record<string, string>> = {
  accept: 'the gateway asks for the framing that it expects, the SDKs always for JSON',
  'accept-encoding': 'the gateway reads replies as they are sent',
  'accept-language': 'written by the fetch of Node',
  connection: 'written by the HTTP client',
  'content-length': 'the members of the body are in another order, or their spaces differ',
  'sec-fetch-mode': 'written by the fetch of Node',
  'transfer-encoding': 'written by the HTTP client',
  'user-agent': 'names the client',
  'anthropic-dangerous-direct-browser-access': 'a remark of the SDK about browsers',
};

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
}

function sentIn({ method, path, headers, json }: RecordedCall): Sent {
  const own = Object.entries(headers).filter(
    ([name]) => !Object.hasOwn(ownHeaders, name) && !name.startsWith('x-stainless-'),
  );
  return { method, path, body: json(), headers: Object.fromEntries(own) };
}

/** What one client sends, to the upstream or through the gateway. */
async function sentBy(call: () => Promise<unknown>): Promise<Sent> {
  const before = harness.upstream.calls.length;
  await call();
  const made = harness.upstream.calls.slice(before);
  expect(made.length).toBe(1);
  const [only] = made;
  if (only === undefined) throw new Error('Nothing was sent.');
  return sentIn(only);
}

const retries = { maxRetries: 0 } as const;
const secret = 'sk-upstream-0123456789abcdef';

function viaGateway(): OpenAI {
  const { origin, secrets } = harness;
  return new OpenAI({ baseURL: `${origin}/v1`, apiKey: secrets.chat, ...retries });
}

function direct(isToken: boolean): AzureOpenAI {
  const endpoint = harness.upstream.origin;
  const credential = isToken ? { azureADTokenProvider: async () => secret } : { apiKey: secret };
  return new AzureOpenAI({ endpoint, apiVersion, ...credential, ...retries });
}

/** Microsoft's documentation has OpenAI's own client for `v1`, which sends a key as a bearer. */
function directV1(): OpenAI {
  const baseURL = `${harness.upstream.origin}/openai/v1`;
  return new OpenAI({ baseURL, apiKey: secret, ...retries });
}

/** A key in Azure's own header, which API Management looks for as well. */
function withKeyHeader({ headers: { authorization: _, ...headers }, ...sent }: Sent): Sent {
  return { ...sent, headers: { ...headers, 'api-key': secret } };
}

describe.each([false, true])('with a token: %s', (isToken) => {
  const model = (id: string): string => (isToken ? `${id}-token` : id);
  const v1Of = (sent: Sent): Sent => (isToken ? sent : withKeyHeader(sent));

  it.each(Object.entries(calls))('by deployment: %s', async (_, call) => {
    const expected = await sentBy(() => call(direct(isToken), deployment));

    expect(await sentBy(() => call(viaGateway(), model('deployments')))).toEqual(expected);
    expect(expected.path).toContain(`api-version=${apiVersion}`);
  });

  it.each(Object.entries(calls))('below v1: %s', async (_, call) => {
    const expected = v1Of(await sentBy(() => call(directV1(), deployment)));

    expect(await sentBy(() => call(viaGateway(), model('v1')))).toEqual(expected);
    expect(expected.path).toMatch(/^\/openai\/v1\/[^?]+$/);
  });

  it.each(Object.entries(calls))('images alone by deployment: %s', async (name, call) => {
    const expected =
      name === 'images'
        ? await sentBy(() => call(direct(isToken), deployment))
        : v1Of(await sentBy(() => call(directV1(), deployment)));

    for (const id of ['images', 'others']) {
      expect(await sentBy(() => call(viaGateway(), model(id)))).toEqual(expected);
    }
  });
});

const claudeCalls: Readonly<
  Record<string, (client: Anthropic | AnthropicFoundry, model: string) => Promise<unknown>>
> = {
  text: (client, model) => client.messages.create({ model, max_tokens: 64, messages }),
  stream: async (client, model) =>
    collect(await client.messages.create({ model, max_tokens: 64, messages, stream: true })),
  tools: (client, model) =>
    client.messages.create({
      model,
      max_tokens: 64,
      messages,
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    }),
  count: (client, model) => client.messages.countTokens({ model, messages }),
};

describe.each([false, true])('Claude on Foundry, with a token: %s', (isToken) => {
  it.each(Object.entries(claudeCalls))('%s', async (_, call) => {
    const { origin, secrets, upstream } = harness;
    const baseURL = `${upstream.origin}/anthropic`;
    const credential = isToken ? { azureADTokenProvider: async () => secret } : { apiKey: secret };
    const foundry = new AnthropicFoundry({ baseURL, ...credential, ...retries });
    const expected = await sentBy(() => call(foundry, deployment));

    const client = new Anthropic({ baseURL: origin, apiKey: secrets.chat, ...retries });
    const model = isToken ? 'foundry-token' : 'foundry';
    expect(await sentBy(() => call(client, model))).toEqual(expected);
    expect(expected.path).toMatch(/^\/anthropic\/v1\/messages/);
  });
});
