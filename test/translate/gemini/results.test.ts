// suite: quick
/**
 * Results of tools over Gemini. They are text by contract, and `functionResponse.response` is a
 * Struct, whose numbers are doubles and whose names are unique.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  parseJson,
} from '../../../src/json.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  messages,
  responses,
} from '../../support/any-model-gateway.ts';
import { hostileNumbers, jsonWithNumbers, numbersIn, sameNumbers } from '../../support/numbers.ts';
import { runsOf } from '../../support/sample.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const toolUse = { type: 'tool_use', id: 'c1', name: 'f', input: {} };
const functionCall = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };

/** A request of each API whose history has a tool result. */
const callers: readonly (readonly [string, (text: string) => CallerRequest])[] = [
  [
    'chat',
    (text) => {
      const result = { role: 'tool', tool_call_id: 'c1', content: text };
      return chat(body({ messages: [user, { role: 'assistant', tool_calls: [call] }, result] }));
    },
  ],
  [
    'Messages',
    (text) => {
      const result = { type: 'tool_result', tool_use_id: 'c1', content: text };
      const turns = [{ role: 'assistant', content: [toolUse] }];
      return messages(
        body({ max_tokens: 9, messages: [user, ...turns, { role: 'user', content: [result] }] }),
      );
    },
  ],
  [
    'Responses',
    (text) => {
      const output = { type: 'function_call_output', call_id: 'c1', output: text };
      return responses(body({ input: [user, functionCall, output] }));
    },
  ],
];
const user = { role: 'user', content: 'hi' };

function body(members: JsonObject): string {
  return JSON.stringify({ model: 'm', ...members });
}

/** The text of `response` as it was sent upstream. */
async function responseFor(request: CallerRequest): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const upstream = scriptedUpstream({ status: 400, headers, chunks: ['{}'] });
  await anyModelGateway({ upstream, channel: { dialect: 'gemini' } }).call(request);
  const sent = Buffer.concat([...(upstream.requests[0]?.body ?? [])]).toString();
  const [, response = ''] = /"name":"f","response":(.*?)\}\}\]\}\]/s.exec(sent) ?? [];
  return response;
}

/** The number of names in a text, equal ones included. */
function namesIn(json: string): number {
  return [...json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/gs)].filter(([, colon]) => colon).length;
}

function countNames(value: JsonValue): number {
  if (Array.isArray(value))
    return items(value).reduce<number>((sum, one) => sum + countNames(one), 0);
  if (!isJsonObject(value)) return 0;
  const entries = Object.values<JsonValue>(value);
  return entries.reduce<number>((sum, one) => sum + 1 + countNames(one), 0);
}

/** JSON, in which numbers are hostile, names may repeat, and strings may be broken. */
const hostileJson = fc.oneof(
  jsonWithNumbers,
  fc
    .tuple(jsonWithNumbers, jsonWithNumbers)
    .map(([one, two]) => `{"a": ${one}, "\\u0061": ${two}}`),
  fc.tuple(jsonWithNumbers, jsonWithNumbers).map(([one, two]) => `[${one}, {"b":1,"b":${two}}]`),
  fc.constantFrom('"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\\\ud800"').map(inside),
  fc.nat({ max: 80 }).map((depth) => `${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`),
);
function inside(string: string): string {
  return `{"s":${string}}`;
}

const texts = fc.oneof(
  fc.json(),
  fc.json({ maxDepth: 4 }).map((json) => ` ${json}\n`),
  hostileJson,
  hostileJson.map((json) => ` ${json}\n`),
  fc.constantFrom(...hostileNumbers, '007', '1.10', '.5', 'NaN', 'Infinity', '\u00a0{"a":1}'),
  fc.string(),
  fc.string().map((text) => JSON.stringify(text)),
);

describe('a tool result over Gemini', () => {
  it.each(
    callers,
  )('is the text of %s, or JSON of which a Struct changes nothing', async (_, of) => {
    const kept = { asText: 0, asJson: 0 };
    const law = fc.asyncProperty(texts, async (text) => {
      const sent = await responseFor(of(text));
      const response = parseJson(sent);
      if (JSON.stringify(response) === JSON.stringify({ output: text })) {
        kept.asText += 1;
        return;
      }
      kept.asJson += 1;

      const [, json = sent] = /^\{"output":(.*)\}$/s.exec(sent) ?? [];
      const value = parseJson(json);
      expect(JSON.stringify(value)).toBe(JSON.stringify(parseJson(text)));
      expect(isJsonObject(value)).toBe(json === sent);
      expect(namesIn(json)).toBe(countNames(value ?? null));
      expect(sameNumbers(numbersIn(JSON.stringify(value)), numbersIn(text))).toBe(true);
      expect(stringsIn(value ?? null).every((string) => string.isWellFormed())).toBe(true);
    });

    await fc.assert(law, { numRuns: runsOf(300) });
    expect(kept.asText).toBeGreaterThan(runsOf(300) / 6);
    expect(kept.asJson).toBeGreaterThan(runsOf(300) / 6);
  });

  it.each([
    ['9007199254740993', '{"output":"9007199254740993"}'],
    ['1.10', '{"output":"1.10"}'],
    ['1.5', '{"output":1.5}'],
    ['{"price": 1.10}', '{"price": 1.10}'],
    ['{"id":12345678901234567}', String.raw`{"output":"{\"id\":12345678901234567}"}`],
    ['[1e400]', '{"output":"[1e400]"}'],
    ['{"a":1,"a":2}', String.raw`{"output":"{\"a\":1,\"a\":2}"}`],
    [String.raw`{"a":"\ud83d\ude00"}`, String.raw`{"a":"\ud83d\ude00"}`],
    [String.raw`["\ud800"]`, String.raw`{"output":"[\"\\ud800\"]"}`],
    [String.raw`["\\ud800"]`, String.raw`{"output":["\\ud800"]}`],
  ])('%s is %s', async (text, response) => {
    for (const [, of] of callers) expect(await responseFor(of(text))).toBe(response);
  });

  it('that failed is an error by the same rule', async () => {
    const result = { type: 'tool_result', tool_use_id: 'c1', content: '1.10', is_error: true };
    const turns = [user, { role: 'assistant', content: [toolUse] }];
    const failed = { max_tokens: 9, messages: [...turns, { role: 'user', content: [result] }] };

    expect(await responseFor(messages(body(failed)))).toBe('{"error":"1.10"}');
  });
});

function stringsIn(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return items(value).flatMap(stringsIn);
  if (!isJsonObject(value)) return [];
  return [...Object.keys(value), ...Object.values<JsonValue>(value).flatMap(stringsIn)];
}
