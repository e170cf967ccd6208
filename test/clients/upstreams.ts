/**
 * The upstreams behind the gateway, to which calls of their own API are relayed and others
 * translated. Their fakes refuse what the real ones refuse.
 */

import { vendorCapabilities } from '../../src/dialects/vendors.ts';
import { isJsonObject, items, type JsonValue, member } from '../../src/json.ts';
import type { MemberPrices, TokenRates } from '../../src/money.ts';
import type { Capabilities, DialectName } from '../../src/ports/models/capabilities.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import { thinkingPieces } from '../../src/testing/providers/anthropic-replies.ts';
import { callSignature } from '../../src/testing/providers/gemini-content.ts';
import { faultNames, signatureOf } from '../../src/testing/providers/provider.ts';
import { reasoningPieces } from '../../src/testing/providers/recordings.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';

/** One kind of upstream. */
export interface Upstream {
  readonly name: UpstreamName;
  readonly dialect: DialectName;
  readonly capabilities: Capabilities;
  /** Whether the models accept JSON schemas and images. */
  readonly takesSchemasAndImages: boolean;
  /** The usage that its first event tells a client of the Messages API. */
  readonly atStart: { readonly countsInput: boolean; readonly outputTokens: number };
  /** The upstream's name of a model that answers with text, and of one that calls tools. */
  readonly models: { readonly plain: string; readonly agent: string };
  /** The signed reasoning in a request, in order. */
  signaturesIn(body: JsonValue | undefined): readonly JsonValue[];
  /**
   * What {@link Upstream.signaturesIn} finds in the last request of a conversation of two prompts,
   * each with two rounds of calls.
   */
  readonly signaturesAtTheEnd: readonly JsonValue[];
}

export type UpstreamName = 'responses' | 'chat' | 'deepseek' | 'gemini' | 'anthropic';

const roundsBefore = [1, 2, 3, 1, 2];

export const upstreams: readonly Upstream[] = [
  {
    name: 'responses',
    takesSchemasAndImages: true,
    dialect: 'openai',
    capabilities: { responses: true },
    atStart: { countsInput: false, outputTokens: 0 },
    models: { plain: 'gpt-5.1', agent: 'gpt-5.1-agent' },
    // Sealed, or an id that refers to what OpenAI keeps. The fake verifies both.
    signaturesIn: (body) =>
      items(member(body, 'input'))
        .filter((item) => /^rs_/.test(String(member(item, 'id'))))
        .map(() => 'reasoning'),
    signaturesAtTheEnd: roundsBefore.map(() => 'reasoning'),
  },
  {
    name: 'chat',
    takesSchemasAndImages: true,
    dialect: 'openai',
    capabilities: { responses: false },
    atStart: { countsInput: false, outputTokens: 0 },
    models: { plain: 'gpt-4.1', agent: 'gpt-4.1-agent' },
    signaturesIn: () => [],
    signaturesAtTheEnd: [],
  },
  {
    name: 'deepseek',
    takesSchemasAndImages: false,
    dialect: 'openai',
    capabilities: vendorCapabilities.deepseek,
    atStart: { countsInput: false, outputTokens: 0 },
    models: { plain: 'deepseek-chat', agent: 'deepseek-agent' },
    // Not signed, but the model refuses calls that come back without it.
    signaturesIn: (body) =>
      items(member(body, 'messages')).flatMap(
        (message) => member(message, 'reasoning_content') ?? [],
      ),
    signaturesAtTheEnd: roundsBefore.map(() => reasoningPieces.join('')),
  },
  {
    name: 'gemini',
    takesSchemasAndImages: true,
    dialect: 'gemini',
    capabilities: {},
    atStart: { countsInput: true, outputTokens: 0 },
    models: { plain: 'gemini-3-pro', agent: 'gemini-3-agent' },
    signaturesIn: signaturesAnywhere,
    signaturesAtTheEnd: [1, 2, 1, 2].map(() =>
      callSignature({ name: 'get_weather', args: { city: 'sample' } }),
    ),
  },
  {
    name: 'anthropic',
    takesSchemasAndImages: true,
    dialect: 'anthropic',
    capabilities: {},
    atStart: { countsInput: true, outputTokens: 1 },
    models: { plain: 'claude-opus-5', agent: 'claude-opus-5-agent' },
    signaturesIn: signaturesAnywhere,
    signaturesAtTheEnd: roundsBefore.map((round) =>
      signatureOf(`${thinkingPieces.join('')} Round ${round}.`),
    ),
  },
];

function signaturesAnywhere(value: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(value)) return items(value).flatMap(signaturesAnywhere);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'signature' || name === 'thoughtSignature' ? [inner] : signaturesAnywhere(inner),
  );
}

const rates: TokenRates = { input: 1_000_000n, output: 4_000_000n };

/** The fee of one web search. */
export const searchNanos = 10_000_000n;

const toolPrices: MemberPrices = {
  web_search: { perCallNanos: searchNanos, holdInputTokens: 50_000 },
  web_fetch: { holdInputTokens: 50_000 },
  code_execution: { holdCalls: 5, holdInputTokens: 50_000 },
};

/**
 * The models of every upstream: `gemini/plain`, `gemini/agent-1` and `gemini/agent-2` for one and
 * two rounds of calls, `gemini/tools` whose record prices Anthropic's tools, and those that fail:
 * `gemini/demo-429`. `anthropic/moving` fails over to Google. Each has an account of its own, so
 * that no failure of one affects another. `strict` is a further model, of one upstream, that
 * refuses what it can't translate.
 */
export function modelsOf(
  fake: FakeUpstream,
  credential: string,
  strict?: { readonly upstream: UpstreamName; readonly id: string },
): readonly Model[] {
  const baseUrls: Readonly<Record<DialectName, string>> = {
    openai: fake.openaiBaseUrl,
    gemini: fake.geminiBaseUrl,
    anthropic: fake.anthropicBaseUrl,
  };
  return upstreams.flatMap(({ name, dialect, capabilities, models }) => {
    const model = (id: string, upstreamModel: string): Model => ({
      id: `${name}/${id}`,
      protocols: name === 'responses' ? ['responses'] : ['responses', 'messages'],
      groups: ['chat', 'native'],
      price: { per: 'token', rates },
      maxOutputTokens: 128_000,
      contextTokens: 200_000,
      channels: [
        {
          id: `${name}/${id}`,
          dialect,
          baseUrl: baseUrls[dialect],
          credential,
          capabilities,
          upstreamModel,
        },
      ],
    });
    const movingModel = (): Model => {
      const { channels, ...moving } = model('moving', models.plain);
      const elsewhere = {
        id: 'moving/gemini',
        dialect: 'gemini' as const,
        baseUrl: baseUrls.gemini,
        credential,
        capabilities: { dropBuiltInTools: true },
        upstreamModel: 'gemini-3-pro',
        priority: 1,
      };
      const price = { per: 'token' as const, rates, members: toolPrices };
      return { ...moving, price, channels: [...channels, elsewhere] };
    };
    return [
      model('plain', models.plain),
      model('agent-1', `${models.agent}-1`),
      model('agent-2', `${models.agent}-2`),
      {
        ...model('tools', models.plain),
        price: { per: 'token', rates, members: toolPrices },
        allow: { fallbacks: { models: ['claude-haiku-5'] } },
      },
      ...(name === 'anthropic' ? [movingModel()] : []),
      model('redacted-agent-2', models.agent.replace('-agent', '-redacted-agent-2')),
      ...faultNames.map((fault) => model(fault, fault)),
      ...(name === strict?.upstream
        ? [{ ...model('strict', `${models.agent}-1`), id: strict.id, strict: true }]
        : []),
    ];
  });
}
