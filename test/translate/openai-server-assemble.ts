/** Puts the chunks of a chat stream together as a client does, and reads them one by one. */
import type { ContentEvent } from '../../src/canonical/reply.ts';
import type { ReplyHead } from '../../src/dialects/codec.ts';
import { writeReply } from '../../src/dialects/openai/server/write-reply.ts';
import { writeStream } from '../../src/dialects/openai/server/write-stream.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../src/json.ts';

/** What every reply of the tests says of itself. */
export const head: ReplyHead = {
  fallbackId: 'fallback',
  createdSeconds: 1_795_177_645,
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

/** Every delta of one choice that holds a member. */
export function deltasOf(chunks: readonly JsonValue[], choice: number): readonly JsonObject[] {
  return chunks
    .flatMap((chunk) => items(member(chunk, 'choices')))
    .filter((told) => member(told, 'index') === choice)
    .map((told) => member(told, 'delta'))
    .filter(isJsonObject);
}

/** The whole reply that a stream amounts to. */
export function assembled(chunks: readonly JsonValue[]): JsonValue {
  const told = chunks.flatMap((chunk) => items(member(chunk, 'choices')));
  const indexes = [...new Set(told.map((choice) => Number(member(choice, 'index'))))].sort();
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
        told.filter((choice) => member(choice, 'index') === index),
      ),
    ),
    ...(usage === undefined ? {} : { usage }),
  };
}

function assembledChoice(index: number, told: readonly JsonValue[]): JsonValue {
  const message = told
    .map((choice) => member(choice, 'delta'))
    .filter(isJsonObject)
    .reduce(joined, {});
  const tokens = told.flatMap((choice) => items(member(member(choice, 'logprobs'), 'content')));
  const last = told.findLast((choice) => member(choice, 'finish_reason') !== null);
  const native = member(last, 'native_finish_reason');
  return {
    index,
    message: { refusal: null, ...message, content: member(message, 'content') || null },
    logprobs: tokens.length === 0 ? null : { content: tokens, refusal: null },
    finish_reason: member(last, 'finish_reason') ?? null,
    ...(native === undefined ? {} : { native_finish_reason: native }),
  };
}

/** Texts grow, lists grow, calls grow by their index, objects grow member by member. */
function joined(one: JsonObject, other: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = member(one, name);
    merged[name] = name === 'tool_calls' ? joinedCalls(before, value) : grown(name, before, value);
  }
  return merged;
}

const constants: ReadonlySet<string> = new Set(['role', 'id', 'mime_type', 'thought_signature']);

function grown(name: string, before: JsonValue | undefined, value: JsonValue): JsonValue {
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
