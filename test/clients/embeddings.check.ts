/**
 * Clients of embeddings get the vectors that the upstream made, whichever encoding they ask for and
 * whichever the upstream knows: never zeros, never a quarter of the numbers, never another order.
 */
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Capabilities, Channel, Model } from '../../src/ports/catalog.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { unitVector } from '../../src/testing/providers/vectors.ts';
import { unmountedGateway } from '../support/mounted-gateway.ts';
import { closed, listening } from '../support/servers.ts';
import { type EmbeddingTarget, embeddingClients } from './drivers/embeddings.ts';

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

async function target({ name }: EmbeddingUpstream): Promise<EmbeddingTarget> {
  const harness = await unmountedGateway({}, modelsOf);
  const server = createServer(nodeAdapter(harness.gateway));
  const origin = await listening(server);
  onTestFinished(async () => {
    await closed(server);
    await harness.close();
  });
  return { origin, apiKey: harness.secrets.chat, model: `embed-${name}` };
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

describe('768 dimensions of gemini-embedding-001', () => {
  const openaiClients = embeddingClients.filter(({ api }) => api === 'openai');

  it.each(
    openaiClients.map((client) => [client.name, client] as const),
  )('have length one for %s', async (_name, client) => {
    const upstream = upstreams.find(({ name }) => name === 'gemini-001');
    if (upstream === undefined) throw new Error('There is no such upstream.');

    const [vector = []] = await client.embed(await target(upstream), ['Ruby'], 768);

    expect(vector).toHaveLength(768);
    expect(Math.abs(Math.hypot(...vector) - 1)).toBeLessThan(1e-6);
  });
});
