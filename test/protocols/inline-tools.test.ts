// suite: quick
/**
 * Tool definitions outside `tools`: Anthropic's `tool_addition` blocks define a tool by value in
 * the middle of a conversation, and other servers take `tools` in a message. They are found there
 * as in `tools` itself.
 */
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import { scanBody } from '../../src/bytes/json/scan/body.ts';
import type { GuardedUse } from '../../src/call.ts';
import { guardedUses } from '../../src/protocols/find-guarded.ts';
import { guardedRows } from '../../src/protocols/guarded-members.ts';

type Place = (tool: object) => object;

const user = { role: 'user', content: 'hi' };

/** A block that adds a tool. */
function addition(definition: unknown): object {
  return { type: 'tool_addition', tool: { type: 'tool_definition', definition } };
}

/** Where a tool definition may stand, and its path there. */
const places: Readonly<Record<string, Place>> = {
  'messages[1].content[0].tool.definition': (tool) => ({
    messages: [user, { role: 'system', content: [addition(tool)] }],
  }),
  'messages[0].content.tool.definition': (tool) => ({
    messages: [{ role: 'system', content: addition(tool) }],
  }),
  'messages[0].content[1].content[0].tool.definition': (tool) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'tool_result', tool_use_id: 't', content: [addition(tool)] },
        ],
      },
    ],
  }),
  'messages[0].content[0].tool': (tool) => ({
    messages: [{ role: 'system', content: [{ type: 'tool_addition', tool }] }],
  }),
  'messages[0].content[0].definition': (tool) => ({
    messages: [{ role: 'system', content: [{ type: 'tool_definition', definition: tool }] }],
  }),
  'messages[0].content[0].tools[1]': (tool) => ({
    messages: [{ role: 'system', content: [{ type: 'x', tools: [{ name: 'f' }, tool] }] }],
  }),
  'messages[0].tools[0]': (tool) => ({ messages: [{ role: 'system', tools: [tool] }] }),
  'messages[0].content[0].tool.definition.tools[0]': (tool) => ({
    messages: [{ role: 'system', content: [addition({ type: 'namespace', tools: [tool] })] }],
  }),
  'system[0].tool.definition': (tool) => ({ system: [addition(tool)] }),
  'tools[0].definition': (tool) => ({ tools: [{ type: 'tool_definition', definition: tool }] }),
  'input[0].content[0].tool.definition': (tool) => ({
    input: [{ type: 'message', role: 'system', content: [addition(tool)] }],
  }),
  'input[0].tools[0]': (tool) => ({ input: [{ type: 'additional_tools', tools: [tool] }] }),
  'contents[0].parts[0].tool.definition': (tool) => ({ contents: [{ parts: [addition(tool)] }] }),
  'extra_body.messages[0].content[0].tool.definition': (tool) => ({
    extra_body: { messages: [{ role: 'system', content: [addition(tool)] }] },
  }),
};

/** Every spelling that a JSON decoder reads alike: plain, spaced, and names and types escaped. */
const writings: readonly ((body: object) => string)[] = [
  (body) => JSON.stringify(body),
  (body) => JSON.stringify(body, undefined, 2),
  (body) => escaped(body, 0),
  (body) => escaped(body, 2),
];

/** The body with one letter of every string and name written as an escape. */
function escaped(body: object, letter: number): string {
  return JSON.stringify(body).replace(/"([a-z_]{4,})"/g, (_, name: string) => {
    const code = name.charCodeAt(letter).toString(16).padStart(4, '0');
    return `"${name.slice(0, letter)}\\u${code}${name.slice(letter + 1)}"`;
  });
}

function usesIn(body: string): readonly GuardedUse[] {
  return guardedUses(scanBody(wholeBody(Buffer.from(body))), []);
}

const tools = guardedRows.flatMap(({ row, toolTypes = [], places: paths = [] }) => [
  ...toolTypes.map((type) => ({ row, at: 'type', tool: { type: `${type}_20260301` } })),
  ...paths
    .filter((path) => path.startsWith('tools[].') && path.split('.').length === 2)
    .map((path) => path.slice('tools[].'.length))
    .map((name) => ({ row, at: name, tool: { [name]: { a: 1 } } })),
]);

describe.each(Object.entries(places))('a tool at %s', (path, bodyWith) => {
  it.each(tools)('is found: $tool', ({ row, at, tool }) => {
    for (const write of writings) {
      const found = usesIn(write(bodyWith(tool)));
      expect(found.map((use) => [use.row, use.at])).toEqual([[row, `${path}.${at}`]]);
    }
  });

  it('is found with its limit of uses and its model', () => {
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
    expect(usesIn(JSON.stringify(bodyWith(search)))).toEqual([
      { row: 'web_search', at: `${path}.type`, models: [], maxCalls: 3 },
    ]);
    const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'other' };
    expect(usesIn(JSON.stringify(bodyWith(advisor)))).toEqual([
      { row: 'advisor', at: `${path}.type`, models: ['other'] },
    ]);
  });

  it('is not guarded if it runs at the caller', () => {
    const own = [
      { name: 'f', input_schema: {} },
      { type: 'custom', name: 'web_search' },
    ];
    for (const tool of [...own, { type: 'function', function: { name: 'web_search' } }]) {
      for (const write of writings) expect(usesIn(write(bodyWith(tool)))).toEqual([]);
    }
  });
});

it('what a tool was called with and what it returned defines no tools', () => {
  const data = { tools: [{ type: 'web_search' }], definition: { type: 'mcp' } };
  const messages = [
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: data }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'a' }] },
    { role: 'user', content: JSON.stringify(data) },
    { role: 'system', content: [{ type: 'tool_addition', tool: { type: 'tool_reference' } }] },
  ];
  const input_schema = { type: 'object', properties: data };
  const args = { functionCall: { name: 'f', args: data } };
  const contents = [{ parts: [args, { functionResponse: { name: 'f', response: data } }] }];

  const body = { messages, contents, tools: [{ name: 'f', input_schema }] };
  expect(usesIn(JSON.stringify(body))).toEqual([]);
});
