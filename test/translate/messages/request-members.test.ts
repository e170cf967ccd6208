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
});
