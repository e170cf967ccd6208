// suite: quick
/** The tools of a Messages request, and the choice among them. */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { refusalOf, type Upstream, upstreams, writtenFor } from '../responses/read.ts';
import { requestWith } from './read.ts';

const input_schema: JsonObject = { type: 'object', properties: { a: { const: 1.5 } } };
const tool = (name: string, more: JsonObject = {}): JsonObject => ({ name, input_schema, ...more });
const others = upstreams.filter(({ dialect }) => dialect !== 'anthropic');

describe('a tool with a schema', () => {
  it('loses what only tunes it, listed once for all tools', () => {
    const tuned = {
      input_examples: [{ a: 1 }],
      allowed_callers: ['code_execution_20250825'],
      cache_control: { type: 'ephemeral' },
    };
    const { tools, dropped } = requestWith({ tools: [tool('f', tuned), tool('g', tuned)] });

    expect(tools).toHaveLength(2);
    expect(dropped.toSorted()).toEqual([
      'cache_control',
      'tools.allowed_callers',
      'tools.input_examples',
    ]);
    expect(requestWith({ tools: [tool('f', { allowed_callers: ['direct'] })] }).dropped).toEqual(
      [],
    );
  });
});

describe('a search for tools', () => {
  const search = (kind: string): JsonObject => ({
    type: `tool_search_tool_${kind}_20251119`,
    name: `tool_search_tool_${kind}`,
  });

  it.each(['bm25', 'regex'])('(%s) is not needed: every tool is offered', (kind) => {
    const { tools, dropped } = requestWith({
      tools: [search(kind), tool('f', { defer_loading: true }), tool('g', { defer_loading: true })],
    });

    expect(tools.map(({ name }) => name)).toEqual(['f', 'g']);
    expect(dropped).toEqual(['tools.defer_loading', 'tools[0]']);
  });

  it('can no longer be chosen', () => {
    const { toolChoice, dropped } = requestWith({
      tools: [search('bm25'), tool('f')],
      tool_choice: { type: 'tool', name: 'tool_search_tool_bm25' },
    });

    expect(toolChoice).toBeUndefined();
    expect(dropped).toEqual(['tools[0]', 'tool_choice']);
  });
});

describe('a tool that Anthropic defines', () => {
  const types = [
    ...['bash_20250124', 'text_editor_20250728', 'memory_20250818', 'computer_20251124'],
    ...['browser_toolset_20261001', 'web_search_20250305', 'web_fetch_20250910'],
    ...['code_execution_20250825', 'advisor_20260301', 'mcp_toolset', 'something_new'],
  ];

  it.each(types)('%s is refused by its place', (type) => {
    const request = requestWith({ tools: [tool('f'), { type, name: 'n' }] });

    for (const upstream of others) {
      expect(refusalOf(() => writtenFor(upstream, request))).toMatchObject({
        code: 'not_portable',
        param: 'tools[1]',
      });
    }
  });

  it('is left out if the channel says so, together with a choice of it', () => {
    const request = requestWith({
      tools: [{ type: 'web_search_20250305', name: 'web_search' }, tool('f')],
      tool_choice: { type: 'tool', name: 'web_search' },
    });

    for (const upstream of others) {
      const lenient: Upstream = { ...upstream, own: { dropBuiltInTools: true } };
      const { body, dropped } = writtenFor(lenient, request);
      expect(dropped.toSorted()).toEqual(['tool_choice', 'tools[0]']);
      expect(JSON.stringify(body)).not.toContain('web_search');
    }
  });
});

describe('a choice', () => {
  it('of one call at a time is left out where the model has no such setting', () => {
    const request = requestWith({
      tools: [tool('f')],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });

    expect(others.map((upstream) => writtenFor(upstream, request).dropped)).toEqual([
      [],
      ['tool_choice.disable_parallel_tool_use'],
    ]);
  });
});

describe('the name of a function', () => {
  it('may be twice as long as OpenAI allows, and is shortened alike wherever it stands', () => {
    const name = 'f'.repeat(128);
    const request = requestWith({
      tools: [tool(name)],
      tool_choice: { type: 'tool', name },
    });
    const [openai] = others;
    const body = openai === undefined ? null : writtenFor(openai, request).body;

    const sent: JsonValue[] = [];
    JSON.stringify(body, (key, value: JsonValue) => {
      if (key === 'name') sent.push(value);
      return value;
    });
    expect(sent).toHaveLength(2);
    expect(new Set(sent).size).toBe(1);
    expect(String(sent[0])).toMatch(/^f+_[0-9a-f]+$/);
    expect(String(sent[0]).length).toBeLessThanOrEqual(64);
  });
});
