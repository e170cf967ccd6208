// suite: slow
/**
 * Members of Messages requests that raise the cost of a call or reach beyond it: refused by name,
 * allowed by the model's record, covered by the hold, and charged.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { tokenPrice } from '../../../src/prices/codec.ts';
import type { MembersInput } from '../../../src/prices/price-json.ts';
import {
  type CallerReply,
  type CallerRequest,
  gatewayInProcess,
  untouched,
} from '../../support/gateway-in-process.ts';
import { channel, model } from '../../support/models.ts';

/** A model with a context of 11 tokens: 1 nano per prompt token, 2 per completion token. */
function priced(members: MembersInput = {}, change: Partial<Model> = {}): Model {
  return model({
    id: 'claude',
    protocols: ['messages'],
    price: tokenPrice({ input: '0.001', output: '0.002', members }),
    channels: [channel({ id: 'anthropic-a', dialect: 'anthropic' })],
    ...change,
  });
}

function call(members: JsonObject, path = '/v1/messages'): CallerRequest {
  const messages = [{ role: 'user', content: 'hi' }];
  return { path, body: { model: 'claude', max_tokens: 100, messages, ...members } };
}

/** The hold of a plain call: the whole context, and 100 tokens of output. */
const plain = 211n;
const search = { type: 'web_search_20250305', name: 'web_search' };
const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'claude-big' };

/** A member, its path as the error names it, and the part of the record that allows it. */
type Case = readonly [at: string, members: JsonObject, row: keyof MembersInput | AllowedRow];
type AllowedRow = keyof NonNullable<Model['allow']>;

const content = (block: JsonObject): JsonObject => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, block] }],
});
const fileSource = { type: 'file', file_id: 'file_1' };

/** A conversation in which these tools are added by value. */
function added(...tools: readonly JsonObject[]): JsonObject {
  const blocks = tools.map((definition) => ({
    type: 'tool_addition',
    tool: { type: 'tool_definition', definition },
  }));
  return {
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'system', content: blocks },
    ],
  };
}
const addedType = 'messages[1].content[0].tool.definition.type';

const reach: readonly Case[] = [
  [addedType, added(advisor), 'advisor'],
  [addedType, added({ type: 'mcp_toolset', mcp_server_name: 'x' }), 'mcp'],
  ['fallbacks', { fallbacks: [{ model: 'claude-big' }] }, 'fallbacks'],
  ['fallbacks', { fallbacks: 'default' }, 'fallbacks'],
  ['tools[0].type', { tools: [advisor] }, 'advisor'],
  [
    'messages[0].content[1].source.file_id',
    content({ type: 'image', source: fileSource }),
    'file_id',
  ],
  [
    'messages[0].content[1].source.file_id',
    content({ type: 'document', source: fileSource }),
    'file_id',
  ],
  [
    'messages[0].content[1].content[0].source.file_id',
    content({ type: 'tool_result', content: [{ type: 'image', source: fileSource }] }),
    'file_id',
  ],
  [
    'messages[0].content[1].file_id',
    content({ type: 'container_upload', file_id: 'f' }),
    'file_id',
  ],
  ['container', { container: 'container_1' }, 'container'],
  ['container', { container: { skills: [{ skill_id: 'pdf' }] } }, 'container'],
  ['thread', { thread: { type: 'create' } }, 'thread'],
  ['diagnostics.previous_message_id', { diagnostics: { previous_message_id: 'msg_1' } }, 'thread'],
  ['mcp_servers', { mcp_servers: [{ type: 'url', name: 'x', url: 'https://x.example' }] }, 'mcp'],
  ['tools[0].type', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] }, 'mcp'],
  ['billing_policy', { billing_policy: { x: 1 } }, 'billing_policy'],
  ['fallback_credit_token', { fallback_credit_token: 'x' }, 'billing_policy'],
];

const cost: readonly Case[] = [
  [addedType, added({ ...search, max_uses: 2 }), 'web_search'],
  [addedType, added({ type: 'web_fetch_20250910', max_uses: 2 }), 'web_fetch'],
  [addedType, added({ type: 'code_execution_20250825' }), 'code_execution'],
  [addedType, added({ type: 'tool_search_tool_bm25_20251119' }), 'tool_search'],
  ['speed', { speed: 'fast' }, 'speed'],
  ['service_tier', { service_tier: 'priority' }, 'service_tier'],
  ['inference_geo', { inference_geo: 'us' }, 'inference_geo'],
  ['tools[0].type', { tools: [{ ...search, max_uses: 2 }] }, 'web_search'],
  ['tools[0].type', { tools: [{ type: 'web_fetch_20250910', max_uses: 2 }] }, 'web_fetch'],
  ['tools[0].type', { tools: [{ type: 'code_execution_20250825' }] }, 'code_execution'],
  ['tools[0].type', { tools: [{ type: 'tool_search_tool_regex_20251119' }] }, 'tool_search'],
  ['compaction', { compaction: { type: 'summarize' } }, 'compaction'],
  [
    'context_management',
    {
      context_management: {
        edits: [{ type: 'clear_thinking_20251015' }, { type: 'compact_20260112' }],
      },
    },
    'compaction',
  ],
  [
    'thinking.budget_tokens',
    { thinking: { type: 'enabled', budget_tokens: 101 } },
    'reasoning_budget',
  ],
];

async function refused(request: CallerRequest, of: Model): Promise<CallerReply> {
  const harness = gatewayInProcess({ models: [of] });
  const reply = await harness.call(request);
  expect(await harness.state()).toEqual(untouched);
  expect(harness.upstream.calls).toEqual([]);
  return reply;
}

async function held(request: CallerRequest, of: Model): Promise<bigint> {
  const harness = gatewayInProcess({ models: [of] });
  harness.start(request);
  await harness.upstream.next();
  return (await harness.state()).held;
}

describe('a member that nothing covers', () => {
  it.each([...reach, ...cost])('%s of %j is refused by its name', async (at, members) => {
    const reply = await refused(call(members), priced());

    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining(`\`${at}\``) },
    });
  });

  it.each(reach)('%s of %j is refused on a free model too', async (_, members) => {
    const reply = await refused(call(members), priced({}, { price: { per: 'free' } }));

    expect(reply.status).toBe(400);
  });

  it.each(reach)('%s of %j is refused in a count too', async (_, members) => {
    const reply = await refused(call(members, '/v1/messages/count_tokens'), priced());

    expect(reply.status).toBe(400);
  });
});

describe('a member that the record covers', () => {
  it.each(reach)('%s of %j passes where the model allows it', async (_, members, row) => {
    const of = priced({}, { allow: { [row]: true } });

    expect(await held(call(members), of)).toBeGreaterThanOrEqual(plain);
  });

  it.each(cost)('%s of %j passes where the price lists it', async (_, members, row) => {
    const of = priced({ [row]: { holdCalls: 3, holdInputTokens: 5 } });

    expect(await held(call(members), of)).toBeGreaterThanOrEqual(plain);
  });

  it('names other models only from the list', async () => {
    const of = priced({}, { allow: { fallbacks: { models: ['claude-big'] } } });

    expect(await held(call({ fallbacks: [{ model: 'claude-big' }] }), of)).toBe(plain);
    for (const fallbacks of ['default', [{ model: 'other' }], [{ model: 'claude-big' }, {}]]) {
      expect((await refused(call({ fallbacks }), of)).status).toBe(400);
    }
  });
});

describe('an entry of fallbacks', () => {
  it.each<JsonObject>([
    { max_tokens: 99_999 },
    { thinking: { type: 'enabled', budget_tokens: 99_999 } },
    { speed: 'fast' },
    { inference_geo: 'us' },
    { service_tier: 'auto' },
    { fallbacks: [{ model: 'other' }] },
    { betas: [] },
  ])('with %j is refused by its name, even where the model is allowed', async (members) => {
    const of = priced({ fallbacks: {} }, { allow: { fallbacks: true } });
    const fallbacks = [{ model: 'claude-big' }, { model: 'claude-big', ...members }];

    const reply = await refused(call({ fallbacks }), of);

    expect(reply.status).toBe(400);
    expect(reply.text).toContain('fallbacks[1]');
  });
});

describe('a member without effect', () => {
  it.each<JsonObject>([
    { service_tier: 'auto' },
    { service_tier: 'standard_only' },
    { speed: 'standard' },
    { inference_geo: 'global' },
    { fallbacks: null },
    { mcp_servers: [] },
    { container: null },
    { context_management: { edits: [{ type: 'clear_tool_uses_20250919', keep: { value: 3 } }] } },
    { context_management: { edits: [] } },
    { thinking: { type: 'enabled', budget_tokens: 100 } },
    { thinking: { type: 'adaptive' } },
    { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    { tools: [{ type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' }] },
    { tools: [{ type: 'memory_20250818', name: 'memory' }] },
    { tools: [{ type: 'computer_20250124', name: 'computer', display_width_px: 800 }] },
    { tools: [{ type: 'custom', name: 'f', input_schema: { type: 'object' } }] },
  ])('%j passes', async (members) => {
    expect(await held(call(members), priced())).toBe(plain);
  });
});

describe('the hold of a tool that runs at the provider', () => {
  const each = { perCall: '0.000001', holdInputTokens: 0 };

  it.each<[string, JsonObject, MembersInput, bigint]>([
    ['its own bound', { ...search, max_uses: 2 }, { web_search: each }, 2n],
    ['ten calls at most', { ...search, max_uses: 50 }, { web_search: each }, 10n],
    [
      'the price’s bound',
      { ...search, max_uses: 50 },
      { web_search: { ...each, holdCalls: 4 } },
      4n,
    ],
    ['the price’s bound, if it has none', search, { web_search: { ...each, holdCalls: 4 } }, 4n],
  ])('is %s', async (_, tool, members, calls) => {
    expect(await held(call({ tools: [tool] }), priced(members))).toBe(plain + calls * 1_000n);
  });

  it('adds up the tools that are declared', async () => {
    const tools = [
      { ...search, max_uses: 2 },
      { ...search, max_uses: 3 },
    ];

    expect(await held(call({ tools }), priced({ web_search: each }))).toBe(plain + 5_000n);
  });

  it('adds those that the conversation declares', async () => {
    const of = priced({ web_search: each });
    const inline = added({ ...search, max_uses: 3 });
    const both = { tools: [{ ...search, max_uses: 2 }], ...inline };

    expect(await held(call(inline), of)).toBe(plain + 3_000n);
    expect(await held(call(both), of)).toBe(plain + 5_000n);
    const unbounded = await refused(call(added(search)), of);
    expect(JSON.parse(unbounded.text).error.message).toContain('Send `max_uses` with it.');
  });

  it('has a whole context for each call, where the price states no other input', async () => {
    const of = priced({ web_search: {} });

    expect(await held(call({ tools: [{ ...search, max_uses: 3 }] }), of)).toBe(plain + 33n);
  });

  it.each([undefined, 0, -1, 1.5, '5', null])('a bound of %s is ignored', async (max_uses) => {
    const tool = max_uses === undefined ? search : { ...search, max_uses };
    const reply = await refused(call({ tools: [tool] }), priced({ web_search: each }));

    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).error.message).toContain('Send `max_uses` with it.');
  });

  it('needs no bound in a count, which is free', async () => {
    const harness = gatewayInProcess({ models: [priced({ web_search: each })] });
    harness.start(call({ tools: [search] }, '/v1/messages/count_tokens'));

    await harness.upstream.next();

    expect((await harness.state()).held).toBe(0n);
  });
});

describe('the hold of what reads the prompt again', () => {
  it('has it twice for a summary, and once more for each other model', async () => {
    const of = priced({ compaction: {}, fallbacks: {} }, { allow: { fallbacks: true } });
    const fallbacks = [{ model: 'a' }, { model: 'b' }];

    expect(await held(call({ compaction: { type: 'summarize' } }), of)).toBe(
      plain + 11n + 2n * 16_384n,
    );
    expect(await held(call({ fallbacks }), of)).toBe(plain + 22n);
  });
});

describe('the bound of the output', () => {
  const { maxOutputTokens: _unstated, ...open } = priced();

  it.each([
    [0, 11n],
    [7, 25n],
    [100, 211n],
  ])('%i is held exactly', async (max_tokens, nanos) => {
    expect(await held(call({ max_tokens }), open)).toBe(nanos);
  });
});
