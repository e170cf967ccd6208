/**
 * Clients of embeddings get the vectors that the upstream made, whichever encoding they ask for and
 * whichever the upstream knows: never zeros, never a quarter of the numbers, never another order.
 */
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Capabilities } from '../../src/ports/models/capabilities.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import { unitVector } from '../../src/testing/providers/embeddings.ts';
import { geminiFailure } from '../../src/testing/providers/gemini-content.ts';
import { openaiFailure } from '../../src/testing/providers/provider.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { unmountedGateway } from '../support/mounted-gateway.ts';
import { closed, listening } from '../support/servers.ts';
import { type EmbeddingTarget, embeddingClients } from './drivers/embeddings.ts';
import { failureOf } from './pairs.ts';

/** An upstream model, and the vector that it makes of a text. */
interface EmbeddingUpstream {
  readonly name: string;
  readonly dialect: 'openai' | 'gemini';
  readonly upstreamModel: string;
  readonly capabilities?: Capabilities;
  readonly dimensions: number;
}

const upstreams: readonly EmbeddingUpstream[] = [
  {
    name: 'openai',
    dialect: 'openai',
    upstreamModel: 'text-embedding-3-small',
    dimensions: 1_536,
  },
  {
    name: 'no-base64',
    dialect: 'openai',
    upstreamModel: 'text-embedding-3-small',
    capabilities: { embeddingBase64: false },
    dimensions: 1_536,
  },
  {
    name: 'no-float',
    dialect: 'openai',
    upstreamModel: 'text-embedding-3-small',
    capabilities: { embeddingFloat: false },
    dimensions: 1_536,
  },
  {
    name: 'gemini',
    dialect: 'gemini',
    upstreamModel: 'gemini-embedding-2',
    dimensions: 3_072,
  },
  {
    name: 'gemini-001',
    dialect: 'gemini',
    upstreamModel: 'gemini-embedding-001',
    dimensions: 3_072,
  },
];

const { ONLY_CLIENT = '', ONLY_UPSTREAM = '' } = process.env;
const pairs = embeddingClients
  .flatMap((client) => upstreams.map((upstream) => ({ client, upstream })))
  .filter(
    ({ client, upstream }) =>
      client.name.includes(ONLY_CLIENT) && upstream.name.includes(ONLY_UPSTREAM),
  )
  .map((pair) => [`${pair.client.name} over ${pair.upstream.name}`, pair] as const);

function modelsOf(fake: FakeUpstream, credential: string): readonly Model[] {
  return upstreams.map(({ name, dialect, upstreamModel, capabilities = {} }) => {
    const baseUrl = dialect === 'openai' ? fake.openaiBaseUrl : fake.geminiBaseUrl;
    const channel: Channel = {
      id: name,
      dialect,
      baseUrl,
      credential,
      upstreamModel,
      capabilities,
    };
    return {
      id: `embed-${name}`,
      protocols: ['embeddings'],
      groups: ['chat', 'native'],
      price: { per: 'token', rates: { input: 1_000_000n } },
      contextTokens: 8_192,
      channels: [channel],
    };
  });
}

async function target({
  name,
}: EmbeddingUpstream): Promise<EmbeddingTarget & { readonly fake: FakeUpstream }> {
  const harness = await unmountedGateway({}, modelsOf);
  const server = createServer(nodeAdapter(harness.gateway));
  const origin = await listening(server);
  onTestFinished(async () => {
    await closed(server);
    await harness.close();
  });
  const { upstream: fake, secrets } = harness;
  return { origin, apiKey: secrets.chat, model: `embed-${name}`, fake };
}

/** The fakes make a vector of what they read: a text, or the parts of a content. */
function vectorOf({ dialect }: EmbeddingUpstream, text: string, dimensions: number) {
  return unitVector(JSON.stringify(dialect === 'openai' ? text : [{ text }]), dimensions);
}

function largestDifference(one: readonly number[], other: readonly number[]): number {
  return Math.max(...other.map((value, index) => Math.abs(value - (one[index] ?? Number.NaN))));
}

const texts = ['Ruby', 'Python', 'JavaScript'];

describe.each(pairs)('%s', (_name, { client, upstream }) => {
  it('gets the vector of each text, in order', async () => {
    const vectors = await client.embed(await target(upstream), texts);

    expect(vectors.map(({ length }) => length)).toEqual(texts.map(() => upstream.dimensions));
    for (const [index, text] of texts.entries()) {
      const expected = vectorOf(upstream, text, upstream.dimensions);
      expect(largestDifference(vectors[index] ?? [], expected)).toBeLessThan(1e-7);
    }
  });
});

const failingPairs = pairs.filter(([, { upstream }]) => /^(?:openai|gemini)$/.test(upstream.name));

describe.each(failingPairs)('%s', (_name, { client, upstream }) => {
  const empty = texts.map(() => []);

  it('raises a wrong key and an unknown model', async () => {
    const right = await target(upstream);
    const wrongKey = client.embed({ ...right, apiKey: 'tg_wrong' }, texts);
    if (client.hidesFailures === true) return expect(await wrongKey).toEqual(empty);

    expect((await failureOf(wrongKey)).message).toMatch(/key/i);
    const unknown = client.embed({ ...right, model: 'nothing' }, texts);
    expect((await failureOf(unknown)).message).toContain('nothing');
  });

  it('raises a rate limit of the upstream', async () => {
    const { fake, ...limited } = await target(upstream);
    fake.enqueue(upstream.dialect === 'openai' ? openaiFailure(429) : geminiFailure(429));

    const embedding = client.embed(limited, texts);

    if (client.hidesFailures === true) expect(await embedding).toEqual(empty);
    else expect((await failureOf(embedding)).message).toMatch(/too many requests|rate/i);
    expect(fake.calls).toHaveLength(1);
  });
});

describe('768 dimensions of gemini-embedding-001', () => {
  const openaiClients = embeddingClients.filter(({ api }) => api === 'openai');

  it.each(
    openaiClients.map((client) => [client.name, client] as const),
  )('have unit length for %s', async (_name, client) => {
    const upstream = upstreams.find(({ name }) => name === 'gemini-001');
    if (upstream === undefined) throw new Error('There is no such upstream.');

    const [vector = []] = await client.embed(await target(upstream), ['Ruby'], 768);

    expect(vector).toHaveLength(768);
    expect(Math.abs(Math.hypot(...vector) - 1)).toBeLessThan(1e-6);
  });
});
