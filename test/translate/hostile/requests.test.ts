// suite: search
/** Requests whose only purpose is to keep the gateway busy, or to crash it. */
import { describe, expect, it } from 'vitest';
import type { ContentRequest, Part, Turn } from '../../../src/canonical/request.ts';
import { toOpenApiSchema } from '../../../src/canonical/schema/openapi.ts';
import { objectSchema } from '../../../src/canonical/schema/strictness.ts';
import { anthropicClient } from '../../../src/dialects/anthropic/client/codec.ts';
import { readRequest } from '../../../src/dialects/anthropic/server/read-request.ts';
import { geminiClient } from '../../../src/dialects/gemini/client/codec.ts';
import { openaiClient } from '../../../src/dialects/openai/client/codec.ts';
import { items, type JsonObject, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { functionTool, textPart } from '../../support/codec.ts';
import { assistant, plainRequest, user } from '../../support/plain-request.ts';
import * as anthropic from '../anthropic/client.ts';
import * as gemini from '../gemini/client.ts';
import * as openai from '../openai/client.ts';

/** More values than a function call can have arguments, and too many for a quadratic algorithm. */
const many = 130_000;

const list = <Item>(item: (index: number) => Item, length = many): readonly Item[] =>
  Array.from({ length }, (_, index) => item(index));

const messageOf = (parts: readonly Part[]): Turn => ({ role: 'user', parts });
const words = textPart('a');
const blank = textPart(' ');

const upstreams: readonly (readonly [string, (request: ContentRequest) => string])[] = [
  ['Claude', (request) => anthropicClient.begin(request, anthropic.target()).body],
  ['Gemini', (request) => geminiClient.begin(request, gemini.target()).body],
  [
    'a server that is like OpenAI',
    (request) =>
      openaiClient.begin(request, openai.target({ allowedTools: false, midSystem: 'lift' })).body,
  ],
];

const call: Part = { kind: 'tool_call', at: 'call', id: 'x', name: 'f', arguments: '{}' };
const result: Part = {
  kind: 'tool_result',
  at: 'result',
  callId: 'x',
  name: 'f',
  content: [words],
  isError: false,
};

const shapes: readonly (readonly [string, Partial<ContentRequest>])[] = [
  ['parts after another turn of the user', { turns: [user(words), messageOf(list(() => words))] }],
  ['blank parts', { turns: [user(words), messageOf(list(() => blank))] }],
  [
    'instructions in the middle',
    {
      turns: [user(words), ...list((): Turn => ({ role: 'system', parts: [words] })), user(words)],
    },
  ],
  ['messages of the assistant in a row', { turns: [...list(() => assistant(words)), user(words)] }],
  [
    'calls of one id in one turn',
    {
      turns: [
        user(words),
        { role: 'assistant', parts: list(() => call) },
        messageOf(list(() => result)),
      ],
    },
  ],
  [
    'calls of one id in many turns',
    { turns: list(() => [assistant(call), user(result)], many / 4).flat() },
  ],
  [
    'functions, all of which may be called',
    {
      turns: [user(words)],
      tools: list((index) => functionTool(`f${index}`), many / 2),
      toolChoice: { mode: 'auto', names: list((index) => `f${many / 2 - 1 - index}`, many / 2) },
    },
  ],
];

describe.each(shapes)('a hundred thousand %s', (_, members) => {
  it.each(upstreams)('are written for %s', (_name, bodyOf) => {
    const body = bodyOf({ ...plainRequest, ...members });

    expect(body.length).toBeGreaterThan(0);
  });
});

describe('a great many blocks of Anthropic’s callers', () => {
  const text = { type: 'text', text: 'a' };
  const call = (index: number): JsonObject => ({
    type: 'tool_use',
    id: `c${index}`,
    name: 'f',
    input: {},
  });
  const result = (index: number): JsonObject => ({
    type: 'tool_result',
    tool_use_id: `c${many / 4 - 1 - index}`,
    content: 'a',
  });
  const compaction = { type: 'compaction', content: null };
  const contents: readonly (readonly [string, readonly (readonly JsonObject[])[]])[] = [
    ['of text', [list(() => text)]],
    [
      'of calls, with their results in another order',
      [[text], list(call, many / 4), list(result, many / 4)],
    ],
    ['of results without calls', [list(result)]],
    ['that are left out', [[text], list(() => ({ type: 'server_tool_use' }))]],
    ['of compactions that failed', [[text], list(() => compaction)]],
  ];

  it.each(contents)('%s are read, and written for each upstream', (_, messages) => {
    const { request } = readRequest(
      {
        model: 'm',
        messages: messages.map((content, index) => ({
          role: index % 2 === 0 ? 'user' : 'assistant',
          content,
        })),
      },
      { streamed: false },
    );

    for (const [name, bodyOf] of upstreams) {
      if (name !== 'Claude') expect(bodyOf(request).length).toBeGreaterThan(0);
    }
  });
});

describe('schemas that refer to one another', () => {
  const reference = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
  const properties = (count: number, schema: JsonValue): JsonObject =>
    Object.fromEntries(list((index) => [`p${index}`, schema] as const, count));

  it('are searched for a null once each', () => {
    const $defs = { D: { allOf: list(() => reference('D'), 1_000) } };
    const schema = { type: 'object', $defs, properties: { a: { anyOf: [reference('D')] } } };

    const { changed } = toOpenApiSchema(schema);

    expect(changed).toBe(true);
  });

  it('still find a null through references', () => {
    const $defs = { N: reference('M'), M: { type: 'null' } };
    const a = { anyOf: [{ type: 'string' }, reference('N')] };

    const { schema } = toOpenApiSchema({ type: 'object', $defs, properties: { a } });

    expect(schema).toMatchObject({ properties: { a: { type: 'STRING', nullable: true } } });
  });

  it('do not grow without bound, however many tools have them', () => {
    const $defs = {
      D: { type: 'object', properties: properties(30, reference('E')) },
      E: { type: 'object', properties: properties(30, reference('F')) },
      F: { type: 'object', properties: properties(30, { type: 'string' }) },
    };
    const parameters = { type: 'object', $defs, properties: { a: reference('D') } };
    const tools = list((index) => functionTool(`f${index}`, { parameters }), 300);

    const exchange = gemini.begin({ tools }, gemini.target('gemma-3'));

    expect(exchange.body.length).toBeLessThan(20_000_000);
    expect(exchange.dropped).toContain('tools.schema');
  });

  it('are merged into one object within bounds', () => {
    const $defs = { D: { properties: properties(1_000, { type: 'string' }) } };

    const schema = objectSchema({ $defs, anyOf: list(() => reference('D'), 100_000) });

    expect(schema).toMatchObject({ type: 'object', properties: { p0: { type: 'string' } } });
  });

  it('keep the common properties of many alternatives', () => {
    const $defs = { D: { properties: properties(30, { type: 'string' }) } };
    const anyOf = list(
      (index) => ({ allOf: [reference('D')], properties: { [`q${index}`]: {} } }),
      12,
    );

    const schema = objectSchema({ $defs, anyOf });

    expect(Object.keys(member(schema, 'properties') ?? {})).toHaveLength(42);
  });
});

describe('a reasoning detail that a caller invented', () => {
  it('is dropped if it is too deep to be written', () => {
    const depth = 100_000;
    const data = `{"type":"x","a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const providerData = { provider: 'openai', kind: 'signature', data } as const;
    const turns = [user(words), assistant({ ...words, providerData }), user(words)];

    const body = parseJson(openaiClient.begin({ ...plainRequest, turns }, openai.target()).body);

    expect(items(member(body, 'messages'))[1]).toEqual({ role: 'assistant', content: 'a' });
  });
});
