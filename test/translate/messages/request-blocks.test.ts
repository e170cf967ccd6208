/** The blocks of a conversation: what becomes of each, at every place where it may stand. */
import { describe, expect, it } from 'vitest';
import { everyPart } from '../../../src/canonical/every-part.ts';
import type { Part } from '../../../src/canonical/request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { refusalOf } from '../responses/read.ts';
import { assistant, conversation, plainBody, readBody, user } from './read.ts';

const text = (value: string): JsonObject => ({ type: 'text', text: value });
const png = { type: 'base64', media_type: 'image/PNG', data: 'iVBORw0KGgo=' };
const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' };
const call = (id = 'a', name = 'f'): JsonObject => ({ type: 'tool_use', id, name, input: {} });
const result = (id: string, content?: JsonValue): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content === undefined ? {} : { content }),
});

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

const asked = user(text('Hi'));
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
    body: (block) => bodyOf(asked, assistant(text('Ah'), block), user(result('a', 'done'))),
    carries: [...content, 'tool_use', 'thinking', 'redacted_thinking'],
    leavesOut: true,
    code: 'not_portable',
  },
  'an instruction among the messages': {
    at: 'messages[1].content[0]',
    body: (block) => bodyOf(asked, { role: 'system', content: [block] }),
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

/** The parts of a message of the user with these blocks. */
function partsOf(...content: readonly JsonObject[]): readonly Part[] {
  return conversation(user(...content)).turns.flatMap(({ parts }) => parts);
}

describe('media', () => {
  it('in Base64 have the type that they state', () => {
    expect(partsOf({ type: 'image', source: png })).toMatchObject([
      { kind: 'media', mimeType: 'image/png', source: { type: 'base64', data: png.data } },
    ]);
  });

  it('at a URL stay there', () => {
    const source = { type: 'url', url: 'https://a.test/x' };

    expect(partsOf({ type: 'image', source }, { type: 'document', source, title: 'T' })).toEqual([
      { kind: 'media', at: 'messages[0].content[0]', mimeType: undefined, source },
      {
        kind: 'media',
        at: 'messages[0].content[1]',
        mimeType: 'application/pdf',
        source,
        fileName: 'T',
        fileNameAt: 'messages[0].content[1].title',
      },
    ]);
  });

  it.each(['image', 'document'])('that Anthropic stores are refused: %s', (type) => {
    expect(
      refusalOf(() => partsOf({ type, source: { type: 'file', file_id: 'file_1' } })),
    ).toMatchObject({
      code: 'not_portable',
      param: 'messages[0].content[0].source.file_id',
    });
  });

  it.each<[JsonObject, string]>([
    [{ type: 'image' }, 'source'],
    [{ type: 'image', source: 'x' }, 'source'],
    [{ type: 'image', source: { type: 'path' } }, 'source.type'],
    [{ type: 'image', source: { type: 'base64', data: 'x' } }, 'source.media_type'],
    [{ type: 'image', source: { type: 'base64', media_type: 'image/png' } }, 'source.data'],
    [{ type: 'image', source: { type: 'url', url: 'ftp://a.test' } }, 'source.url'],
    [{ type: 'document', source: { type: 'text' } }, 'source.data'],
    [{ type: 'document', source: { type: 'content' } }, 'source.content'],
    [{ type: 'document', source: pdf, title: 7 }, 'title'],
    [{ type: 'document', source: pdf, citations: true }, 'citations'],
    [{ type: 'search_result', source: 's', content: [] }, 'title'],
  ])('%j are refused by their path', (block, path) => {
    expect(refusalOf(() => partsOf(block))).toMatchObject({
      code: 'invalid_request',
      param: `messages[0].content[0].${path}`,
    });
  });
});

describe('a document', () => {
  const at = 'messages[0].content[0]';

  it('of text is a file of text, whose title and context are its first lines', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'Once …' };
    const { turns, dropped } = conversation(
      user({ type: 'document', source, title: 'Tale', context: 'An old one.' }),
    );
    const whole = 'Tale\nAn old one.\n\nOnce …';

    expect(turns[0]?.parts).toEqual([
      {
        kind: 'media',
        at,
        mimeType: 'text/plain',
        source: { type: 'base64', data: Buffer.from(whole).toString('base64') },
        text: whole,
      },
    ]);
    expect(dropped).toEqual([`${at}.title`, `${at}.context`]);
  });

  it('of blocks is these blocks', () => {
    const content = [text('one'), { type: 'image', source: png }];

    expect(partsOf({ type: 'document', source: { type: 'content', content } })).toMatchObject([
      { kind: 'text', text: 'one', at: `${at}.source.content[0]` },
      { kind: 'media', at: `${at}.source.content[1]` },
    ]);
    expect(partsOf({ type: 'document', source: { type: 'content', content: 'one' } })).toEqual([
      { kind: 'text', text: 'one', at: `${at}.source.content` },
    ]);
  });

  it('has its context before it', () => {
    const { turns, dropped } = conversation(
      user({ type: 'document', source: pdf, title: 'T.pdf', context: 'Old.' }),
    );

    expect(turns[0]?.parts).toMatchObject([
      { kind: 'text', text: 'Old.\n\n' },
      { kind: 'media', fileName: 'T.pdf' },
    ]);
    expect(dropped).toEqual([`${at}.context`]);
  });

  it('is not cited, which is listed', () => {
    const citing = (enabled: boolean): JsonObject => ({
      type: 'document',
      source: pdf,
      citations: { enabled },
    });

    expect(conversation(user(citing(true))).dropped).toEqual([`${at}.citations`]);
    expect(conversation(user(citing(false))).dropped).toEqual([]);
  });
});

describe('a search result', () => {
  it('becomes text with its title and its source', () => {
    const content = [text('one'), text('two')];
    const { turns, dropped } = conversation(
      user({ type: 'search_result', title: 'T', source: 'https://a.test', content }),
    );

    expect(turns[0]?.parts).toMatchObject([{ text: 'T\nhttps://a.test\n\none\ntwo\n' }]);
    expect(dropped).toEqual(['messages[0].content[0]']);
  });
});

describe('tool calls and their results', () => {
  it('stand in the order of the calls, before all else that the user says', () => {
    const { turns, dropped } = conversation(
      asked,
      assistant(text('Both.'), call('a', 'f'), call('b', 'g')),
      user(text('before'), result('b', 'B'), text('between'), result('a', 'A'), text('behind')),
    );

    expect(turns.map(({ role, parts }) => [role, parts.map(brief)])).toEqual([
      ['user', ['Hi']],
      ['assistant', ['Both.', 'call a', 'call b']],
      ['user', ['result a of f: A', 'result b of g: B']],
      ['user', ['before', 'between', 'behind']],
    ]);
    expect(dropped).toEqual([]);
  });

  it('may be in several messages of one role', () => {
    const { turns } = conversation(
      asked,
      assistant(call('a')),
      assistant(call('b')),
      user(result('b', 'B')),
      { role: 'system', content: 'Be quick.' },
      user(result('a', 'A')),
    );

    expect(turns.map(({ role, parts }) => [role, parts.map(brief)])).toEqual([
      ['user', ['Hi']],
      ['assistant', ['call a', 'call b']],
      ['user', ['result a of f: A', 'result b of f: B']],
      ['system', ['Be quick.']],
    ]);
  });

  it('are completed where one is missing, and become text where there is no call', () => {
    const { turns, dropped } = conversation(asked, assistant(call('a')), user(result('b', 'B')));

    expect(turns.map(({ parts }) => parts.map(brief))).toEqual([
      ['Hi'],
      ['call a'],
      ['result a of f: no result'],
      ['[tool result unknown]: B'],
    ]);
    expect(dropped).toEqual(['messages[2].content[0]']);
  });

  it('have text, media, an error or nothing', () => {
    const contentOf = (content: JsonValue | undefined, isError?: boolean) => {
      const block = { ...result('a', content), ...(isError ? { is_error: true } : {}) };
      const parts = conversation(asked, assistant(call()), user(block)).turns[2]?.parts ?? [];
      return parts[0]?.kind === 'tool_result' ? parts[0] : undefined;
    };

    expect(contentOf(undefined)).toMatchObject({ content: [], isError: false });
    expect(contentOf(null)).toMatchObject({ content: [] });
    expect(contentOf([])).toMatchObject({ content: [] });
    expect(contentOf('ok', true)).toMatchObject({ content: [{ text: 'ok' }], isError: true });
    expect(
      contentOf([text('a'), { type: 'image', source: png }, { type: 'document', source: pdf }]),
    ).toMatchObject({ content: [{ text: 'a' }, { kind: 'media' }, { kind: 'media' }] });
    expect(contentOf([{ type: 'tool_reference', tool_name: 'find' }])).toMatchObject({
      content: [{ text: 'Tool find is available.\n' }],
    });
  });

  it.each<[JsonObject, string]>([
    [{ type: 'tool_use', name: 'f', input: {} }, 'messages[1].content[0].id'],
    [{ type: 'tool_use', id: 'a', input: {} }, 'messages[1].content[0].name'],
    [{ type: 'tool_use', id: 'a', name: 'f' }, 'messages[1].content[0].input'],
    [{ type: 'tool_use', id: 'a', name: 'f', input: '{}' }, 'messages[1].content[0].input'],
    [{ type: 'tool_use', id: 'a', name: 'f', input: [] }, 'messages[1].content[0].input'],
  ])('%j is refused', (block, param) => {
    expect(refusalOf(() => conversation(asked, assistant(block)))).toMatchObject({
      code: 'invalid_request',
      param,
    });
  });

  it.each<[JsonObject, string]>([
    [{ type: 'tool_result', content: 'a' }, 'messages[0].content[0].tool_use_id'],
    [{ ...result('a'), is_error: 'yes' }, 'messages[0].content[0].is_error'],
    [result('a', 7), 'messages[0].content[0].content'],
  ])('%j is refused', (block, param) => {
    expect(refusalOf(() => conversation(user(block)))).toMatchObject({ param });
  });

  it('a call by code of Anthropic is shown as one of the model, which is listed', () => {
    const byCode = { ...call(), caller: { type: 'code_execution_20250825', tool_id: 's' } };
    const direct = { ...call(), caller: { type: 'direct' } };

    expect(conversation(asked, assistant(byCode), user(result('a'))).dropped).toEqual([
      'messages.content.caller.type',
      'messages.content.caller.tool_id',
    ]);
    expect(conversation(asked, assistant(direct), user(result('a'))).dropped).toEqual([]);
  });
});

function brief(part: Part): string {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'tool_call':
      return `call ${part.id}`;
    case 'tool_result': {
      const texts = part.content.map((one) => (one.kind === 'text' ? one.text : one.kind));
      return `result ${part.callId} of ${part.name}: ${texts.join()}`;
    }
    default:
      return part.kind;
  }
}

describe('tools that Anthropic ran', () => {
  it('are left out of the history, and the texts around them stay', () => {
    const { turns, dropped } = conversation(
      asked,
      assistant(
        text('Let me look.'),
        ...leftOut.flatMap((type) => blocks[type] ?? []),
        text('Found it.'),
      ),
      assistant(...leftOut.flatMap((type) => blocks[type] ?? [])),
      asked,
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

    expect(conversation(asked, only, asked).turns.map(({ role }) => role)).toEqual([
      'user',
      'user',
    ]);
    expect(refusalOf(() => conversation(only))).toMatchObject({ param: 'messages' });
  });
});

describe('a compaction', () => {
  const summary = { type: 'compaction', content: 'They said Hi.' };

  it('stands for all that was said before it', () => {
    const unreadable = user({ type: 'container_upload', file_id: 'f' });
    const { system, turns, dropped } = readBody({
      ...plainBody,
      system: 'Be brief.',
      messages: [unreadable, assistant(text('Hello.'), summary, text('Yes?')), user(text('What?'))],
    }).request;

    expect(system).toMatchObject([{ text: 'Be brief.' }]);
    expect(turns.map(({ role, parts }) => [role, parts.map(brief)])).toEqual([
      ['user', ['They said Hi.']],
      ['assistant', ['Yes?']],
      ['user', ['What?']],
    ]);
    expect(dropped).toEqual([]);
  });

  it('counts if it is the last one, and has succeeded', () => {
    const failed = { type: 'compaction', content: null };
    const { turns } = conversation(
      asked,
      assistant({ type: 'compaction', content: 'older' }),
      asked,
      assistant(summary),
      asked,
      assistant(failed, text('Yes?')),
    );

    expect(turns.flatMap(({ parts }) => parts.map(brief))).toEqual(['They said Hi.', 'Hi', 'Yes?']);
  });

  it('is refused if only Anthropic can read it', () => {
    const sealed = { type: 'compaction', content: null, encrypted_content: 'ZGF0YQ==' };

    expect(refusalOf(() => conversation(asked, assistant(sealed), asked))).toMatchObject({
      code: 'not_portable',
      param: 'messages[1].content[0]',
    });
    const readable = { ...summary, encrypted_content: 'ZGF0YQ==' };
    expect(conversation(asked, assistant(readable), asked).dropped).toEqual([
      'messages.content.encrypted_content',
    ]);
  });
});

describe('an instruction among the messages', () => {
  it('is a turn of its own, and before all others a part of the system prompt', () => {
    const { system, turns, dropped } = readBody({
      ...plainBody,
      system: 'a',
      messages: [
        { role: 'system', content: 'b' },
        asked,
        { role: 'system', content: [text('c')], clear_at: 'end', output_config: { effort: 'low' } },
      ],
    }).request;

    expect(system.map(({ text: one }) => one)).toEqual(['a', 'b']);
    expect(turns.map(({ role }) => role)).toEqual(['user', 'system']);
    expect(dropped).toEqual(['messages.clear_at', 'messages.output_config']);
  });
});
