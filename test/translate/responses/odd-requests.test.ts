// suite: slow
/**
 * Requests of real clients in which every value is replaced by one of another type: each is either
 * read and written, or refused by the name of a member. And large requests that repeat one shape.
 */
import { describe, expect, it } from 'vitest';
import type { ReadRequest } from '../../../src/dialects/openai/responses/server/exchange.ts';
import { GatewayError } from '../../../src/errors.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { isPathIn } from '../../support/body-paths.ts';
import { responsesFixture } from '../../support/recorded/responses-fixtures.ts';
import { runsOf, someOf } from '../../support/sample.ts';
import { bodyOf, readBody, upstreams, writtenFor } from './read.ts';

const oddValues: readonly JsonValue[] = [
  null,
  true,
  0,
  -1.5,
  '',
  'x',
  [],
  [null],
  ['x'],
  {},
  { type: 'x' },
  [{ type: 'x' }],
  JSON.parse('{"__proto__":{"type":"x"},"constructor":1}'),
];

/** One request of most clients, and those with other kinds of content. */
const bodies = [
  'clients/agents-next.1',
  'clients/ai6-store-false.2',
  'clients/codex-namespace.2',
  'clients/langchain.2',
  'compat/deepseek-own-reasoning.1',
  'openai/cache-write.1',
  'openai/image-url.1',
  'openai/logprobs.1',
  'openai/native-output.2',
  'openai/tool-choice-list.2',
  'openai/tool-output-pdf.2',
  'openai/tool-search.2',
].map((name) => [name, bodyOf(responsesFixture(name).request)] as const);

/** The body with another value at each place; schemas and `model` belong to others. */
function* mutants(value: JsonValue, place = ''): Generator<(other: JsonValue) => JsonValue> {
  if (place === 'model' || /\.(?:parameters|schema)$/.test(place)) return;
  if (place !== '') yield (other) => other;
  for (const [name, inner] of entriesOf(value)) {
    for (const change of mutants(inner, place === '' ? name : `${place}.${name}`)) {
      yield (other) => withMember(value, name, change(other));
    }
  }
}

function entriesOf(value: JsonValue): readonly (readonly [string, JsonValue])[] {
  if (Array.isArray(value)) return items(value).map((one, index) => [String(index), one]);
  return isJsonObject(value) ? Object.entries(value) : [];
}

function withMember(holder: JsonValue, name: string, value: JsonValue): JsonValue {
  if (Array.isArray(holder)) return items(holder).with(Number(name), value);
  return isJsonObject(holder) ? { ...holder, [name]: value } : holder;
}

function readOrRefused(body: JsonValue): ReadRequest | undefined {
  if (!isJsonObject(body)) throw new Error('A request is an object.');
  try {
    return readBody(body);
  } catch (error) {
    expectRefusal(error, body);
    return undefined;
  }
}

function expectRefusal(error: unknown, body: JsonValue): void {
  if (!(error instanceof GatewayError)) throw error;
  const { code, param = '', message } = error;
  const isNamed = isPathIn(body, param);
  expect({ code, param, message, isNamed, body }).toEqual({
    code: expect.stringMatching(/^(?:invalid_request|not_portable)$/),
    param,
    message,
    isNamed: true,
    body,
  });
}

describe('another value at any place', () => {
  it.each(bodies)('of %s is read or refused by name', (_, body) => {
    let read = 0;
    for (const change of someOf([...mutants(body)])) {
      for (const value of oddValues) {
        const mutant = change(value);
        const found = readOrRefused(mutant);
        if (found === undefined) continue;
        read += 1;
        const upstream = upstreams[read % upstreams.length];
        if (upstream === undefined) continue;
        try {
          writtenFor(upstream, found.request);
        } catch (error) {
          expectRefusal(error, mutant);
        }
      }
    }
    expect(read).toBeGreaterThanOrEqual(runsOf(10));
  });

  it('is one of more than 300', () => {
    expect(bodies.flatMap(([, body]) => [...mutants(body)]).length).toBeGreaterThan(300);
  });
});

/** More than a quadratic algorithm can take, and less than the limit of items. */
const many = 9_000;
const list = (item: (index: number) => JsonObject): readonly JsonObject[] =>
  Array.from({ length: many }, (_, index) => item(index));
const call = (index: number): JsonObject => ({
  type: 'function_call',
  call_id: `c${index}`,
  name: 'f',
  namespace: 'n'.repeat(index % 7),
  arguments: '{}',
});
const output = (index: number): JsonObject => ({
  type: 'function_call_output',
  call_id: `c${index}`,
  output: '',
});

const reasoning: JsonObject = { type: 'reasoning', id: 'rs_tg_1', summary: [] };

const shapes: readonly (readonly [string, JsonObject])[] = [
  [
    'reasoning items before calls',
    { input: list((index) => (index % 2 ? call(index) : reasoning)) },
  ],
  [
    'calls before all of their outputs',
    { input: [...list(call).slice(0, 4_500), ...list(output).slice(0, 4_500)] },
  ],
  ['calls of one id', { input: list((index) => (index % 2 ? output(1) : call(1))) }],
  [
    'instructions between a call and its output',
    { input: [call(0), ...list(() => ({ role: 'system', content: 'x' })).slice(2), output(0)] },
  ],
  ['tools of one name', { tools: list(() => ({ type: 'function', name: 'f' })) }],
  [
    'tools whose names are the same but for the place of the namespace',
    {
      tools: list((index) => ({
        type: 'namespace',
        name: '_'.repeat(1 + (index % 60)),
        tools: [{ type: 'function', name: '_'.repeat(1 + ((index * 7) % 60)) }],
      })),
    },
  ],
  ['web searches', { tools: list(() => ({ type: 'web_search' })) }],
  [
    'included values',
    {
      tools: list((index) => ({ type: `t${index}`, name: 'x' })),
      include: Array.from({ length: many }, (_, index) => `x${index}.results`),
    },
  ],
  [
    'changes of the configuration',
    { input: list(() => ({ type: 'configuration_update', reasoning: { effort: 'low' } })) },
  ],
];

describe('thousands of', () => {
  it.each(shapes)('%s are read in one pass', (_, members) => {
    const { request } = readBody({ model: 'm', input: 'Hi', instructions: 'x', ...members });

    expect(request.turns.length).toBeGreaterThan(0);
    expect(items(member(members, 'input') ?? members.tools)).toHaveLength(many);
  });
});
