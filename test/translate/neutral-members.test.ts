// suite: quick
/**
 * What clients send by default, and what says what holds without it, costs nothing: on no
 * translated call is it listed or refused, even by a strict model. What cannot be done is named.
 */
import { describe, expect, it } from 'vitest';
import { type DialectName, dialectNames } from '../../src/ports/models/capabilities.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  messages,
  native,
  responses,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

type Api = 'chat' | 'responses' | 'messages' | 'native';
const hello = { role: 'user', content: 'hi' };
const requests: Readonly<Record<Api, (members: object) => CallerRequest>> = {
  chat: (members) => chat(JSON.stringify({ model: 'm', messages: [hello], ...members })),
  responses: (members) => responses(JSON.stringify({ model: 'm', input: 'hi', ...members })),
  messages: (members) =>
    messages(JSON.stringify({ model: 'm', max_tokens: 9, messages: [hello], ...members })),
  native: (members) =>
    native(
      'json',
      JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }], ...members }),
    ),
};
const own: Readonly<Record<Api, DialectName>> = {
  chat: 'openai',
  responses: 'openai',
  messages: 'anthropic',
  native: 'gemini',
};
const apis: readonly Api[] = ['chat', 'responses', 'messages', 'native'];
/** Every translation: of Responses also to an upstream of its own dialect that lacks the API. */
const pairs = apis.flatMap((api) =>
  dialectNames
    .filter((dialect) => dialect !== own[api] || api === 'responses')
    .map((dialect) => ({ api, dialect })),
);

const replies: Readonly<Record<DialectName, object>> = {
  openai: {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  anthropic: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
    content: [{ type: 'text', text: 'Hi' }],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  gemini: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  },
};

async function sent(
  api: Api,
  dialect: DialectName,
  { members, strict }: { readonly members: object; readonly strict: boolean },
): Promise<CallerReply> {
  const upstream = scriptedUpstream({
    headers: { 'content-type': 'application/json' },
    chunks: [JSON.stringify(replies[dialect])],
  });
  const capabilities = { responses: false };
  return anyModelGateway({ upstream, channel: { dialect, capabilities }, model: { strict } }).call(
    requests[api](members),
  );
}

const tiers = ['auto', 'default', null];
/** What is nothing, by the API that has it. */
const neutral: Readonly<Record<Api, readonly object[]>> = {
  chat: [
    ...[...tiers, 'standard', 'standard_only'].map((service_tier) => ({ service_tier })),
    ...[
      { store: false },
      { store: null },
      { metadata: {} },
      { metadata: null },
      { logit_bias: {} },
    ],
    ...[{ modalities: ['text'] }, { n: 1 }, { best_of: 1 }, { speed: 'standard' }, { audio: null }],
    ...[{ moderation: null }, { inference_geo: 'global' }, { stop: null }, { tools: [] }],
    ...[
      { presence_penalty: 0, frequency_penalty: 0 },
      { verbosity: 'medium' },
      { logprobs: false },
    ],
  ],
  responses: [
    ...tiers.map((service_tier) => ({ service_tier })),
    ...[{ store: false }, { metadata: {} }, { truncation: 'disabled' }, { include: [] }],
    ...[{ background: false }, { moderation: null }, { previous_response_id: null }],
  ],
  messages: [
    ...['auto', 'standard_only', null].map((service_tier) => ({ service_tier })),
    ...[
      { speed: 'standard' },
      { inference_geo: 'global' },
      { metadata: {} },
      { stop_sequences: [] },
    ],
  ],
  native: [
    ...['SERVICE_TIER_STANDARD', 'standard', 'DEFAULT', null].map((serviceTier) => ({
      serviceTier,
    })),
    ...[{ generationConfig: { candidateCount: 1, responseModalities: ['TEXT'] } }, { tools: [] }],
    ...[{ generationConfig: {} }, { safetySettings: [] }, { labels: {} }],
  ],
};

describe.each(pairs)('$api over $dialect', ({ api, dialect }) => {
  it.each(neutral[api])('%j is neither listed nor refused', async (members) => {
    for (const strict of [false, true]) {
      const { status, text, headers } = await sent(api, dialect, { members, strict });

      expect([status, headers['x-tollgate-dropped']], text).toEqual([200, undefined]);
    }
  });
});

/** Members that no translation can keep, with the name that says so. */
const impossible: readonly (readonly [api: Api, at: string, members: object])[] = [
  ['chat', 'moderation', { moderation: { model: 'omni-moderation-latest' } }],
  ['responses', 'moderation', { moderation: { model: 'omni-moderation-latest' } }],
  ...[{}, { schema: null }, { strict: true }, { description: 'd' }].flatMap(
    (members): (readonly [Api, string, object])[] => {
      const named = { name: 'n', ...members };
      return [
        [
          'chat',
          'response_format.json_schema.schema',
          { response_format: { type: 'json_schema', json_schema: named } },
        ],
        [
          'responses',
          'text.format.schema',
          { text: { format: { type: 'json_schema', ...named } } },
        ],
        [
          'messages',
          'output_config.format.schema',
          { output_config: { format: { type: 'json_schema', ...members } } },
        ],
      ];
    },
  ),
];

it.each(
  pairs.flatMap(({ api, dialect }) =>
    impossible
      .filter(([one]) => one === api)
      .map(([, at, members]) => ({ api, dialect, at, members })),
  ),
)('$api over $dialect refuses $at by name: $members', async ({ api, dialect, at, members }) => {
  const { status, text } = await sent(api, dialect, { members, strict: false });

  expect(status).toBe(400);
  expect(text).toContain(at);
});

describe('a search for tools of Anthropic', () => {
  const tool = { name: 'f', input_schema: { type: 'object', properties: {} } };
  const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' };
  const members = { tools: [search, { ...tool, defer_loading: true }, { ...tool, name: 'g' }] };

  it.each([
    'openai',
    'gemini',
  ] as const)('is listed over %s, where nothing runs', async (dialect) => {
    const { status, headers } = await sent('messages', dialect, { members, strict: false });

    expect([status, headers['x-tollgate-dropped']]).toEqual([
      200,
      expect.stringContaining('tools'),
    ]);
  });

  it('is refused where it is relayed and not priced', async () => {
    const { status, text } = await sent('messages', 'anthropic', { members, strict: false });

    expect([status, text]).toEqual([400, expect.stringContaining('runs the model again')]);
  });
});
