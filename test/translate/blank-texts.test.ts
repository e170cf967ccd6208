// suite: search
/**
 * Anthropic refuses blank text blocks. Blank pieces of a text, such as the line breaks of a
 * program, reach it all the same: what a turn, a system prompt or a result says stays the same.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { items, type JsonValue, member } from '../../src/json.ts';
import { json, sse } from '../relay/streams.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  native,
  responses,
} from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

type Pieces = readonly string[];
/** Where the pieces are, and the words of the conversation before and after them. */
interface Place {
  readonly before: string;
  readonly after: string;
  request(pieces: Pieces, stream: boolean): CallerRequest;
}

const textsOf = (type: string, pieces: Pieces): readonly object[] =>
  pieces.map((text) => ({ type, text }));
const userSays = (content: string): object => ({ role: 'user', content });

function inChat(before: string, after: string, made: (pieces: Pieces) => readonly object[]): Place {
  const messagesOf = (pieces: Pieces) => [
    ...(before === '' ? [] : [userSays(before)]),
    ...made(pieces),
    ...(after === '' ? [] : [userSays(after)]),
  ];
  return {
    before,
    after,
    request: (pieces, stream) =>
      chat(JSON.stringify({ model: 'm', stream, messages: messagesOf(pieces) })),
  };
}

function inResponses(
  before: string,
  after: string,
  made: (pieces: Pieces) => readonly object[],
): Place {
  const inputOf = (pieces: Pieces) => [
    ...(before === '' ? [] : [userSays(before)]),
    ...made(pieces),
    ...(after === '' ? [] : [userSays(after)]),
  ];
  return {
    before,
    after,
    request: (pieces, stream) =>
      responses(JSON.stringify({ model: 'm', stream, input: inputOf(pieces) })),
  };
}

function inNative(before: string, after: string, made: (pieces: Pieces) => object): Place {
  return {
    before,
    after,
    request: (pieces, stream) => native(stream ? 'sse' : 'json', JSON.stringify(made(pieces))),
  };
}

const contentOf = (role: string, pieces: Pieces): object => ({
  role,
  parts: pieces.map((text) => ({ text })),
});
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const message = (role: string) => (pieces: Pieces) => [{ role, content: textsOf('text', pieces) }];

const places: Readonly<Record<string, Place>> = {
  'chat: user': inChat('', '', message('user')),
  'chat: messages of the user': inChat('ask', '', (pieces) => pieces.map(userSays)),
  'chat: between images': inChat('ask', '', (pieces) => [
    { role: 'user', content: textsOf('text', pieces).flatMap((part) => [part, image]) },
  ]),
  'chat: system': inChat('', 'go', message('system')),
  'chat: developer': inChat('', 'go', message('developer')),
  'chat: assistant': inChat('ask', 'go', message('assistant')),
  'chat: messages of the assistant': inChat('ask', 'go', (pieces) =>
    pieces.map((content) => ({ role: 'assistant', content })),
  ),
  'chat: assistant with a call': inChat('ask', '', (pieces) => [
    { role: 'assistant', content: textsOf('text', pieces), tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: '' },
  ]),
  'chat: tool': inChat('ask', '', (pieces) => [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: textsOf('text', pieces) },
  ]),
  'responses: user': inResponses('', '', (pieces) => [
    { role: 'user', content: textsOf('input_text', pieces) },
  ]),
  'responses: developer': inResponses('', 'go', (pieces) => [
    { role: 'developer', content: textsOf('input_text', pieces) },
  ]),
  'responses: assistant': inResponses('ask', 'go', (pieces) => [
    { role: 'assistant', content: textsOf('output_text', pieces) },
  ]),
  'responses: items of the assistant': inResponses('ask', 'go', (pieces) =>
    pieces.map((text) => ({ role: 'assistant', content: textsOf('output_text', [text]) })),
  ),
  'responses: tool': inResponses('ask', '', (pieces) => [
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: textsOf('input_text', pieces) },
  ]),
  'native: user': inNative('', '', (pieces) => ({ contents: [contentOf('user', pieces)] })),
  'native: system': inNative('', 'go', (pieces) => ({
    systemInstruction: contentOf('system', pieces),
    contents: [contentOf('user', ['go'])],
  })),
  'native: model': inNative('ask', 'go', (pieces) => ({
    contents: [contentOf('user', ['ask']), contentOf('model', pieces), contentOf('user', ['go'])],
  })),
  // As Google's SDK keeps the events of a stream.
  'native: contents of the model': inNative('ask', 'go', (pieces) => ({
    contents: [
      contentOf('user', ['ask']),
      ...pieces.map((text) => contentOf('model', [text])),
      contentOf('user', ['go']),
    ],
  })),
};

const reply = { stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } };
const whole = { type: 'message', role: 'assistant', model: 'm', content: [], ...reply };
const streamed = [
  { type: 'message_start', message: { ...whole, stop_reason: null } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

/** The request that Anthropic gets, and what the caller is told that it lacks. */
async function sent(request: CallerRequest, stream: boolean) {
  const upstream = scriptedUpstream(stream ? sse(...streamed) : json(JSON.stringify(whole)));
  const gateway = anyModelGateway({ upstream, channel: { dialect: 'anthropic' } });
  const { status, headers } = await gateway.call(request);
  const body = Buffer.concat(upstream.requests[0]?.body ?? []).toString();
  return { status, dropped: headers['x-tollgate-dropped'], texts: textsIn(JSON.parse(body)) };
}

function textsIn(body: JsonValue): readonly string[] {
  const blocks = [
    ...items(member(body, 'system') ?? null),
    ...items(member(body, 'messages') ?? null).flatMap((one) =>
      items(member(one, 'content') ?? null),
    ),
  ];
  return blocks
    .flatMap((block) => [block, ...items(member(block, 'content') ?? null)])
    .map((block) => member(block, 'text'))
    .filter((text) => typeof text === 'string');
}

const blanks = ['', ' ', '\n', '\n    ', '\t', '\n\n', '\u00a0'];
const words = ['def f():', 'return 1', ' Done.', 'x\n'];
const pieces = fc
  .array(fc.constantFrom(...blanks, ...words), { minLength: 1, maxLength: 7 })
  .filter((some) => some.some((piece) => piece.trim() !== ''));

it.each(Object.entries(places))('%s: the text is the same, in no blank block', async (_, place) => {
  await fc.assert(
    fc.asyncProperty(pieces, fc.boolean(), async (some, stream) => {
      const { status, dropped, texts } = await sent(place.request(some, stream), stream);

      expect([status, dropped]).toEqual([200, undefined]);
      expect(texts.filter((text) => text.trim() === '')).toEqual([]);
      expect(texts.join('')).toBe(place.before + some.join('') + place.after);
    }),
    { seed: 20261124, numRuns: 30 },
  );
});
