// suite: search
/** No number changes in a translation, even if a double would change it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, items, type JsonValue, parseJson } from '../../src/json.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  messages,
  native,
  wholeChat,
} from '../support/any-model-gateway.ts';
import { hostileNumbers, numbersIn, objectWithNumbers, sameNumbers } from '../support/numbers.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';

/** The JSON text of the value under this name, in a document or in a string of it. */
function textUnder(name: string, text: string): string | undefined {
  for (const holder of [text, ...stringsIn(parseJson(text) ?? null)]) {
    const at = holder.indexOf(`"${name}":`);
    if (at !== -1) return valueAt(holder, at + name.length + 3);
  }
  return undefined;
}

function stringsIn(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return items(value).flatMap(stringsIn);
  return isJsonObject(value) ? Object.values<JsonValue>(value).flatMap(stringsIn) : [];
}

function valueAt(text: string, start: number): string {
  let depth = 0;
  const tokens = text.slice(start).matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]|[^\s"[\]{}:,]+|[:,\s]+/gs);
  for (const { 0: token, index } of tokens) {
    if (/^[[{]/.test(token)) depth += 1;
    if (/^[\]}]/.test(token)) depth -= 1;
    if (depth <= 0 && /\S/.test(token)) return text.slice(start, start + index + token.length);
  }
  return text.slice(start);
}

interface Place {
  readonly name: string;
  readonly dialect: DialectName;
  readonly requestFor: (json: string) => CallerRequest;
  /** The name under which the value is sent upstream; in the request it is `marked`. */
  readonly channel?: Partial<Channel>;
}

const marked = (json: string): string => `{"marked":${json}}`;
const question = '{"role":"user","content":"hi"}';
const parameters = (json: string): string =>
  `{"type":"object","properties":{"a":{"type":"object",
  "default":${marked(json)},"enum":[${json}]}}}`;

const chatPlaces: readonly (readonly [string, (json: string) => string])[] = [
  [
    'the arguments of a call',
    (json) =>
      `{"model":"m","messages":[${question},{"role":"assistant","tool_calls":[{"id":"c1",
      "type":"function","function":{"name":"f","arguments":${JSON.stringify(marked(json))}}}]},
      {"role":"tool","tool_call_id":"c1","content":"ok"}]}`,
  ],
  [
    'arguments that are no text',
    (json) =>
      `{"model":"m","messages":[${question},{"role":"assistant","tool_calls":[{"id":"c1",
      "type":"function","function":{"name":"f","arguments":${marked(json)}}}]},
      {"role":"tool","tool_call_id":"c1","content":"ok"}]}`,
  ],
  [
    'the result of a call',
    (json) =>
      `{"model":"m","messages":[${question},{"role":"assistant","tool_calls":[{"id":"c1",
      "type":"function","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"c1","content":${JSON.stringify(marked(json))}}]}`,
  ],
  [
    'the schema of a function',
    (json) =>
      `{"model":"m","messages":[${question}],"tools":[{"type":"function",
      "function":{"name":"f","parameters":${parameters(json)}}}]}`,
  ],
  [
    'the schema of an answer',
    (json) =>
      `{"model":"m","messages":[${question}],"response_format":{"type":"json_schema",
      "json_schema":{"name":"n","schema":${parameters(json)}}}}`,
  ],
];

const nativeQuestion = '{"role":"user","parts":[{"text":"hi"}]}';
const nativeCall = (args: string, response: string): string =>
  `{"contents":[${nativeQuestion},{"role":"model","parts":[{"functionCall":{"name":"f",
  "args":${args}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f",
  "response":${response}}}]}]}`;

const nativePlaces: readonly (readonly [string, (json: string) => string])[] = [
  ['the arguments of a call', (json) => nativeCall(marked(json), '{"output":"ok"}')],
  ['the result of a call', (json) => nativeCall('{}', marked(json))],
  ['the error of a call', (json) => nativeCall('{}', `{"error":${marked(json)}}`)],
  [
    'the schema of a function',
    (json) =>
      `{"contents":[${nativeQuestion}],"tools":[{"functionDeclarations":[{"name":"f",
      "parametersJsonSchema":${parameters(json)}}]}]}`,
  ],
  [
    'the schema of an answer',
    (json) =>
      `{"contents":[${nativeQuestion}],"generationConfig":{"responseMimeType":"application/json",
      "responseJsonSchema":${parameters(json)}}}`,
  ],
];

const messagesPlaces: readonly (readonly [string, (json: string) => string])[] = [
  [
    'the input of a call',
    (json) =>
      `{"model":"m","max_tokens":9,"messages":[${question},{"role":"assistant","content":[{
      "type":"tool_use","id":"c1","name":"f","input":${marked(json)}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}]}`,
  ],
  [
    'the result of a call',
    (json) =>
      `{"model":"m","max_tokens":9,"messages":[${question},{"role":"assistant","content":[{
      "type":"tool_use","id":"c1","name":"f","input":{}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1",
      "content":${JSON.stringify(marked(json))}}]}]}`,
  ],
  [
    'the schema of a tool',
    (json) =>
      `{"model":"m","max_tokens":9,"messages":[${question}],
      "tools":[{"name":"f","input_schema":${parameters(json)}}]}`,
  ],
  [
    'the schema of an answer',
    (json) =>
      `{"model":"m","max_tokens":9,"messages":[${question}],"output_config":{"format":{
      "type":"json_schema","schema":${parameters(json)}}}}`,
  ],
];

const requests: readonly Place[] = [
  ...(['openai', 'gemini'] as const).flatMap((dialect) =>
    messagesPlaces.map(([name, body]) => ({
      name: `${name}, Messages to ${dialect}`,
      dialect,
      requestFor: (json: string) => messages(body(json)),
    })),
  ),
  ...(['gemini', 'anthropic'] as const).flatMap((dialect) =>
    chatPlaces.map(([name, body]) => ({
      name: `${name}, chat to ${dialect}`,
      dialect,
      requestFor: (json: string) => chat(body(json)),
    })),
  ),
  ...(['openai', 'anthropic'] as const).flatMap((dialect) =>
    nativePlaces.map(([name, body]) => ({
      name: `${name}, native to ${dialect}`,
      dialect,
      requestFor: (json: string) => native('json', body(json)),
    })),
  ),
];

/** The body sent upstream, as text. */
async function sent(
  dialect: DialectName,
  request: CallerRequest,
  upstreamModel = 'm',
): Promise<string> {
  const upstream = scriptedUpstream({ status: 400, headers: document, chunks: ['{}'] });
  await anyModelGateway({ upstream, channel: { dialect, upstreamModel } }).call(request);
  return Buffer.concat([...(upstream.requests[0]?.body ?? [])]).toString();
}

describe('a request keeps the numbers of', () => {
  it.each(requests.map((place) => [place.name, place] as const))('%s', async (_, place) => {
    const law = fc.asyncProperty(objectWithNumbers, async (json) => {
      const up = await sent(place.dialect, place.requestFor(json));

      expect(numbersIn(textUnder('marked', up) ?? 'none')).toSatisfy((found: readonly string[]) =>
        sameNumbers(found, numbersIn(json)),
      );
    });

    await fc.assert(law, { numRuns: 25 });
  });

  it.each(hostileNumbers)('a schema in Google’s older form: %s', async (number) => {
    const schema = `{"type":"object","properties":{"a":{"type":"number","maximum":${number},
      "exclusiveMinimum":${number}},"b":{"type":"number","enum":[${number}]}}}`;
    const body = `{"model":"m","messages":[${question}],"tools":[{"type":"function",
      "function":{"name":"f","parameters":${schema}}}]}`;

    const up = await sent('gemini', chat(body), 'gemini-1.5-pro');

    expect(up).toContain(`"maximum":${number}`);
    expect(up).toContain(`greater than ${number}`);
    expect(up).toContain(`one of: ${number}`);
  });

  it('a schema with integers as strings, as Google writes int64', async () => {
    const body = `{"contents":[${nativeQuestion}],"tools":[{"functionDeclarations":[{"name":"f",
      "parameters":{"type":"OBJECT","properties":{"a":{"type":"INTEGER",
      "maximum":"9223372036854775807","enum":["9007199254740993"]}}}}]}]}`;

    const up = await sent('anthropic', native('json', body));

    expect(up).toContain('"maximum":9223372036854775807');
    expect(up).toContain('"enum":[9007199254740993]');
  });
});

const document = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };
const framed = (...all: readonly string[]): ScriptedReply => ({
  headers: events,
  chunks: all.map((data) => `data: ${data.replaceAll('\n', ' ')}\n\n`),
});
const whole = (text: string): ScriptedReply => ({ headers: document, chunks: [text] });

const geminiReply = (json: string): string =>
  `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f",
  "args":${marked(json)}}}]},"finishReason":"STOP","index":0}],
  "usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`;
const openaiCall = (args: string): string =>
  `"tool_calls":[{"index":0,"id":"c1","type":"function",
  "function":{"name":"f","arguments":${args}}}]`;
const openaiReply = (args: string): string =>
  `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":null,
  ${openaiCall(args)}},
  "finish_reason":"tool_calls"}]}`;
const openaiPiece = (args: string): string =>
  `{"id":"c","choices":[{"index":0,"delta":{${openaiCall(args)}},"finish_reason":null}]}`;
const openaiEnd = '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}';
const message = (content: string): string =>
  `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[${content}],
  "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`;
const toolUse = (input: string): string =>
  `{"type":"tool_use","id":"toolu_1","name":"f","input":${input}}`;
const anthropicStream = (input: string, delta?: string): ScriptedReply =>
  framed(
    `{"type":"message_start","message":${message('').replace('"tool_use"', 'null')}}`,
    `{"type":"content_block_start","index":0,"content_block":${toolUse(input)}}`,
    ...(delta === undefined
      ? []
      : [
          `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",
          "partial_json":${JSON.stringify(delta)}}}`,
        ]),
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}',
    '{"type":"message_stop"}',
  );

/** The upstream's reply, whole and streamed. */
const replies: readonly (readonly [
  DialectName,
  string,
  (json: string) => ScriptedReply,
  boolean,
])[] = [
  ['gemini', 'whole', (json) => whole(geminiReply(json)), false],
  ['gemini', 'streamed', (json) => framed(geminiReply(json)), true],
  ['openai', 'text', (json) => whole(openaiReply(JSON.stringify(marked(json)))), false],
  ['openai', 'an object', (json) => whole(openaiReply(marked(json))), false],
  [
    'openai',
    'streamed text',
    (json) => framed(openaiPiece(JSON.stringify(marked(json))), openaiEnd, '[DONE]'),
    true,
  ],
  [
    'openai',
    'a streamed object',
    (json) => framed(openaiPiece(marked(json)), openaiEnd, '[DONE]'),
    true,
  ],
  ['anthropic', 'whole', (json) => whole(message(toolUse(marked(json)))), false],
  ['anthropic', 'streamed at once', (json) => anthropicStream(marked(json)), true],
  ['anthropic', 'streamed in pieces', (json) => anthropicStream('{}', marked(json)), true],
];

const answered = replies.flatMap((reply) =>
  (['chat', 'native'] as const)
    .filter((protocol) => reply[0] !== (protocol === 'chat' ? 'openai' : 'gemini'))
    .map((protocol) => [`${reply[0]}, ${reply[1]}, to ${protocol}`, protocol, reply] as const),
);

describe('a reply keeps the numbers of arguments', () => {
  it.each(answered)('%s', async (_, protocol, [dialect, , scriptedFor, isStream]) => {
    const request = protocol === 'chat' ? chat(isStream ? undefined : wholeChat) : undefined;
    const law = fc.asyncProperty(objectWithNumbers, async (json) => {
      const gateway = anyModelGateway({
        upstream: scriptedUpstream(scriptedFor(json)),
        channel: { dialect, upstreamModel: 'm' },
      });

      const { status, text } = await gateway.call(request ?? native(isStream ? 'sse' : 'json'));

      expect(status).toBe(200);
      const reported = isStream ? joinedArguments(text) : text;
      expect(numbersIn(textUnder('marked', reported) ?? 'none')).toSatisfy(
        (found: readonly string[]) => sameNumbers(found, numbersIn(json)),
      );
    });

    await fc.assert(law, { numRuns: 25 });
  });

  /** The joined pieces of a chat stream; native calls are in one event. */
  function joinedArguments(text: string): string {
    const data = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => json);
    const pieces = data.flatMap((json) => [...json.matchAll(/"arguments":("(?:[^"\\]|\\.)*")/g)]);
    if (pieces.length === 0) return data.find((json) => json.includes('"marked":')) ?? '';
    return pieces.map(([, piece = '""']) => String(parseJson(piece))).join('');
  }

  it.each(hostileNumbers)('that Vertex streams in pieces: %s', async (number) => {
    const call = (inside: string, end = ''): string =>
      `{"candidates":[{"content":{"parts":[{"functionCall":{${inside}}}]}${end},"index":0}]}`;
    const upstream = scriptedUpstream(
      framed(
        call('"name":"f","willContinue":true'),
        call(
          `"partialArgs":[{"jsonPath":"$.id","numberValue":${number}}]`,
          ',"finishReason":"STOP"',
        ),
      ),
    );

    const { text } = await anyModelGateway({ upstream, channel: { dialect: 'gemini' } }).call(
      chat(),
    );

    expect(text).toContain(JSON.stringify(`{"id":${number}}`));
  });

  it.each(hostileNumbers)('and logprobs: %s', async (number) => {
    const reply = `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"a"},
      "logprobs":{"content":[{"token":"a","logprob":${number},"top_logprobs":[]}]},
      "finish_reason":"stop"}]}`;
    const upstream = scriptedUpstream(whole(reply));
    const gateway = anyModelGateway({ upstream, channel: { dialect: 'openai' } });

    const { text } = await gateway.call(native('json'));

    expect(text).toContain(`"logProbability":${number}`);
  });
});
