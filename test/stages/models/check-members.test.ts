// suite: slow
/**
 * Members that raise the cost of a call or reach beyond it are refused by name if nothing covers
 * them, in every spelling and at every place where they are legal, before anything is held.
 */
import { describe, expect, it } from 'vitest';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { guardedRows } from '../../../src/protocols/guarded-members.ts';
import {
  type CallerRequest,
  gatewayInProcess,
  untouched,
} from '../../support/gateway-in-process.ts';
import { channel, chat, completeReply, contents, image, model } from '../../support/models.ts';

const gemini = channel({ id: 'gemini-a', dialect: 'gemini' });
const free = { price: { per: 'free' } } as const;

/** A call, and the path of the member that is refused. */
type Case = readonly [at: string, asked: CallerRequest];

function native(members: object): CallerRequest {
  return { path: '/v1beta/models/native:generateContent', body: { contents, ...members } };
}

/** A tool that runs at Moonshot. */
function builtin(name: string): object {
  return { type: 'builtin_function', function: { name } };
}

const cost: readonly Case[] = [
  ['service_tier', chat({ service_tier: 'priority' })],
  ['serviceTier', native({ serviceTier: 'PRIORITY' })],
  ['speed', chat({ speed: 'fast' })],
  ['inference_geo', chat({ inference_geo: 'us' })],
  ['best_of', chat({ best_of: 8 })],
  ['num_return_sequences', chat({ num_return_sequences: 8 })],
  ['web_search_options', chat({ web_search_options: {} })],
  ['search_parameters', chat({ search_parameters: { mode: 'on' } })],
  ['enable_search', chat({ enable_search: true })],
  ['tools[1].googleSearch', native({ tools: [{}, { googleSearch: {} }] })],
  ['tools[0].google_search', native({ tools: [{ google_search: {} }] })],
  ['tools[0].googleSearchRetrieval', native({ tools: [{ googleSearchRetrieval: {} }] })],
  ['tools[0].urlContext', native({ tools: [{ urlContext: {} }] })],
  ['tools[0].googleMaps', native({ tools: [{ googleMaps: {} }] })],
  ['tools.googleSearch', native({ tools: { googleSearch: {} } })],
  ['tools.google_search', native({ tools: { google_search: {} } })],
  ['tools.urlContext', native({ tools: { urlContext: {} } })],
  ['tools[0][0].googleSearch', native({ tools: [[{ googleSearch: {} }]] })],
  ['tools[0].exaAiSearch', native({ tools: [{ exaAiSearch: {} }] })],
  ['tools[0].parallel_ai_search', native({ tools: [{ parallel_ai_search: {} }] })],
  ['tools[0].codeExecution', native({ tools: [{ codeExecution: {} }] })],
  ['tools[0].type', chat({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'openrouter:web_search' }] })],
  ['tools[1].type', chat({ tools: [{ type: 'function' }, { type: 'image_generation' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'maps' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'webSearch' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'web-search' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'browser_search' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'live_search' }] })],
  ['tools[0].type', chat({ tools: [builtin('$web_search')] })],
  ['tools[0].type', chat({ tools: [builtin('$other')] })],
  ['tools[0][0].type', chat({ tools: [[{ type: 'web_search' }]] })],
  ['reasoning[0].max_tokens', chat({ reasoning: [{ max_tokens: 101 }] })],
  ['thinking[0].budget_tokens', chat({ thinking: [{ budget_tokens: 50_000 }] })],
  ['image_config[0].image_size', chat({ image_config: [{ image_size: '4K' }] })],
  ['num_images', image({ num_images: 4 })],
  ['batch_size', image({ batch_size: 4 })],
  ['image_size', image({ image_size: '4096x4096' })],
  ['width', image({ width: 4096 })],
  ['image_config.image_size', chat({ image_config: { image_size: '4K' } })],
  [
    'generationConfig.imageConfig.imageSize',
    native({ generationConfig: { imageConfig: { imageSize: '4K' } } }),
  ],
  [
    'generation_config.image_config.image_size',
    native({ generation_config: { image_config: { image_size: '2K' } } }),
  ],
  ['modalities', chat({ modalities: ['text', 'audio'] })],
  ['audio', chat({ audio: { voice: 'alloy', format: 'wav' } })],
  [
    'generationConfig.responseModalities',
    native({ generationConfig: { responseModalities: ['TEXT', 'AUDIO'] } }),
  ],
  ['reasoning.max_tokens', chat({ reasoning: { max_tokens: 101 } })],
  ['thinking_budget', chat({ thinking_budget: 50_000, max_tokens: 5 })],
  ['extra_body.service_tier', chat({ extra_body: { service_tier: 'priority' } })],
];

const reach: readonly Case[] = [
  ['models', chat({ models: ['other-model'] })],
  ['fallbacks', chat({ fallbacks: [{ model: 'other-model' }] })],
  ['fallbacks', chat({ fallbacks: 'default' })],
  ['route', chat({ route: 'fallback' })],
  ['provider', chat({ provider: { order: ['other'] } })],
  ['plugins', chat({ plugins: [{ id: 'web' }] })],
  ['preset', chat({ preset: 'mine' })],
  ['tools[0].type', chat({ tools: [{ type: 'advisor_20260301', model: 'other-model' }] })],
  ['messages[0].content[0].file.file_id', part({ type: 'file', file: { file_id: 'file-1' } })],
  ['messages[0].content[0].file_id', part({ type: 'input_file', file_id: 'file-1' })],
  ['file_ids', chat({ file_ids: ['file-1'] })],
  ['container', chat({ container: 'cntr_1' })],
  ['thread', chat({ thread: { continue: 't' } })],
  ['mcp_servers', chat({ mcp_servers: [{ url: 'https://evil.example' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'mcp', server_url: 'https://evil.example' }] })],
  ['tools[0].mcpServers', native({ tools: [{ mcpServers: [{ name: 'a' }] }] })],
  ['tools.mcpServers', native({ tools: { mcpServers: [{ name: 'a' }] } })],
  ['tools.retrieval', native({ tools: { retrieval: { vertexAiSearch: {} } } })],
  ['messages[0].content[0][0].file.file_id', part([{ type: 'file', file: { file_id: 'file-1' } }])],
  ['generationConfig.routingConfig.manualMode', routed({ manualMode: { modelName: 'a' } })],
  ['generationConfig.routingConfig.auto_mode', routed({ auto_mode: {} })],
  ['tools[0].fileSearch', native({ tools: [{ fileSearch: {} }] })],
  ['tools[0].type', chat({ tools: [{ type: 'file_search', vector_store_ids: ['v'] }] })],
  ['data_sources', chat({ data_sources: [{ type: 'azure_search' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'code_interpreter' }] })],
  ['tools[0].type', chat({ tools: [{ type: 'shell' }] })],
  ['api_base', chat({ api_base: 'https://evil.example' })],
  ['billing_policy', chat({ billing_policy: { payer: 'other' } })],
  ['extra_body.models', chat({ extra_body: { models: ['other-model'] } })],
  ['models', { ...chat(), body: escaped() }],
];

function routed(routingConfig: object): CallerRequest {
  return native({ generationConfig: { routingConfig } });
}

function part(one: object): CallerRequest {
  return chat({ messages: [{ role: 'user', content: [one] }] });
}

/** A name that only a JSON decoder recognises. */
function escaped(): string {
  return JSON.stringify(chat({ models: ['other-model'] }).body).replace(
    '"models"',
    '"m\\u006fdels"',
  );
}

const neutral: readonly CallerRequest[] = [
  chat({ service_tier: 'auto', modalities: ['text'], audio: null, n: 1, best_of: 1 }),
  chat({
    service_tier: 'default',
    web_search_options: null,
    models: [],
    plugins: [],
    provider: {},
  }),
  chat({ service_tier: 'flex', reasoning: { effort: 'high', max_tokens: 100 } }),
  chat({ tools: [{ type: 'function', function: { name: 'web_search' } }], enable_search: false }),
  chat({ tools: [], store: true, metadata: { models: 'x' }, verbosity: 'low', user: 'u' }),
  chat({ search_parameters: { mode: 'off' }, service_tier: 'standard_only', speed: 'standard' }),
  native({ tools: [{ functionDeclarations: [{ name: 'googleSearch' }], googleSearch: null }] }),
  native({ generationConfig: { responseModalities: ['TEXT'], imageConfig: { imageSize: '1K' } } }),
  native({
    generationConfig: { responseModalities: [], thinkingConfig: { thinkingBudget: 9_000 } },
  }),
  image({ size: '1024x1024', num_images: 1 }),
];

/** The one model of a call's protocol. */
function modelFor({ path }: CallerRequest, change: Partial<Model> = {}): Model {
  if (path.includes('images')) {
    const price = { per: 'image', rows: [{ nanos: 500n }] } as const;
    return model({ id: 'image', protocols: ['images'], price, ...change });
  }
  return path.startsWith('/v1beta')
    ? model({ id: 'native', protocols: ['native'], channels: [gemini], ...change })
    : model(change);
}

function handler({ path }: CallerRequest): ReturnType<typeof completeReply> {
  return completeReply(
    path.includes('images') ? 'image' : path.startsWith('/v1beta') ? 'native' : 'chat',
  );
}

async function refusalOf(request: CallerRequest, change: Partial<Model> = {}): Promise<unknown> {
  const harness = gatewayInProcess({ models: [modelFor(request, change)] });
  const { status, text } = await harness.call(request);
  expect(await harness.state()).toEqual(untouched);
  return { status, text };
}

async function statusOf(request: CallerRequest, change: Partial<Model> = {}): Promise<number> {
  const harness = gatewayInProcess({
    models: [modelFor(request, change)],
    handlers: [handler(request)],
  });
  return (await harness.call(request)).status;
}

describe('a member that raises the cost', () => {
  it.each(cost)('%s is refused by name on a model with a price', async (at, request) => {
    expect(await refusalOf(request)).toEqual({
      status: 400,
      text: expect.stringMatching(
        new RegExp(`^.*\`${at.replace(/[[\].]/g, '\\$&')}\` .*not cover`),
      ),
    });
  });

  it.each(cost)('%s is accepted by a free model', async (_at, request) => {
    expect(await statusOf(request, free)).toBe(200);
  });
});

describe('a member that reaches beyond the call', () => {
  it.each(reach)('%s is refused by name, on a free model too', async (at, request) => {
    for (const change of [{}, free]) {
      expect(await refusalOf(request, change)).toEqual({
        status: 400,
        text: expect.stringContaining(`\`${at}\` `),
      });
    }
  });

  it.each(reach)('%s is accepted if the model’s record allows it', async (at, request) => {
    const allow = Object.fromEntries(
      guardedRows.filter((row) => row.class === 'reach').map(({ row }) => [row, true]),
    );

    expect(await statusOf(request, { allow }), at).toBe(200);
  });

  it.each([
    ['models', chat({ models: ['a', 'b'] })],
    ['fallbacks', chat({ fallbacks: [{ model: 'a' }] })],
    ['advisor', chat({ tools: [{ type: 'advisor_20260301', model: 'a' }] })],
    ['models', routed({ manualMode: { modelName: 'a' } })],
  ])('%s is accepted for the models that the record lists, and no others', async (row, request) => {
    expect(await statusOf(request, { allow: { [row]: { models: ['a', 'b'] } } })).toBe(200);
    expect(await refusalOf(request, { allow: { [row]: { models: ['b'] } } })).toMatchObject({
      status: 400,
    });
  });
});

it('a list of models with an element that names none is not among the models listed', async () => {
  const allow = { fallbacks: { models: ['a'] } };

  for (const other of [{}, { models: ['b'] }, null, 7]) {
    const request = chat({ fallbacks: [{ model: 'a' }, other] });
    expect(await refusalOf(request, { allow })).toMatchObject({ status: 400 });
  }
});

it.each(
  neutral.map((request) => [JSON.stringify(request.body), request] as const),
)('a value that changes nothing is accepted: %s', async (_body, request) => {
  expect(await statusOf(request)).toBe(200);
});

it('images are covered by a price per image', async () => {
  const price = { per: 'image', rows: [{ nanos: 500n }] } as const;
  const request = native({ generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } });

  expect(await statusOf(request, { price })).toBe(200);
  expect(await refusalOf(request)).toMatchObject({ status: 400 });
});

it('counting tokens costs nothing, whatever tools are declared', async () => {
  const request = native({ tools: [{ googleSearch: {} }] });
  const count = { ...request, path: '/v1beta/models/native:countTokens' };
  const harness = gatewayInProcess({
    models: [modelFor(request)],
    handlers: [(up) => up.answer(200, { totalTokens: 3 })],
  });

  expect((await harness.call(count)).status).toBe(200);
});

it('images above what the model states, or above 10, are refused', async () => {
  const price = { per: 'image', rows: [{ nanos: 1n }] } as const;

  expect(await statusOf(image({ n: 10 }), { price })).toBe(200);
  for (const change of [{ price }, free]) {
    expect(await refusalOf(image({ n: 11 }), change)).toMatchObject({
      status: 400,
      text: expect.stringContaining('`n` may be at most 10'),
    });
  }
  expect(await statusOf(image({ n: 11 }), { price, maxCandidates: 12 })).toBe(200);
  expect(await refusalOf(image({ n: 3 }), { maxCandidates: 2 })).toMatchObject({ status: 400 });
});

describe('one setting under two names', () => {
  const config = (members: object): object => ({ generationConfig: members });

  it.each([
    ['`max_tokens` and `max_completion_tokens`', chat({ max_tokens: 1, max_completion_tokens: 2 })],
    ['`max_tokens` and `max_new_tokens`', chat({ max_tokens: 1, max_new_tokens: 60_000 })],
    ['`max_tokens` and `max_length`', chat({ max_tokens: 1, max_length: 9 })],
    ['`max_tokens` and `max_gen_len`', chat({ max_tokens: 1, max_gen_len: 9 })],
    ['`max_tokens` and `maxCompletionTokens`', chat({ max_tokens: 1, maxCompletionTokens: 9 })],
    ['`max_tokens` and `max_tokens_to_sample`', chat({ max_tokens: 1, max_tokens_to_sample: 9 })],
    ['`max_tokens` and `max_decode_tokens`', chat({ max_tokens: 1, max_decode_tokens: 9 })],
    ['`extra_body.max_tokens` differs', chat({ max_tokens: 1, extra_body: { max_tokens: 9 } })],
    ['`extraBody.n_predict` differs', chat({ max_tokens: 1, extraBody: { n_predict: 9 } })],
    ['`extra_body.max_tokens` differs', chat({ max_tokens: 1, extra_body: { max_tokens: '1' } })],
    ['`extra_body.n` differs', chat({ extra_body: { n: 50 } })],
    ['`extra_body.extra_body.n` differs', chat({ extra_body: { extra_body: { n: 50 } } })],
    ['`extra_body.model` differs', chat({ extra_body: { model: 'other' } })],
    ['`extra_body.stream` differs', chat({ extra_body: { stream: true } })],
    ['`extra_body.messages` differs', chat({ extra_body: { messages: [] } })],
    ['`extra_body` must be an object', chat({ extra_body: [{ n: 50 }] })],
    ['`extra_body` must be an object', chat({ extra_body: '{"n":50}' })],
    ['`extra_body.n` differs', image({ n: 1, extra_body: { n: 4 } })],
    ['`extra_body.n` differs', image({ extra_body: { n: 4 } })],
    ['`max_completion_tokens` and `n_predict`', chat({ max_completion_tokens: 1, n_predict: 9 })],
    [
      '`generationConfig` and `generation_config`',
      native({
        generationConfig: { maxOutputTokens: 1 },
        generation_config: { maxOutputTokens: 60_000 },
      }),
    ],
    [
      '`generationConfig.maxOutputTokens` and `generationConfig.max_output_tokens`',
      native(config({ maxOutputTokens: 1, max_output_tokens: 60_000 })),
    ],
    [
      '`generationConfig.candidateCount` and `generationConfig.candidate_count`',
      native(config({ candidateCount: 1, candidate_count: 8 })),
    ],
    [
      '`generationConfig.imageConfig.imageSize` and `generationConfig.imageConfig.image_size`',
      native(config({ imageConfig: { imageSize: '1K', image_size: '4K' } })),
    ],
    [
      '`systemInstruction` and `system_instruction`',
      native({ systemInstruction: { parts: [] }, system_instruction: {} }),
    ],
    ['`model` differs', native({ model: 'models/other' })],
    [
      '`model` differs',
      {
        path: '/v1beta/models/native:countTokens',
        body: { generateContentRequest: { model: 'models/other', contents } },
      },
    ],
  ])('%s is refused if the two differ', async (names, request) => {
    expect(await refusalOf(request)).toEqual({ status: 400, text: expect.stringContaining(names) });
  });

  it.each([
    [chat({ max_tokens: 5, max_completion_tokens: 5 })],
    [chat({ max_tokens: 5, max_prompt_tokens: 9, max_tool_calls: 3, max_context_length: 9 })],
    [chat({ max_tokens: 5, n: 1, extra_body: { max_tokens: 5, n: 1, top_k: 3, stream: false } })],
    [chat({ extra_body: { max_tokens: 50, google: {} } })],
    [chat({ max_tokens: 5, extra_body: null })],
    // No server has a setting whose name has more than 100 characters.
    [chat({ max_tokens: 5, [`max_${'len'.repeat(40)}`]: 9 })],
    [chat({ max_tokens: 5, max_completion_tokens: null, max_new_tokens: 5 })],
    [native(config({ maxOutputTokens: 5, max_output_tokens: 5 }))],
    [native({ generationConfig: null, generation_config: { maxOutputTokens: 5 } })],
  ])('is accepted if they agree: %o', async (request) => {
    expect(await statusOf(request)).toBe(200);
  });
});
