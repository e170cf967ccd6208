// suite: quick
/** The members of a Messages request: what is carried, acted on, left out and refused. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readRequest } from '../../../src/dialects/anthropic/server/read-request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { refusalOf, upstreams, writtenFor } from '../responses/read.ts';
import { plainBody, readBody, requestWith } from './read.ts';

const schema: JsonObject = {
  type: 'object',
  properties: { a: { type: 'number' } },
  required: ['a'],
  additionalProperties: false,
};
const others = upstreams.filter(({ dialect }) => dialect !== 'anthropic');

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('a member that models of every provider may have', () => {
  const long = 'u'.repeat(65);
  const format = { type: 'json_schema', schema };
  it.each<[JsonObject, object]>([
    [{ max_tokens: 1 }, { maxOutputTokens: 1 }],
    [
      { temperature: 0.5, top_p: 0, top_k: 5 },
      { temperature: 0.5, topP: 0, topK: 5 },
    ],
    [{ stop_sequences: ['a', ' '] }, { stop: ['a', ' '] }],
    [{ service_tier: 'auto' }, { serviceTier: 'auto' }],
    [{ service_tier: 'standard_only' }, { serviceTier: 'default' }],
    [{ metadata: { user_id: 'u' } }, { endUserId: 'u' }],
    [{ metadata: { user_id: long } }, { endUserId: sha256(long) }],
    [
      { output_config: { format } },
      {
        format: { type: 'json_schema', name: 'response', schema, strict: true },
        names: { format: 'output_config.format' },
      },
    ],
    [{ output_format: format }, { names: { format: 'output_format' } }],
  ])('%j is carried', (members, request) => {
    const read = requestWith(members);

    expect(read).toMatchObject(request);
    expect(read.dropped).toEqual([]);
  });

  it('-1 counts as an unset setting', () => {
    expect(requestWith({ temperature: -1, top_p: -1, top_k: -1 })).toEqual(requestWith({}));
  });
});

describe('a system prompt', () => {
  it('has a part for each block, in order, and a string is one', () => {
    expect(requestWith({ system: 's' }).system).toEqual([
      { kind: 'text', at: 'system', text: 's' },
    ]);
    expect(
      requestWith({
        system: [
          { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
          { type: 'text', text: '' },
          { type: 'text', text: 'b' },
        ],
      }).system,
    ).toEqual([
      { kind: 'text', at: 'system[0]', text: 'a' },
      { kind: 'text', at: 'system[2]', text: 'b' },
    ]);
  });

  it('loses the line with which Claude Code names its version, wherever it stands', () => {
    const line = { type: 'text', text: 'x-anthropic-billing-header: cc_version=2; cch=1' };
    const prompt = { type: 'text', text: 'Be brief.' };
    for (const system of [
      [line, prompt],
      [prompt, line],
    ]) {
      const { request, unasked } = readBody({ ...plainBody, system });
      const at = `system[${system.indexOf(line)}]`;

      expect(request.system).toMatchObject([{ text: 'Be brief.' }]);
      expect(request.dropped).toEqual([at]);
      expect(unasked.has(at)).toBe(true);
    }
  });
});

describe('a key for the prompt cache', () => {
  const keyFor = (members: JsonObject, session?: string): string | undefined =>
    readRequest({ ...plainBody, ...members }, { streamed: false, session }).request.promptCacheKey;

  it('comes from the session, else from the user, and says nothing of either', () => {
    const user = { metadata: { user_id: 'user-7' } };

    expect(keyFor(user)).toBe(sha256('user-7').slice(0, 32));
    expect(keyFor(user, 'session-9')).toBe(sha256('session-9').slice(0, 32));
    expect(keyFor({})).toBeUndefined();
    expect(keyFor({ metadata: { user_id: '' } })).toBeUndefined();
  });

  it('is sent where the upstream has one', () => {
    const request = requestWith({ metadata: { user_id: 'u' } });
    const key = sha256('u').slice(0, 32);

    const [openai, gemini] = others.map((upstream) => writtenFor(upstream, request));
    expect(openai).toMatchObject({ body: { prompt_cache_key: key, user: 'u' }, dropped: [] });
    expect(JSON.stringify(gemini?.body)).not.toContain(key);
    expect(gemini?.dropped).toEqual(['metadata.user_id']);
  });
});

describe('a neutral value', () => {
  it.each<JsonObject>([
    { speed: 'standard' },
    { inference_geo: 'global' },
    { mcp_servers: [] },
    { fallbacks: [] },
    { context_management: { edits: [] } },
    { tool_choice: { type: 'auto', disable_parallel_tool_use: false } },
    { tool_choice: { type: 'none' } },
    { output_config: {} },
    { metadata: {} },
    { stop_sequences: [] },
  ])('%j has no effect', (members) => {
    expect(requestWith(members)).toEqual(requestWith({}));
  });

  it('null has no effect, for every member', () => {
    const names = [
      ...['system', 'stream', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'tools'],
      ...['tool_choice', 'thinking', 'output_config', 'output_format', 'metadata', 'speed'],
      ...['service_tier', 'inference_geo', 'cache_control', 'container', 'mcp_servers', 'thread'],
      ...['context_management', 'compaction', 'fallbacks', 'diagnostics', 'some_new_member'],
    ];
    const body = Object.fromEntries(names.map((name) => [name, null]));

    expect(requestWith(body)).toEqual(requestWith({}));
    expect(
      requestWith({
        output_config: { effort: null, format: null, task_budget: null },
        metadata: { user_id: null },
      }),
    ).toEqual(requestWith({}));
  });
});

describe('a member without a counterpart', () => {
  it.each<[JsonObject, readonly string[]]>([
    [{ speed: 'fast' }, ['speed']],
    [{ diagnostics: { previous_message_id: null } }, ['diagnostics']],
    [{ thread: { type: 'create' } }, ['thread']],
    [{ compaction: { type: 'summarize' } }, ['compaction']],
    [{ fallbacks: 'default' }, ['fallbacks']],
    [
      { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      ['context_management.edits'],
    ],
    [{ output_config: { task_budget: { total: 5 } } }, ['output_config.task_budget']],
    [{ metadata: { team: 'a' } }, ['metadata.team']],
    [{ cache_control: { type: 'ephemeral' } }, ['cache_control']],
    [{ some_new_member: 1 }, ['some_new_member']],
    [
      {
        output_config: { format: { type: 'json_schema', schema } },
        output_format: { type: 'json_schema', schema: {} },
      },
      ['output_format'],
    ],
  ])('%j is left out and listed', (members, dropped) => {
    expect(requestWith(members).dropped).toEqual(dropped);
  });

  it('all cache marks are one entry', () => {
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const text = { type: 'text', text: 't', ...mark };
    const body = {
      ...plainBody,
      ...mark,
      system: [text],
      tools: [{ name: 'f', input_schema: schema, ...mark }],
      messages: [
        { role: 'user', content: [text] },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'a', name: 'f', input: {}, ...mark }],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'a', content: [text], ...mark }],
        },
      ],
    };

    expect(readBody(body).request.dropped).toEqual(['cache_control']);
  });
});

describe('a strict model', () => {
  it('does not refuse what agents send with every call', () => {
    const { request, unasked } = readBody({
      ...plainBody,
      metadata: { user_id: 'u', account: 'a' },
      cache_control: { type: 'ephemeral' },
      context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
      tools: [{ name: 'f', input_schema: schema, eager_input_streaming: true }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    });

    for (const upstream of others) {
      const { dropped } = writtenFor(upstream, request);
      expect(dropped.length).toBeGreaterThan(2);
      expect(dropped.filter((name) => !unasked.has(name))).toEqual([]);
    }
  });

  it.each<[JsonObject, string]>([
    [{ speed: 'fast' }, 'speed'],
    [{ fallbacks: 'default' }, 'fallbacks'],
    [{ compaction: { type: 'summarize' } }, 'compaction'],
    [{ output_config: { task_budget: { total: 5 } } }, 'output_config.task_budget'],
  ])('refuses %j', (members, name) => {
    const { request, unasked } = readBody({ ...plainBody, ...members });

    expect(request.dropped.filter((one) => !unasked.has(one))).toEqual([name]);
  });
});

describe('a member without which the request would mean something else', () => {
  it.each<[JsonObject, string, RegExp]>([
    [{ max_tokens: 0 }, 'max_tokens', /^This model cannot fill its cache without a reply\./],
    [{ thread: { type: 'continue', id: 't' } }, 'thread', /whole history/],
    [{ container: 'container_1' }, 'container', /containers/],
    [{ container: { skills: [{ skill_id: 'pptx' }] } }, 'container', /containers/],
    [{ mcp_servers: [{ type: 'url', url: 'https://a.test' }] }, 'mcp_servers', /functions/],
    [{ inference_geo: 'eu' }, 'inference_geo', /region/],
  ])('%j is refused', (members, param, message) => {
    const refusal = refusalOf(() => requestWith(members));

    expect(refusal).toMatchObject({ code: 'not_portable', param });
    expect(refusal.message).toMatch(message);
  });
});

describe('a member of the wrong type', () => {
  const wrong: readonly JsonValue[] = ['text', 7, 1.5, true, [1], [[]], { a: 1 }];
  const right: Readonly<Record<string, (value: JsonValue) => boolean>> = {
    system: (value) => typeof value === 'string',
    max_tokens: (value) => value === 7,
    temperature: (value) => typeof value === 'number',
    top_p: (value) => typeof value === 'number',
    top_k: (value) => value === 7,
    stop_sequences: () => false,
    tools: () => false,
    tool_choice: () => false,
    thinking: () => false,
    output_config: (value) => typeof value === 'object' && !Array.isArray(value),
    output_format: () => false,
    metadata: (value) => typeof value === 'object' && !Array.isArray(value),
    service_tier: (value) => typeof value === 'string',
    messages: () => false,
  };
  const rows = Object.entries(right).flatMap(([name, isRight]) =>
    wrong.filter((value) => !isRight(value)).map((value) => [name, value] as const),
  );

  it.each(rows)('%s: %j is refused by its name', (name, value) => {
    const { code, param } = refusalOf(() => requestWith({ [name]: value }));

    expect(code).toBe('invalid_request');
    expect(param).toMatch(new RegExp(`^${name}(?:[.[]|$)`));
  });

  it.each<[JsonObject, string]>([
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'a' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ messages: [{ role: 'system', content: 'a' }] }, 'messages'],
    [{ stop_sequences: ['a', 1] }, 'stop_sequences[1]'],
    [{ system: [{ type: 'text' }] }, 'system[0].text'],
    [{ tools: [{ input_schema: {} }] }, 'tools[0].name'],
    [{ tools: [{ name: 'f' }] }, 'tools[0].input_schema'],
    [{ tool_choice: { type: 'required' } }, 'tool_choice.type'],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'enabled', budget_tokens: 0 } }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'deep' } }, 'thinking.type'],
    [{ output_config: { effort: 'none' } }, 'output_config.effort'],
    [{ output_config: { format: { type: 'json' } } }, 'output_config.format.type'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema'],
    [{ metadata: { user_id: 7 } }, 'metadata.user_id'],
  ])('%j is refused by its exact path', (members, param) => {
    expect(refusalOf(() => requestWith(members))).toMatchObject({ code: 'invalid_request', param });
  });
});
