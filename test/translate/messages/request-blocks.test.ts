// suite: quick
/** The blocks of a conversation: what becomes of each, at every place where it may stand. */
import { describe, expect, it } from 'vitest';
import { everyPart } from '../../../src/canonical/request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { refusalOf } from '../responses/read.ts';
import { brief, call, pdf, png, question, result, text } from './blocks.ts';
import { assistant, conversation, plainBody, readBody, user } from './read.ts';

/** One block of every type. */
const blocks: Readonly<Record<string, JsonObject>> = {
  text: text('said'),
  image: { type: 'image', source: png },
  document: { type: 'document', source: pdf },
  search_result: {
    type: 'search_result',
    title: 'Title',
    source: 'https://a.test',
    content: [text('found')],
  },
  thinking: { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
  redacted_thinking: { type: 'redacted_thinking', data: 'ZGF0YQ==' },
  tool_use: call(),
  tool_result: result('a', 'done'),
  tool_reference: { type: 'tool_reference', tool_name: 'f' },
  tool_addition: { type: 'tool_addition', tool: { type: 'tool_reference', name: 'f' } },
  tool_removal: { type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } },
  container_upload: { type: 'container_upload', file_id: 'file_1' },
  browser_state: { type: 'browser_state', url: 'https://a.test' },
  server_tool_use: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
  web_search_tool_result: { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
  web_fetch_tool_result: { type: 'web_fetch_tool_result', tool_use_id: 's', content: {} },
  code_execution_tool_result: { type: 'code_execution_tool_result', content: {} },
  bash_code_execution_tool_result: { type: 'bash_code_execution_tool_result', content: {} },
  text_editor_code_execution_tool_result: {
    type: 'text_editor_code_execution_tool_result',
    content: {},
  },
  tool_search_tool_result: { type: 'tool_search_tool_result', content: {} },
  advisor_tool_result: { type: 'advisor_tool_result', content: {} },
  mcp_tool_use: { type: 'mcp_tool_use', id: 'm', name: 'n', server_name: 's', input: {} },
  mcp_tool_result: { type: 'mcp_tool_result', tool_use_id: 'm', content: [] },
  mcp_tool_listing: { type: 'mcp_tool_listing', tools: [] },
  fallback: { type: 'fallback', model: 'm' },
  sk_secret_of_a_caller: { type: 'sk_secret_of_a_caller' },
};

/** Where a block may stand, and how its path begins. */
interface Place {
  readonly at: string;
  readonly body: (block: JsonObject) => JsonObject;
  /** The types that are carried, or become text. */
  readonly carries: readonly string[];
  readonly leavesOut: boolean;
  /** The code for all others. */
  readonly code: 'not_portable' | 'invalid_request';
  /** The member that the refusal names, if not the block. */
  readonly names?: string;
}

const bodyOf = (...messages: readonly JsonObject[]): JsonObject => ({ ...plainBody, messages });
const content = ['text', 'image', 'document', 'search_result'];
const leftOut = [
  ...Object.keys(blocks).filter((type) => /^(?:server|web|code|bash|text_editor|mcp)_/.test(type)),
  ...['tool_search_tool_result', 'advisor_tool_result', 'fallback'],
];

const places: Readonly<Record<string, Place>> = {
  'a message of the user': {
    at: 'messages[1].content[1]',
    body: (block) => bodyOf(assistant(call()), user(text('Hi'), block)),
    carries: [...content, 'tool_result'],
    leavesOut: true,
    code: 'not_portable',
  },
  'a message of the assistant': {
    at: 'messages[1].content[1]',
    body: (block) => bodyOf(question, assistant(text('Ah'), block), user(result('a', 'done'))),
    carries: [...content, 'tool_use', 'thinking', 'redacted_thinking'],
    leavesOut: true,
    code: 'not_portable',
  },
  'an instruction among the messages': {
    at: 'messages[1].content[0]',
    body: (block) => bodyOf(question, { role: 'system', content: [block] }),
    carries: ['text'],
    leavesOut: false,
    code: 'not_portable',
  },
  'the system prompt': {
    at: 'system[0]',
    body: (block) => ({ ...plainBody, system: [block] }),
    carries: ['text'],
    leavesOut: false,
    code: 'not_portable',
  },
  'the result of a tool': {
    at: 'messages[1].content[0].content[0]',
    body: (block) => bodyOf(assistant(call()), user(result('a', [block]))),
    carries: [...content, 'tool_reference'],
    leavesOut: true,
    code: 'not_portable',
  },
  'the content of a document': {
    at: 'messages[0].content[0].source.content[0]',
    body: (block) => {
      const source = { type: 'content', content: [block] };
      return bodyOf(user({ type: 'document', source }));
    },
    carries: ['text', 'image'],
    leavesOut: false,
    code: 'invalid_request',
    names: '.type',
  },
  'the content of a search result': {
    at: 'messages[0].content[0].content[0]',
    body: (block) => bodyOf(user({ ...blocks.search_result, content: [block] })),
    carries: ['text'],
    leavesOut: false,
    code: 'invalid_request',
    names: '.type',
  },
};

const rows = Object.entries(places).flatMap(([name, place]) =>
  Object.entries(blocks).map(([type, block]) => [type, name, block, place] as const),
);

describe('a block', () => {
  it.each(rows)('%s in %s', (type, _name, block, place) => {
    const body = place.body(block);
    if (place.carries.includes(type)) {
      const { request } = readBody(body);
      const paths = everyPart(request).map(({ at }) => at);
      const isCarried = paths.some((path) => path.startsWith(place.at));
      // A search result is replaced as a whole, and nobody but Anthropic can read its thinking.
      const isListed = request.dropped.some((name) =>
        [holder(place.at), 'messages.thinking'].includes(name),
      );
      expect(isCarried || isListed).toBe(true);
      return;
    }
    if (place.leavesOut && leftOut.includes(type)) {
      expect(readBody(body).request.dropped).toContain(place.at);
      return;
    }
    const refusal = refusalOf(() => readBody(body));
    expect(refusal).toMatchObject({ code: place.code, param: place.at + (place.names ?? '') });
    expect(refusal.message).not.toContain('secret');
    if (place.code === 'not_portable' && !type.startsWith('sk_')) {
      expect(refusal.message).toContain(`\`${type}\``);
    }
  });

  it.each(Object.keys(places))('without a type in %s is refused', (name) => {
    const place = places[name];
    const { param } = refusalOf(() => place && readBody(place.body({ text: 'a' })));

    expect(param).toMatch(/\.type$|\]$/);
  });

  it.each<[JsonValue]>([['text'], [7], [null], [[]]])('%j is refused by its place', (block) => {
    const messages = [{ role: 'user', content: [block] }];

    expect(refusalOf(() => readBody({ ...plainBody, messages }))).toMatchObject({
      code: 'invalid_request',
      param: 'messages[0].content[0]',
    });
  });
});

/** The path of the block that holds the block at this path. */
function holder(path: string): string {
  return path.replace(/\.\w+\[\d+\]$/, '');
}

describe('tools that Anthropic ran', () => {
  it('are left out of the history, and the texts around them stay', () => {
    const { turns, dropped } = conversation(
      question,
      assistant(
        text('Let me look.'),
        ...leftOut.flatMap((type) => blocks[type] ?? []),
        text('Found it.'),
      ),
      assistant(...leftOut.flatMap((type) => blocks[type] ?? [])),
      question,
    );

    expect(turns.map(({ parts }) => parts.map(brief))).toEqual([
      ['Hi'],
      ['Let me look.', 'Found it.'],
      ['Hi'],
    ]);
    expect(dropped).toHaveLength(2 * leftOut.length);
  });

  it('leave no empty turn', () => {
    const only = assistant(blocks.server_tool_use ?? null);

    expect(conversation(question, only, question).turns.map(({ role }) => role)).toEqual([
      'user',
      'user',
    ]);
    expect(refusalOf(() => conversation(only))).toMatchObject({ param: 'messages' });
  });
});
