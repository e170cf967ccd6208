/** One reply of each dialect in both of its forms: the stream is made from the whole one. */
import { items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { ScriptedReply } from '../../support/scripted-upstream.ts';
import { objects, pick, textAt } from './json.ts';

/** The answer a channel gives to any request. */
export const plainReplies: Readonly<Record<DialectName, JsonObject>> = {
  openai: openaiReply({ content: 'Hello.' }),
  gemini: geminiReply([{ text: 'Hello.' }]),
  anthropic: anthropicReply([{ type: 'text', text: 'Hello.' }]),
};

/** A completion with one message. */
export function openaiReply(
  message: JsonObject,
  choice: JsonObject = {},
  reply: JsonObject = {},
): JsonObject {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-5.6',
    choices: [
      { index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...choice },
    ],
    usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
    ...reply,
  };
}

/** A response with one candidate. */
export function geminiReply(
  parts: readonly JsonObject[],
  candidate: JsonObject = {},
  reply: JsonObject = {},
): JsonObject {
  return {
    candidates: [
      { content: { role: 'model', parts }, finishReason: 'STOP', index: 0, ...candidate },
    ],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
    modelVersion: 'gemini-3.1-pro',
    responseId: 'r-1',
    ...reply,
  };
}

/** A message of these blocks. */
export function anthropicReply(content: readonly JsonObject[], reply: JsonObject = {}): JsonObject {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 3 },
    ...reply,
  };
}

const document = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };

/** How a stream ends. */
export type Ending = 'whole' | 'error' | 'cut';

/** The reply as an upstream of the dialect sends it. */
export function scripted(
  dialect: DialectName,
  reply: JsonObject,
  streamed: boolean,
  ending: Ending = 'whole',
): ScriptedReply {
  if (!streamed) return { headers: document, chunks: [JSON.stringify(reply)] };
  const { frames, terminator } = streams[dialect](reply);
  if (ending === 'whole') return { headers: events, chunks: [...frames, ...terminator] };
  const firstBytes = frames.slice(0, Math.ceil(frames.length / 2));
  return {
    headers: events,
    chunks: ending === 'cut' ? firstBytes : [...firstBytes, errorFrames[dialect]],
  };
}

interface Frames {
  readonly frames: readonly string[];
  readonly terminator: readonly string[];
}

const errorFrames: Readonly<Record<DialectName, string>> = {
  openai: data({ error: { message: 'Overloaded.', type: 'server_error', code: 'overloaded' } }),
  gemini: data({ error: { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' } }),
  anthropic: named({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded.' } }),
};

const streams: Readonly<Record<DialectName, (reply: JsonObject) => Frames>> = {
  openai: openaiFrames,
  gemini: geminiFrames,
  anthropic: anthropicFrames,
};

function openaiFrames(reply: JsonObject): Frames {
  const { choices, usage, ...head } = reply;
  const chunk = (members: JsonObject): string => data({ ...head, ...members });
  const choice = pick(choices, 0);
  const { role, ...message } = Object.fromEntries(
    Object.entries(objects([pick(choice, 'message') ?? null])[0] ?? {}),
  );
  const deltas: readonly JsonObject[] = [
    { role: role ?? 'assistant', content: '' },
    ...Object.entries(message)
      .filter(([, value]) => value !== null)
      .flatMap(([name, value]) => deltasOf(name, value)),
  ];
  const logprobs = member(choice, 'logprobs');
  const finish = member(choice, 'finish_reason') ?? null;
  const frames = deltas.map((delta) => {
    const isText = textAt(delta, 'content') !== '' && logprobs !== undefined;
    const beside = isText ? { logprobs } : {};
    return chunk({ choices: [{ index: 0, delta, finish_reason: null, ...beside }] });
  });
  return {
    frames: [
      ...frames,
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }),
      chunk({ choices: [], usage: usage ?? null }),
    ],
    terminator: ['data: [DONE]\n\n'],
  };
}

function deltasOf(name: string, value: JsonValue): readonly JsonObject[] {
  if (name === 'tool_calls') {
    return objects(value).map((call, index) => ({ tool_calls: [{ index, ...call }] }));
  }
  if (typeof value !== 'string' || value.length < 2) return [{ [name]: value }];
  return [{ [name]: value.slice(0, 2) }, { [name]: value.slice(2) }];
}

function geminiFrames(reply: JsonObject): Frames {
  const { candidates, usageMetadata, ...head } = reply;
  const [candidate] = objects(candidates);
  if (candidate === undefined) return { frames: [data(reply)], terminator: [] };
  const { content, ...ending } = candidate;
  const pieces = items(member(content, 'parts')).map((part) =>
    data({ ...head, candidates: [{ content: { role: 'model', parts: [part] }, index: 0 }] }),
  );
  const usage = usageMetadata === undefined ? {} : { usageMetadata };
  return { frames: [...pieces, data({ ...head, candidates: [ending], ...usage })], terminator: [] };
}

function anthropicFrames(reply: JsonObject): Frames {
  const { content, stop_reason, stop_sequence, stop_details, usage, ...head } = reply;
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null, usage };
  const details = stop_details === undefined ? {} : { stop_details };
  return {
    frames: [
      named({ type: 'message_start', message: { ...message, usage: usage ?? {} } }),
      ...objects(content).flatMap(blockFrames),
      named({
        type: 'message_delta',
        delta: {
          stop_reason: stop_reason ?? null,
          stop_sequence: stop_sequence ?? null,
          ...details,
        },
        usage: usage ?? {},
      }),
    ],
    terminator: [named({ type: 'message_stop' })],
  };
}

/** The members of a block that come in pieces, each by a delta of its own. */
const pieces: Readonly<Record<string, (value: JsonValue) => JsonObject>> = {
  text: (text) => ({ type: 'text_delta', text }),
  thinking: (thinking) => ({ type: 'thinking_delta', thinking }),
  signature: (signature) => ({ type: 'signature_delta', signature }),
  input: (input) => ({ type: 'input_json_delta', partial_json: JSON.stringify(input) }),
};

function blockFrames(block: JsonObject, index: number): readonly string[] {
  const empty = { text: '', thinking: '', signature: '', input: {} } as const;
  const blank = Object.fromEntries(
    Object.entries(block).map(([name, value]) => [
      name,
      Object.entries(empty).find(([one]) => one === name)?.[1] ?? value,
    ]),
  );
  const deltas = Object.entries(block).flatMap(([name, value]) => {
    const piece = pieces[name];
    return piece === undefined
      ? []
      : [named({ type: 'content_block_delta', index, delta: piece(value) })];
  });
  return [
    named({ type: 'content_block_start', index, content_block: blank }),
    ...deltas,
    named({ type: 'content_block_stop', index }),
  ];
}

function data(document: JsonValue): string {
  return `data: ${JSON.stringify(document)}\n\n`;
}

function named(document: JsonObject): string {
  return `event: ${textAt(document, 'type')}\n${data(document)}`;
}
