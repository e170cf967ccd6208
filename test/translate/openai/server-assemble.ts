/** Puts the chunks of a chat stream together as a client does, and reads them one by one. */
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { ReplyHead } from '../../../src/dialects/codec.ts';
import { writeReply } from '../../../src/dialects/openai/server/write-reply.ts';
import { writeStream } from '../../../src/dialects/openai/server/write-stream.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';

/** The metadata of every reply in these tests. */
export const head: ReplyHead = {
  fallbackId: 'fallback',
  createdSeconds: 1_795_177_645,
  newId: () => 'id',
  modelId: 'some/model:1',
  wantsUsage: true,
  framing: 'sse',
};

/** The whole reply for the events. */
export function wholeOf(events: readonly ContentEvent[], as: ReplyHead = head): JsonValue {
  return parsed(writeReply(events, as).text);
}

/** The stream's text, each event in a write of its own. */
export function streamOf(events: readonly ContentEvent[], as: ReplyHead = head): string {
  const writer = writeStream(as);
  return `${events.map((event) => writer.write([event])).join('')}${writer.end()}`;
}

/** The chunks of a stream, without its terminator. */
export function chunksOf(stream: string): readonly JsonValue[] {
  return stream
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => parsed(event.slice('data: '.length)));
}

/** The deltas of one choice. */
export function deltasOf(chunks: readonly JsonValue[], choice: number): readonly JsonObject[] {
  return chunks
    .flatMap((chunk) => items(member(chunk, 'choices')))
    .filter((choiceNode) => member(choiceNode, 'index') === choice)
    .map((choiceNode) => member(choiceNode, 'delta'))
    .filter(isJsonObject);
}

/** Assembles a stream to a whole reply. */
export function assembled(chunks: readonly JsonValue[]): JsonValue {
  const pieces = chunks.flatMap((chunk) => items(member(chunk, 'choices')));
  const indexes = [...new Set(pieces.map((choice) => Number(member(choice, 'index'))))].sort();
  const usage = chunks.map((chunk) => member(chunk, 'usage')).find(isJsonObject);
  const [first] = chunks;
  return {
    id: member(first, 'id') ?? null,
    object: 'chat.completion',
    created: member(first, 'created') ?? null,
    model: member(first, 'model') ?? null,
    choices: indexes.map((index) =>
      assembledChoice(
        index,
        pieces.filter((choice) => member(choice, 'index') === index),
      ),
    ),
    ...(usage === undefined ? {} : { usage }),
  };
}

function assembledChoice(index: number, pieces: readonly JsonValue[]): JsonValue {
  const message = pieces
    .map((choice) => member(choice, 'delta'))
    .filter(isJsonObject)
    .reduce(joined, {});
  const tokens = pieces.flatMap((choice) => items(member(member(choice, 'logprobs'), 'content')));
  const last = pieces.findLast((choice) => member(choice, 'finish_reason') !== null);
  const native = member(last, 'native_finish_reason');
  return {
    index,
    message: { refusal: null, ...message, content: member(message, 'content') || null },
    logprobs: tokens.length === 0 ? null : { content: tokens, refusal: null },
    finish_reason: member(last, 'finish_reason') ?? null,
    ...(native === undefined ? {} : { native_finish_reason: native }),
  };
}

/** Concatenates texts and arrays, merges calls by index, and merges objects member by member. */
function joined(one: JsonObject, other: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = member(one, name);
    merged[name] =
      name === 'tool_calls' ? joinedCalls(before, value) : mergedMember(name, before, value);
  }
  return merged;
}

const constants: ReadonlySet<string> = new Set(['role', 'id', 'mime_type', 'thought_signature']);

function mergedMember(name: string, before: JsonValue | undefined, value: JsonValue): JsonValue {
  if (typeof before === 'string' && typeof value === 'string') {
    return constants.has(name) ? value : before + value;
  }
  if (Array.isArray(before) && Array.isArray(value)) return [...items(before), ...items(value)];
  return isJsonObject(before) && isJsonObject(value) ? joined(before, value) : value;
}

function joinedCalls(before: JsonValue | undefined, fragments: JsonValue): JsonValue {
  const calls: JsonValue[] = [...items(before)];
  for (const fragment of items(fragments).filter(isJsonObject)) {
    const { index, ...rest } = fragment;
    const known = calls[Number(index)];
    calls[Number(index)] = isJsonObject(known) ? joined(known, rest) : rest;
  }
  return calls;
}

function parsed(text: string): JsonValue {
  return JSON.parse(text);
}
