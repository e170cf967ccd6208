/** The demo's catalog: the models, their prices, and the upstreams that serve them. */
import { type Channel, imagePrice, type Model, tokenPrice } from 'tollgate';
import type { ProtocolName } from 'tollgate/ports';
import type { FakeUpstream } from 'tollgate/testing';

export interface DemoModels {
  readonly all: readonly Model[];
  readonly chat: string;
  readonly native: string;
  readonly claude: string;
  readonly image: string;
  readonly embedding: string;
  readonly nativeEmbedding: string;
  /** Models that fail as their names say; none if the embedded upstream serves no protocol. */
  readonly faults: readonly string[];
  /** The upstream of each protocol, for the terminal. */
  readonly openaiUpstream: string;
  readonly geminiUpstream: string;
  readonly anthropicUpstream: string;
  /** Models that serve all APIs of text, whatever the dialect of their upstream. */
  readonly either: readonly string[];
}

const price = tokenPrice({ input: '0.15', output: '0.60', cachedInput: '0.075' });
const fakeUpstream = 'the embedded upstream, a fake whose replies are canned';
/** Names that make the embedded upstream fail, to try how a caller sees it. */
const faults: readonly string[] = ['demo-503', 'demo-429', 'demo-slow', 'demo-cut', 'demo-safety'];

/** Real upstreams if the environment has their keys, otherwise the embedded one. */
export function demoModels(
  env: Readonly<Record<string, string | undefined>>,
  upstream: FakeUpstream,
): DemoModels {
  // `||`, because an empty variable counts as not set.
  const openai = channel('openai', env.OPENAI_API_KEY || undefined, {
    real: env.OPENAI_BASE_URL || 'https://api.openai.com/v1',
    embedded: upstream.openaiBaseUrl,
  });
  const gemini = channel('gemini', env.GEMINI_API_KEY || undefined, {
    real: env.GEMINI_BASE_URL || 'https://generativelanguage.googleapis.com/v1beta',
    embedded: upstream.geminiBaseUrl,
  });
  const anthropic = channel('anthropic', env.ANTHROPIC_API_KEY || undefined, {
    real: env.ANTHROPIC_BASE_URL || 'https://api.anthropic.com/v1',
    embedded: upstream.anthropicBaseUrl,
  });
  const claude = env.ANTHROPIC_MODEL || 'claude-sonnet-4-6';
  const chat = env.OPENAI_MODEL || 'gpt-4o-mini';
  const native = env.GEMINI_MODEL || 'gemini-2.5-flash';
  const image = env.OPENAI_IMAGE_MODEL || 'gpt-image-1';
  const embedding = env.OPENAI_EMBEDDING_MODEL || 'text-embedding-3-small';
  const nativeEmbedding = env.GEMINI_EMBEDDING_MODEL || 'gemini-embedding-2';
  const protocols: readonly ProtocolName[] = ['chat', 'responses', 'messages', 'native'];
  const text = { protocols, groups: ['text'], price, maxOutputTokens: 16_384 };
  const vectors = { protocols: ['embeddings'], groups: ['text'] } as const;
  const embedded = [openai, gemini].filter(({ credential }) => credential === 'embedded');
  const offered = embedded.length === 0 ? [] : faults;
  return {
    all: [
      { id: chat, vendor: 'OpenAI', channels: [openai], ...text },
      { id: native, vendor: 'Gemini', channels: [gemini], ...text },
      { id: claude, vendor: 'Anthropic', channels: [anthropic], ...text },
      {
        id: image,
        vendor: 'OpenAI',
        protocols: ['images'],
        groups: ['image'],
        price: imagePrice([
          { quality: 'low', price: '0.011' },
          { quality: 'medium', price: '0.042' },
          { quality: 'high', price: '0.167' },
        ]),
        channels: [openai],
      },
      {
        id: embedding,
        vendor: 'OpenAI',
        channels: [openai],
        ...vectors,
        price: tokenPrice({ input: '0.02' }),
        contextTokens: 8_192,
      },
      {
        id: nativeEmbedding,
        vendor: 'Gemini',
        channels: [gemini],
        ...vectors,
        price: tokenPrice({ input: '0.20', imageInput: '0.45' }),
        contextTokens: 8_192,
      },
      ...offered.map(
        (id): Model => ({
          id,
          vendor: 'Demo',
          channels: embedded,
          ...text,
        }),
      ),
    ],
    chat,
    native,
    claude,
    image,
    embedding,
    nativeEmbedding,
    faults: offered,
    either: [chat, native, claude],
    openaiUpstream: env.OPENAI_API_KEY ? 'OpenAI' : fakeUpstream,
    geminiUpstream: env.GEMINI_API_KEY ? 'Gemini' : fakeUpstream,
    anthropicUpstream: env.ANTHROPIC_API_KEY ? 'Anthropic' : fakeUpstream,
  };
}

function channel(
  dialect: Channel['dialect'],
  apiKey: string | undefined,
  baseUrl: { readonly real: string; readonly embedded: string },
): Channel {
  return {
    id: `${dialect}-account`,
    dialect,
    baseUrl: apiKey === undefined ? baseUrl.embedded : baseUrl.real,
    credential: apiKey ?? 'embedded',
    priority: 1,
    weight: 1,
  };
}
