// suite: quick
/**
 * Arguments of a call that are no JSON, or cut: one rule for each API, in a stream as in a whole
 * reply. APIs whose calls have text pass it on as it is; those whose calls have an object get one,
 * or no call.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonValue } from '../../../src/json.ts';
import { json, sse } from '../../relay/streams.ts';
import { anyModelGateway, type CallerRequest } from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { runsOf } from '../../support/sample.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

type Any = ReturnType<typeof JSON.parse>;

/** What models write instead of JSON, and valid objects with a character changed. */
const broken = fc.oneof(
  fc.constantFrom('{a:1}', "{'a':1}", '{"a":1,}', '{"a":"b\nc"}', '{"a":"\\d"}', '{"a":NaN}'),
  fc.constantFrom('{"a":True}', '{"a":01}', '{"a":.5}', '\ufeff{"a":1}', '{/*c*/"a":1}', '[1]'),
  fc
    .tuple(fc.object({ maxDepth: 2, maxKeys: 3 }), fc.nat(), fc.constantFrom('', 'x', '"', '}'))
    .map(([value, at, text]) => {
      const whole = JSON.stringify({ a: 1, ...value });
      const place = at % whole.length;
      return `${whole.slice(0, place)}${text}${whole.slice(place + 1)}`;
    }),
);
const finishes = fc.constantFrom('tool_calls', 'length', 'content_filter');

interface Case {
  readonly text: string;
  readonly pieces: readonly string[];
  readonly finish: string;
}
const cases: fc.Arbitrary<Case> = fc
  .record({ text: broken, size: fc.integer({ min: 1, max: 9 }), finish: finishes })
  .map(({ text, size, finish }) => {
    const characters = [...text];
    const pieces = Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
      characters.slice(index * size, (index + 1) * size).join(''),
    );
    return { text, pieces, finish };
  });

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const head = { index: 0, id: 'c1', type: 'function' };

function whole({ text, finish }: Case) {
  const call = { ...head, function: { name: 'look', arguments: text } };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  return json(JSON.stringify({ choices: [{ index: 0, message, finish_reason: finish }], usage }));
}

function streamed({ pieces, finish }: Case) {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const call = (fields: object) => chunk({ tool_calls: [{ index: 0, ...fields }] });
  return sse(
    call({ ...head, function: { name: 'look', arguments: '' } }),
    ...pieces.map((piece) => call({ function: { arguments: piece } })),
    chunk({}, finish),
    `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
  );
}

interface Api {
  readonly name: string;
  request(isStream: boolean): CallerRequest;
  /** The arguments of the calls in a reply, as the caller parses them. */
  inputs(reply: CallerReply, isStream: boolean): readonly Any[];
  /** True if calls have an object. */
  readonly hasObjects: boolean;
}

const schema = { type: 'object', properties: { a: {} } };
const eventsIn = ({ text }: CallerReply): readonly Any[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));

const messages: Api = {
  name: 'Messages',
  hasObjects: true,
  request: (stream) => ({
    path: '/v1/messages',
    body: JSON.stringify({
      ...{ model: 'm', max_tokens: 99, messages: [{ role: 'user', content: 'hi' }], stream },
      tools: [{ name: 'look', input_schema: schema }],
    }),
  }),
  inputs: (reply, isStream) => {
    if (!isStream) {
      const blocks: readonly Any[] = JSON.parse(reply.text).content;
      return blocks.filter(({ type }) => type === 'tool_use').map(({ input }) => input);
    }
    const events = eventsIn(reply);
    const begun = events.filter(({ content_block }) => content_block?.type === 'tool_use');
    return begun.map(({ index }) => {
      const deltas = events.filter((event) => event.index === index && event.delta !== undefined);
      return JSON.parse(deltas.map(({ delta }) => delta.partial_json).join('') || '{}');
    });
  },
};
const native: Api = {
  name: 'native',
  hasObjects: true,
  request: (isStream) => ({
    path: `/v1beta/models/m:${isStream ? 'streamGenerateContent' : 'generateContent'}`,
    ...(isStream ? { search: 'alt=sse' } : {}),
    body: JSON.stringify({
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'look', parameters: schema }] }],
    }),
  }),
  inputs: (reply, isStream) => {
    const replies = isStream ? eventsIn(reply) : [JSON.parse(reply.text)];
    const parts: readonly Any[] = replies.flatMap(
      ({ candidates = [] }) => candidates[0]?.content?.parts ?? [],
    );
    return parts.flatMap(({ functionCall }) => (functionCall ? [functionCall.args] : []));
  },
};
const responses: Api = {
  name: 'Responses',
  hasObjects: false,
  request: (stream) => ({
    path: '/v1/responses',
    body: JSON.stringify({
      ...{ model: 'm', input: 'hi', stream },
      tools: [{ type: 'function', name: 'look', parameters: schema }],
    }),
  }),
  inputs: (reply, isStream) => {
    const last: Any = isStream ? eventsIn(reply).at(-1) : { response: JSON.parse(reply.text) };
    const { output = [] } = last.response;
    return output.flatMap((item: Any) => (item.type === 'function_call' ? [item.arguments] : []));
  },
};

const channel = { dialect: 'openai', capabilities: { responses: false } } as const;

/** Undefined for a reply that fails because the call has no end, though nothing cut it. */
async function inputsOf(
  api: Api,
  one: Case,
  isStream: boolean,
): Promise<readonly Any[] | undefined> {
  const upstream = scriptedUpstream(isStream ? streamed(one) : whole(one));
  const gateway = anyModelGateway({ upstream, channel });
  const reply = await gateway.call(api.request(isStream));
  const reason = gateway.records[0]?.reason;
  if (reason === 'upstream_unusable_output') {
    expect(reply.text).toContain('"error":{');
    return undefined;
  }
  expect([reply.status, reason]).toEqual([200, undefined]);
  return api.inputs(reply, isStream);
}

describe.each(
  [messages, native, responses].map((api) => [api.name, api] as const),
)('malformed arguments to %s callers', (_, api) => {
  it('are the same streamed and whole', () =>
    fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const inWhole = await inputsOf(api, one, false);
        const inStream = await inputsOf(api, one, true);

        expect(inStream).toEqual(inWhole);
        if (!api.hasObjects || inWhole === undefined) return;
        for (const input of inWhole) {
          expect(isJsonObject(input)).toBe(true);
          expect([{ _raw: one.text }, objectIn(one.text)]).toContainEqual(input);
        }
      }),
      { numRuns: runsOf(60) },
    ));
});

/** The object with which the arguments begin, if there is one: what follows it is left out. */
function objectIn(text: string): JsonValue | undefined {
  const ends = [...text.matchAll(/\}/g)].map(({ index }) => index + 1);
  for (const end of ends) {
    try {
      return JSON.parse(text.slice(0, end));
    } catch {
      // It ends later, or nowhere.
    }
  }
  return undefined;
}
