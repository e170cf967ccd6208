/** The models of a mounted gateway: one of each kind. */
import type { Price } from '../../src/money.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import { faultNames } from '../../src/testing/providers/provider.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';

/** A tenth and four tenths of a unit for a million tokens. */
const tokenPrice: Price = {
  per: 'token',
  rates: { input: 100_000_000n, output: 400_000_000n },
};

/** The price of an image of these models. */
export const imagePrices = { low: 11_000_000n, high: 167_000_000n } as const;

const imagePrice: Price = {
  per: 'image',
  rows: [
    { size: '1024x1024', quality: 'low', nanos: imagePrices.low },
    { size: '1024x1024', quality: 'high', nanos: imagePrices.high },
  ],
};

/** The models, each with the channels of this upstream that can serve it. */
export function mountedModels(
  upstream: Pick<FakeUpstream, 'openaiBaseUrl' | 'geminiBaseUrl'>,
  credential: string,
): readonly Model[] {
  const openai: Channel = {
    id: 'openai-1',
    dialect: 'openai',
    baseUrl: upstream.openaiBaseUrl,
    credential,
    priority: 0,
    weight: 1,
  };
  const gemini: Channel = {
    ...openai,
    id: 'gemini-1',
    dialect: 'gemini',
    baseUrl: upstream.geminiBaseUrl,
  };
  const everyone = ['chat', 'image', 'native'];
  const chat = {
    vendor: 'OpenAI',
    protocols: ['chat'],
    groups: ['chat'],
    price: tokenPrice,
    channels: [openai],
    maxOutputTokens: 4_096,
    createdAtSeconds: 1_700_000_000,
  } as const satisfies Omit<Model, 'id'>;
  const images = { ...chat, protocols: ['images'], groups: ['image'], price: imagePrice } as const;
  const native = {
    ...chat,
    vendor: 'Google',
    protocols: ['native'],
    groups: ['native'],
    channels: [gemini],
  } as const;
  const both = {
    ...chat,
    protocols: ['chat', 'native'],
    groups: ['chat', 'native'],
    channels: [openai, { ...gemini, priority: 1 }],
  } as const;

  return [
    {
      ...chat,
      id: 'chat-1',
      protocols: ['chat', 'responses', 'messages'],
      channels: [{ ...openai, upstreamModel: 'gpt-4o-mini' }],
    },
    { ...both, id: 'both-1', aliases: ['both-latest'] },
    { ...both, id: 'vendor/name:free', channels: [gemini] },
    { ...native, id: 'native-1', contextTokens: 1_048_576, displayName: 'Native One' },
    { ...images, id: 'image-1', maxCandidates: 4 },
    { ...images, id: 'image-48mb', price: { per: 'image', rows: [{ nanos: imagePrices.low }] } },
    { ...chat, id: 'foreign-1', protocols: ['chat', 'images', 'native'], groups: ['other'] },
    { ...both, id: 'bare-1', groups: everyone, channels: [] },
    {
      ...both,
      id: 'dear-1',
      channels: [openai, gemini].map((channel) => ({ ...channel, maxPriceNanos: 1n })),
    },
    ...faultNames.flatMap((fault): readonly Model[] => [
      { ...both, id: fault, protocols: ['chat', 'images'], groups: everyone, channels: [openai] },
      {
        ...native,
        id: `gemini/${fault}`,
        groups: everyone,
        channels: [{ ...gemini, upstreamModel: fault }],
      },
    ]),
  ];
}
