// suite: search
/**
 * Tools are denied by default: on a model with a price, a tool not known to run at the caller needs
 * a row in `allow` or in the price. What runs where is stated here again, from the documents.
 */
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Model } from '../../../src/ports/models/catalog.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  type CallerRequest,
  gatewayInProcess,
  type InProcessGateway,
  untouched,
} from '../../support/gateway-in-process.ts';
import { channel, contents, model } from '../../support/models.ts';
import { fixtures } from '../../support/recorded/fixtures.ts';
import { responsesFixtures } from '../../support/recorded/responses-fixtures.ts';
import { someOf } from '../../support/sample.ts';

type Tool = Readonly<Record<string, unknown>>;

const parameters = {
  type: 'object',
  properties: { model: { type: 'string' }, models: { enum: ['a'] } },
};

/** Tools that run at the caller, whose schemas and descriptions may say anything. */
const callers: readonly Tool[] = [
  { type: 'function', function: { name: 'f', description: 'model', parameters } },
  { type: 'function', name: 'f', parameters, strict: true, output_schema: parameters },
  { type: 'function', function: { name: 'f', parameters }, some_new_member: { a: [1] } },
  { name: 'f', description: 'f', input_schema: parameters, input_examples: [{ model: 'a' }] },
  { type: 'custom', name: 'f', format: { type: 'grammar', syntax: 'lark', definition: 'model' } },
  { type: 'custom', custom: { name: 'f', format: { type: 'text' } } },
  { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', parameters }] },
  { type: 'bash_20250124', name: 'bash' },
  { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 100 },
  { type: 'memory_20250818', name: 'memory' },
  { type: 'computer_20251124', name: 'computer', display_width_px: 100 },
  { type: 'computer_toolset_20260801', name: 'computer' },
  { type: 'browser_toolset_20260801', name: 'browser' },
  { type: 'computer' },
  { type: 'computer_use_preview', display_width: 100, environment: 'mac' },
  { type: 'local_shell' },
  { type: 'apply_patch' },
  { type: 'shell', environment: { type: 'local' } },
  { type: 'tool_search', execution: 'client', description: 'd', parameters },
];

/** Tools that run at a provider, by the row that covers them. */
const providers: Readonly<Record<string, readonly string[]>> = {
  web_search: [
    ...['web_search', 'web_search_preview', 'web_search_2025_08_26', 'web_search_20260318'],
    ...['x_search', 'live_search', 'browser_search', 'openrouter:web_search', 'xai/x_search'],
  ],
  web_fetch: ['web_fetch_20260318', 'openrouter:web_fetch'],
  code_execution: ['code_execution_20260521', 'bash_code_execution', 'programmatic_tool_calling'],
  image_generation: ['image_generation', 'openrouter:image_generation'],
  file_search: ['file_search', 'collections_search', 'document_library'],
  code_interpreter: ['code_interpreter'],
  shell: ['shell'],
  mcp: ['mcp', 'mcp_toolset'],
  advisor: ['advisor_20260301', 'openrouter:advisor'],
  tool_search: ['tool_search', 'tool_search_tool_bm25_20251119', 'openrouter:tool_search'],
  maps: ['google_maps'],
};
/** Tools of no row, with and without a vendor's prefix. */
const unknown: readonly string[] = [
  ...['deep_research', 'video_generation', 'subagent', 'fusion', 'bash', 'bash_latest', 'memory'],
  ...['text_editor', 'computer_use_agent', 'my_function', 'functions', 'custom_model'],
  ...['constructor', '__proto__', 'local_shell_remote', 'memory_20250818_remote', 'zzz'],
];
const vendors: readonly string[] = [
  ...['openrouter:subagent', 'openrouter:fusion', 'openrouter:datetime', 'moonshot:code_runner'],
  ...['fünction', 'x:function', 'openrouter/subagent', 'vendor.tool', 'openrouter:', ':custom'],
  'a:memory_20250818',
];

/** Other spellings that a lenient server may read alike. */
const spellings: readonly ((type: string) => string)[] = [
  (type) => type,
  (type) => type.toUpperCase(),
  (type) => type.replaceAll('_', '-'),
  (type) => type.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
];

const ownChannels = new Map([
  ['native', [channel({ id: 'gemini-a', dialect: 'gemini' })]],
  ['messages', [channel({ id: 'anthropic-a', dialect: 'anthropic' })]],
  ['responses', [channel({ capabilities: { responses: true } })]],
]);
const protocols: Readonly<Record<string, { readonly path: string; readonly body: object }>> = {
  chat: { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'hi' }] } },
  responses: { path: '/v1/responses', body: { input: [{ role: 'user', content: 'hi' }] } },
  messages: {
    path: '/v1/messages',
    body: { max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] },
  },
  native: { path: '/v1beta/models/m:generateContent', body: { contents } },
  images: { path: '/v1/images/generations', body: { prompt: 'a' } },
};

function modelOf(protocol: string, change: Partial<Model>): Model {
  const channels = ownChannels.get(protocol);
  const own = channels === undefined ? {} : { channels };
  return model({
    id: 'm',
    protocols: ['chat', 'responses', 'messages', 'native', 'images'],
    contextTokens: 10_000,
    maxOutputTokens: 100,
    ...own,
    ...change,
  });
}

function requestOf(protocol: string, members: object): CallerRequest {
  const { path = '', body = {} } = protocols[protocol] ?? {};
  return { path, body: { model: 'm', ...body, ...members } };
}

/** The members that declare a tool, by the place where it is declared. */
function places(protocol: string, tool: unknown): readonly object[] {
  const everywhere = [
    { tools: [tool] },
    { tools: tool },
    { tools: [[tool]] },
    { tools: [{ type: 'function', function: { name: 'g' } }, null, tool] },
    { tools: [{ type: 'namespace', name: 'n', tools: [tool] }] },
    { extra_body: { tools: [tool] } },
    { extraBody: { extra_body: { tools: [tool] } } },
  ];
  const block = { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool } };
  const added: Readonly<Record<string, readonly object[]>> = {
    chat: [{ messages: [{ role: 'system', content: [block] }] }],
    messages: [
      { system: [block] },
      { messages: [{ role: 'user', content: [block] }] },
      { messages: [{ role: 'user', content: 'hi', tools: [tool] }] },
    ],
    responses: [
      { input: [{ type: 'additional_tools', role: 'developer', tools: [tool] }] },
      { input: [{ type: 'tool_search_output', call_id: 'c', tools: [tool] }] },
    ],
    native: [{ contents: [{ role: 'user', parts: [{ text: 'hi' }], tools: [tool] }] }],
  };
  return [...everywhere, ...(added[protocol] ?? [])];
}

/** A tool of a type. Messages need a name, and a bound where the price states none. */
function named(protocol: string, type: string): Tool {
  return protocol === 'messages' ? { type, name: 'x', max_uses: 1 } : { type, name: 'x' };
}

const free = { price: { per: 'free' } } as const;
const tokenPrice = { per: 'token', rates: { input: 1n, output: 2n } } as const;

/** Some APIs take no object in place of the list, and say so. */
const refusedAt = /\.type$|^tools(?:\[\d\])?$/;

/** The gateways of this test: making one takes longer than a call. */
const gateways = new Map<string, InProcessGateway>();
beforeEach(() => gateways.clear());

/** The gateway's own answer, without a charge; undefined if the call was sent. */
async function ownReply(request: CallerRequest, own: Model): Promise<CallerReply | undefined> {
  const id = inspect(own, { depth: 9 });
  const handlers = Array<CallHandler>(1_000).fill((up) => up.answer(422, {}));
  const harness = gateways.get(id) ?? gatewayInProcess({ models: [own], handlers });
  gateways.set(id, harness);
  const sent = harness.upstream.calls.length;
  const reply = await harness.call(request);
  if (harness.upstream.calls.length > sent) return undefined;
  expect(await harness.state(), reply.text).toEqual(untouched);
  return reply;
}

/** The parameter of a refusal; undefined if the call was sent. */
async function refusalOf(protocol: string, members: object, change: Partial<Model> = {}) {
  const reply = await ownReply(requestOf(protocol, members), modelOf(protocol, change));
  return reply === undefined ? undefined : { param: nameIn(reply) };
}

/** The member that the error names. */
function nameIn({ status, text }: CallerReply): string {
  expect(status, text).toBe(400);
  return /`([^`]+)`/.exec(text)?.[1] ?? text;
}

const names = Object.keys(protocols);
const rows = Object.entries(providers).flatMap(([row, types]) => types.map((type) => [type, row]));

describe.each(names)('on %s', (protocol) => {
  // A native tool is judged by its members.
  const own = protocol === 'native' ? [] : callers;
  it.each(own)('a tool that runs at the caller is sent: %j', async (tool) => {
    for (const members of places(protocol, tool)) {
      const reply = await ownReply(requestOf(protocol, members), modelOf(protocol, {}));
      expect(reply?.text ?? '').not.toMatch(/may run at the provider|names other models/);
    }
  });

  it.each(someOf([...unknown, ...vendors]))('%s is refused on a priced model', async (type) => {
    for (const spell of spellings) {
      for (const members of places(protocol, { type: spell(type), name: 'web_search' })) {
        const refused = await refusalOf(protocol, members);
        expect(refused?.param, JSON.stringify(members)).toMatch(refusedAt);
      }
    }
  });

  it.each(someOf(vendors))('%s is refused on a free model too', async (type) => {
    const tool = { type, name: 'x', parameters: { model: 'other' } };
    for (const members of places(protocol, tool)) {
      expect((await refusalOf(protocol, members, free))?.param).toMatch(refusedAt);
    }
  });

  it.each(someOf(unknown))('%s is sent by a free model', async (type) => {
    expect(await refusalOf(protocol, { tools: [named(protocol, type)] }, free)).toBeUndefined();
  });

  it.each(
    someOf([...unknown, ...vendors]),
  )('%s is sent if the record allows its type', async (type) => {
    const tools = [named(protocol, type)];
    const priced = { ...tokenPrice, members: { other_tools: {} } };

    for (const change of [{}, free, { price: priced }]) {
      const allowed = { ...change, allow: { other_tools: { types: [type] } } };
      expect(await refusalOf(protocol, { tools }, allowed)).toBeUndefined();
      const other = { ...change, allow: { other_tools: { types: [`${type}x`, 'other'] } } };
      if (vendors.includes(type)) expect(await refusalOf(protocol, { tools }, other)).toBeDefined();
      expect(
        await refusalOf(protocol, { tools }, { ...change, allow: { other_tools: true } }),
      ).toBeUndefined();
    }
    expect(
      await refusalOf(protocol, { tools }, { allow: { other_tools: { types: [] } } }),
    ).toBeDefined();
  });

  it.each(someOf([...unknown, ...vendors]))('%s and a price for it', async (type) => {
    const price = { ...tokenPrice, members: { other_tools: { holdCalls: 2 } } } as const;
    const refused = await refusalOf(protocol, { tools: [named(protocol, type)] }, { price });

    expect(refused === undefined).toBe(!vendors.includes(type));
  });

  it.each(rows)('%s is refused on a priced model, or covered by %s', async (type, row) => {
    for (const members of places(protocol, { type, name: 'x' })) {
      const refused = await refusalOf(protocol, members);
      // Codex declares a search in every request, which is left out where there are other tools.
      if (refused === undefined && protocol === 'responses' && row === 'web_search') continue;
      expect(refused?.param, JSON.stringify(members)).toMatch(refusedAt);
    }
    const price = { ...tokenPrice, members: { [row ?? '']: { holdCalls: 1 } } } as const;
    const needsPermission = ['file_search', 'code_interpreter', 'shell', 'mcp', 'advisor'];
    const allow = needsPermission.includes(row ?? '') ? { [row ?? '']: true } : {};
    expect(
      await refusalOf(protocol, { tools: [named(protocol, type)] }, { price, allow }),
    ).toBeUndefined();
    const others = { allow: { other_tools: true } } as const;
    expect(await refusalOf(protocol, { tools: [named(protocol, type)] }, others)).toBeDefined();
  });

  it('a type that is no text is refused', async () => {
    for (const type of [1, true, {}, ['function'], 'f'.repeat(5_000)]) {
      expect(await refusalOf(protocol, { tools: [{ type, name: 'f' }] })).toBeDefined();
    }
  });

  it('a second type in another spelling counts too', async () => {
    for (const name of ['Type', 'TYPE', 't_ype']) {
      const tool = { type: 'function', name: 'f', [name]: 'deep_research' };
      expect((await refusalOf(protocol, { tools: [tool] }))?.param).toMatch(/tools\[0\]\.t_?ype$/i);
    }
  });

  it('a tool without a type and a name is judged by its members', async () => {
    for (const name of ['deepResearch', 'deep_research', 'agent', 'GoogleSearch', 'x']) {
      for (const members of places(protocol, { [name]: {} })) {
        expect((await refusalOf(protocol, members))?.param).toMatch(
          new RegExp(`\\.${name}$|^tools(?:\\[\\d\\])?$`),
        );
      }
      const allow = { other_tools: { types: [name] } };
      const isKnown = name === 'GoogleSearch';
      const refused = await refusalOf(protocol, { tools: [{ [name]: {} }] }, { allow });
      expect(refused !== undefined).toBe(isKnown);
      for (const value of [null, '', [], false]) {
        expect(await refusalOf(protocol, { tools: [{ [name]: value }] })).toBeUndefined();
      }
    }
  });
});

describe('a tool of a native call', () => {
  it('may be functions and a computer, and no other member without a row', async () => {
    const functionDeclarations = [{ name: 'f', parametersJsonSchema: parameters, response: {} }];
    for (const own of [
      { functionDeclarations },
      { function_declarations: functionDeclarations },
      { computerUse: { environment: 'ENVIRONMENT_BROWSER' } },
      { functionDeclarations, googleSearch: null },
    ]) {
      for (const tools of [[own], own, [[own]]]) {
        expect(await refusalOf('native', { tools })).toBeUndefined();
      }
    }
    for (const own of [{ functionDeclarations }, { type: 'function' }, { name: 'f' }]) {
      const refused = await refusalOf('native', { tools: [{ ...own, deepResearch: {} }] });
      expect(refused?.param).toBe('tools[0].deepResearch');
    }
  });
});

/** Where a tool may name a model, and the path of it. */
const naming: readonly (readonly [at: string, tool: Tool])[] = [
  ['model', { type: 'function', function: { name: 'f' }, model: 'a' }],
  ['function.model', { type: 'function', function: { name: 'f', model: 'a' } }],
  ['settings.model', { type: 'function', name: 'f', parameters, settings: { model: 'a' } }],
  ['a[1].judge_model', { name: 'f', input_schema: parameters, a: [0, { judge_model: 'a' }] }],
  ['custom.models', { type: 'custom', custom: { name: 'f', models: ['a'] } }],
  ['model', { type: 'computer', model: 'a' }],
  ['parameters.model', { type: 'image_generation', parameters: { model: 'a' } }],
  ['svg.model', { type: 'image_generation', svg: { model: 'a' } }],
  ['parameters.analysis_models', { type: 'openrouter:x', parameters: { analysis_models: ['a'] } }],
  ['parameters.judgeModel', { type: 'openrouter:fusion', parameters: { judgeModel: 'a' } }],
  ['parameters.MODEL', { type: 'openrouter:subagent', parameters: { MODEL: 'a' } }],
  ['parameters.x.model_id', { type: 'deep_research', parameters: { x: { model_id: 'a' } } }],
  ['googleSearch.ranker.modelName', { googleSearch: { ranker: { modelName: 'a' } } }],
  ['functionDeclarations[0].model', { functionDeclarations: [{ name: 'f', model: 'a' }] }],
];

describe('a model that a tool names', () => {
  const members = { image_generation: { holdCalls: 1 }, web_search: { holdCalls: 1 } } as const;
  const price = { ...tokenPrice, members } as const;
  const allow = { other_tools: true } as const;

  it.each(naming)('at %s needs permission', async (at, tool) => {
    for (const protocol of names) {
      for (const change of [
        { price, allow },
        { ...free, allow },
      ]) {
        const refused = await refusalOf(protocol, { tools: [tool] }, change);
        expect(refused?.param).toBe(`tools[0].${at}`);
        const own = { ...change, allow: { ...allow, models: { models: ['a'] } } };
        expect(await refusalOf(protocol, { tools: [tool] }, own)).toBeUndefined();
        const others = { ...change, allow: { ...allow, models: { models: ['b'] } } };
        expect(await refusalOf(protocol, { tools: [tool] }, others)).toBeDefined();
      }
    }
  });

  it('of an advisor is among those that the row lists', async () => {
    const named = [
      { type: 'advisor_20260301', model: 'a' },
      { type: 'openrouter:advisor', parameters: { model: 'a' } },
    ];
    for (const tool of named) {
      for (const [models, isSent] of [
        [['a'], true],
        [['b'], false],
      ] as const) {
        const change = { allow: { advisor: { models } } };
        const refused = await refusalOf('chat', { tools: [tool] }, change);
        expect(refused === undefined).toBe(isSent);
      }
    }
  });
});

describe('what SDKs and agents send', () => {
  const recorded = [
    ...fixtures('anthropic', 'messages', 'openai-chat', 'openai-compat', 'gemini'),
    ...responsesFixtures('clients', 'openai', 'compat'),
  ].filter(({ request }) => request !== undefined);

  it('is not refused for tools of its own', async () => {
    let seen = 0;
    for (const one of recorded) {
      const protocol = 'url' in one ? protocolOf(one.url) : 'responses';
      if (protocol === undefined) continue;
      const body = { ...JSON.parse(String(one.request)), model: 'm' };
      const reply = await ownReply(requestOf(protocol, body), modelOf(protocol, {}));
      seen += 1;
      expect(reply?.text ?? '').not.toMatch(/may run at the provider|names other models/);
    }
    expect(seen).toBeGreaterThan(100);
  });
});

function protocolOf(url: string): string | undefined {
  if (url.includes('chat/completions')) return 'chat';
  if (/generateContent/i.test(url)) return 'native';
  return /\/messages(?:\?|$)/.test(url) ? 'messages' : undefined;
}
