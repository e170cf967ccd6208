// suite: quick
/** A tool’s schema that is sent with fewer constraints is named in `x-tollgate-dropped`. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  native,
} from '../../support/any-model-gateway.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

const a = { type: 'string' } as const;
const circle = { properties: { kind: a, r: a }, required: ['kind', 'r'] } as const;
const square = { properties: { kind: a, side: a }, required: ['kind', 'side'] } as const;

const requests: readonly (readonly [DialectName, (schema: JsonObject) => CallerRequest])[] = [
  ['anthropic', (schema) => chat(chatBody(schema))],
  ['anthropic', (schema) => native('json', nativeBody(schema))],
  ['openai', (schema) => native('json', nativeBody(schema))],
];

function chatBody(parameters: JsonObject): string {
  return JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
  });
}

function nativeBody(parametersJsonSchema: JsonObject): string {
  return JSON.stringify({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema }] }],
  });
}

const answers = {
  anthropic:
    '{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],' +
    '"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}',
  openai: '{"id":"c","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}',
  gemini: '{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}',
} as const;

async function dropped(dialect: DialectName, request: CallerRequest, strict = false) {
  const headers = { 'content-type': 'application/json' };
  const upstream = scriptedUpstream({ headers, chunks: [answers[dialect]] });
  const channel = { dialect, upstreamModel: 'm' } as const;
  const gateway = anyModelGateway({ upstream, channel, model: { strict } });
  const whole = {
    ...request,
    body: String(request.body).replace('"stream":true', '"stream":false'),
  };
  const reply = await gateway.call(whole);
  const names = (reply.headers['x-tollgate-dropped'] ?? '').split(',');
  return { status: reply.status, isListed: names.includes('tools.schema') };
}

const looser: readonly (readonly [string, JsonObject])[] = [
  ['alternatives with properties', { type: 'object', oneOf: [circle, square] }],
  [
    'alternatives that only demand',
    { type: 'object', properties: { a, b: a }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
  ],
  ['another type', { type: 'array', items: a }],
  ['a type beside the object', { type: ['object', 'null'], properties: { a } }],
  ['a keyword in a part', { type: 'object', allOf: [circle, { minProperties: 3 }] }],
  ['a part that is no object', { type: 'object', allOf: [{ type: 'string' }] }],
  ['alternatives in a part', { allOf: [{ oneOf: [circle, square] }] }],
  [
    'alternatives in a referenced schema',
    { $ref: '#/$defs/s', $defs: { s: { anyOf: [circle, square] } } },
  ],
  ['a reference that leads nowhere', { $ref: '#/$defs/none', type: 'object' }],
];

const whole: readonly (readonly [string, JsonObject])[] = [
  ['plain properties', { type: 'object', properties: { a }, required: ['a'] }],
  ['constraints at the top', { type: 'object', properties: { a }, minProperties: 1 }],
  ['parts that only join', { type: 'object', allOf: [circle, square] }],
  ['one alternative', { type: 'object', anyOf: [circle] }],
  [
    'a reference to an object',
    { $ref: '#/$defs/s', $defs: { s: { type: 'object', ...circle, additionalProperties: false } } },
  ],
  ['alternatives inside', { type: 'object', properties: { shape: { oneOf: [circle, square] } } }],
  ['nothing', {}],
];

describe.each(requests)('toward %s', (dialect, requestWith) => {
  it.each(looser)('reports a looser schema: %s', async (_, schema) => {
    expect(await dropped(dialect, requestWith(schema))).toEqual({ status: 200, isListed: true });
  });

  it.each(looser)('refuses it if the model is strict: %s', async (_, schema) => {
    expect(await dropped(dialect, requestWith(schema), true)).toMatchObject({ status: 400 });
  });

  it.each(whole)('reports no other: %s', async (_, schema) => {
    expect(await dropped(dialect, requestWith(schema), true)).toEqual({
      status: 200,
      isListed: false,
    });
  });
});

describe('toward an older Gemini', () => {
  it.each([
    {},
    { type: 'object' },
    { type: 'object', properties: {} },
  ])('an object without properties is sent without parameters: %j', async (schema) => {
    const headers = { 'content-type': 'application/json' };
    const upstream = scriptedUpstream({ headers, chunks: [answers.gemini] });
    const channel = { dialect: 'gemini', upstreamModel: 'gemini-1.5-pro' } as const;

    await anyModelGateway({ upstream, channel }).call(chat(chatBody(schema)));

    const up = Buffer.concat([...(upstream.requests[0]?.body ?? [])]).toString();
    expect(up).toContain('"functionDeclarations":[{"name":"f"}]');
  });
});
