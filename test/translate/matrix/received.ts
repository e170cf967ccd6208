/** Reads the content of a response like a caller does, for every protocol, whole and streamed. */
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../../src/json.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import type { Column } from './columns.ts';
import { objects, pick, textAt } from './json.ts';
import { readMessages } from './received-messages.ts';

/** The content of a response in terms that the protocols share. */
export interface ReceivedReply {
  readonly status: number;
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly HeardCall[];
  /** Base64, of images. */
  readonly images: readonly string[];
  /** The protocol's finish reason; of Messages in the terms of chat completions. */
  readonly finish: string;
  readonly refusal: string;
  /** Why the prompt was blocked, in native answers. */
  readonly blocked: string;
  readonly tokens: readonly string[];
  readonly sources: number;
  /** Input tokens, cached ones among them, output tokens, and reasoning ones among them. */
  readonly usage: readonly (JsonValue | undefined)[];
  readonly error: JsonObject | undefined;
  /** What a caller puts into the history of its next request. */
  readonly message: JsonObject;
}

/** A tool call as a caller gets it. */
export interface HeardCall {
  readonly id: string;
  readonly name: string;
  readonly args: JsonValue | undefined;
}

/** Reads a response like a caller does. */
export function received(
  protocol: Column['protocol'],
  streamed: boolean,
  reply: CallerReply,
): ReceivedReply {
  const documents = streamed ? eventsIn(reply.text) : [parseJson(reply.text) ?? null];
  const read = readers[protocol];
  const error = documents.map((document) => member(document, 'error')).find(isJsonObject);
  return { ...read(documents), status: reply.status, error };
}

function eventsIn(text: string): readonly JsonValue[] {
  const whole = parseJson(text);
  if (whole !== undefined) return [whole];
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => parseJson(line.slice('data: '.length)) ?? null);
}

/** What a reply says, beside its status and its error. */
export type Read = Omit<ReceivedReply, 'status' | 'error'>;

const readers = { chat: readChat, native: readNative, messages: readMessages } as const;

function readChat(documents: readonly JsonValue[]): Read {
  const choices = documents.flatMap((document) => objects(member(document, 'choices')).slice(0, 1));
  const messages = choices.map((one) => member(one, 'message') ?? member(one, 'delta') ?? null);
  const message = joined(messages);
  const usage = documents.map((one) => member(one, 'usage')).findLast(isJsonObject);
  return {
    text: textAt(message, 'content'),
    thoughts: textAt(message, 'reasoning_content'),
    calls: objects(member(message, 'tool_calls')).map((call) => ({
      id: textAt(call, 'id'),
      name: textAt(call, 'function', 'name'),
      args: parseJson(textAt(call, 'function', 'arguments')),
    })),
    images: objects(member(message, 'images')).map((image) =>
      textAt(image, 'image_url', 'url').replace(/^.*base64,/, ''),
    ),
    finish: lastText(choices, 'finish_reason'),
    refusal: textAt(message, 'refusal'),
    blocked: '',
    tokens: choices.flatMap((one) =>
      objects(pick(one, 'logprobs', 'content')).map((token) => textAt(token, 'token')),
    ),
    sources: objects(member(message, 'annotations')).length,
    usage: [
      member(usage, 'prompt_tokens'),
      pick(usage, 'prompt_tokens_details', 'cached_tokens'),
      member(usage, 'completion_tokens'),
      pick(usage, 'completion_tokens_details', 'reasoning_tokens'),
    ],
    message,
  };
}

/** Assembles a message from its deltas like OpenAI's SDKs do. */
function joined(messages: readonly JsonValue[]): JsonObject {
  const whole = new Map<string, JsonValue>();
  for (const [name, value] of messages.filter(isJsonObject).flatMap(Object.entries)) {
    if (name === 'tool_calls') whole.set(name, withCalls(items(whole.get(name)), objects(value)));
    else whole.set(name, extended(whole.get(name), value, name));
  }
  return Object.fromEntries(whole);
}

function extended(before: JsonValue | undefined, value: JsonValue, name: string): JsonValue {
  if (Array.isArray(value)) return [...items(before), ...items(value)];
  const isText = typeof value === 'string' && name !== 'role';
  return isText && typeof before === 'string' ? before + value : value;
}

function withCalls(
  before: readonly JsonValue[],
  deltas: readonly JsonObject[],
): readonly JsonValue[] {
  const calls = [...before];
  for (const { index, ...delta } of deltas) {
    const place = typeof index === 'number' ? index : calls.length;
    const call = calls[place];
    const text = textAt(call, 'function', 'arguments') + textAt(delta, 'function', 'arguments');
    const called = {
      ...objects([member(call, 'function') ?? null])[0],
      ...objects([member(delta, 'function') ?? null])[0],
    };
    const old = isJsonObject(call) ? call : {};
    calls[place] = { ...old, ...delta, function: { ...called, arguments: text } };
  }
  return calls;
}

function readNative(documents: readonly JsonValue[]): Read {
  const candidates = documents.flatMap((one) => objects(member(one, 'candidates')).slice(0, 1));
  const parts = candidates.flatMap((one) => objects(pick(one, 'content', 'parts')));
  const texts = (isThought: boolean) =>
    parts
      .filter((part) => (member(part, 'thought') === true) === isThought)
      .map((part) => textAt(part, 'text'))
      .join('');
  const usage = documents.map((one) => member(one, 'usageMetadata')).findLast(isJsonObject);
  const figure = (name: string) => member(usage, name);
  const thoughts = figure('thoughtsTokenCount');
  return {
    text: texts(false),
    thoughts: texts(true),
    calls: parts.flatMap((part) => {
      const call = member(part, 'functionCall');
      if (call === undefined) return [];
      return [{ id: textAt(call, 'id'), name: textAt(call, 'name'), args: member(call, 'args') }];
    }),
    images: parts.flatMap((part) => textAt(part, 'inlineData', 'data') || []),
    finish: lastText(candidates, 'finishReason'),
    refusal: lastText(candidates, 'finishMessage'),
    blocked: lastText(
      documents.map((one) => member(one, 'promptFeedback') ?? null),
      'blockReason',
    ),
    tokens: candidates.flatMap((one) =>
      objects(pick(one, 'logprobsResult', 'chosenCandidates')).map((token) =>
        textAt(token, 'token'),
      ),
    ),
    sources: candidates.flatMap((one) => [
      ...objects(pick(one, 'groundingMetadata', 'groundingChunks')),
      ...objects(pick(one, 'citationMetadata', 'citationSources')),
    ]).length,
    usage: [
      figure('promptTokenCount'),
      figure('cachedContentTokenCount'),
      Number(figure('candidatesTokenCount')) + Number(thoughts ?? 0),
      thoughts,
    ],
    message: { role: 'model', parts },
  };
}

function lastText(sources: readonly JsonValue[], name: string): string {
  return sources.map((source) => textAt(source, name)).findLast((text) => text !== '') ?? '';
}
