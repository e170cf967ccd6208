/** Helpers for the tests of the client codec for OpenAI-compatible upstreams. */
import { expect } from 'vitest';
import type { ContentEvent, ToolCallBegin } from '../../src/canonical/reply.ts';
import type { ContentRequest, FunctionTool, TextPart } from '../../src/canonical/request.ts';
import { capabilitiesOf } from '../../src/dialects/capabilities.ts';
import type { ContentExchange, UpstreamTarget } from '../../src/dialects/codec.ts';
import { openaiCapabilities } from '../../src/dialects/openai/capabilities.ts';
import { openaiClient } from '../../src/dialects/openai/client/codec.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../src/json.ts';
import type { Capabilities } from '../../src/ports/catalog.ts';
import { type Fixture, fixtures } from '../support/fixtures.ts';
import { nativeNames, plainRequest, user } from './plain-request.ts';

/** A request with only the given members. */
export function contentRequest(members: Partial<ContentRequest> = {}): ContentRequest {
  return { ...plainRequest, names: nativeNames, turns: [user(text('Hello'))], ...members };
}

/** A text part. */
export function text(content: string, at = 'contents[0].parts[0]'): TextPart {
  return { kind: 'text', text: content, at };
}

/** An upstream model with OpenAI's capabilities, except for the given flags. */
export function target(flags: Capabilities = {}, upstreamModel = 'gpt-4.1'): UpstreamTarget {
  let made = 0;
  return {
    upstreamModel,
    capabilities: capabilitiesOf(openaiCapabilities, upstreamModel, flags),
    maxOutputTokens: undefined,
    ids: () => {
      made += 1;
      return `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`;
    },
  };
}

/** The exchange of a plain request, used to read replies. */
export function exchange(members: Partial<ContentRequest> = {}): ContentExchange {
  return openaiClient.begin(contentRequest(members), target());
}

/** The body that is sent upstream, parsed. */
export function bodyOf(request: ContentRequest, flags?: Capabilities, model?: string): JsonValue {
  const { body } = openaiClient.begin(request, target(flags, model));
  return parsed(body);
}

/** The messages of that body. */
export function messagesOf(request: ContentRequest, flags?: Capabilities): readonly JsonValue[] {
  return items(member(bodyOf(request, flags), 'messages'));
}

/** The members that the exchange dropped. */
export function droppedOf(
  request: ContentRequest,
  flags?: Capabilities,
  model?: string,
): readonly string[] {
  return openaiClient.begin(request, target(flags, model)).dropped;
}

/** Parses text that must be valid JSON. */
export function parsed(json: string): JsonValue {
  const value = parseJson(json);
  if (value === undefined) throw new Error('This is not JSON.');
  return value;
}

/** The documents of an SSE body, parsed without the gateway's code. */
export function documentsOf(sse: string): readonly JsonValue[] {
  return sse
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: ') && !line.includes('[DONE]'))
    .map((line) => parsed(line.slice('data: '.length)));
}

/** Every event of a stream, its end included. */
export function eventsOfStream(
  documents: readonly JsonValue[],
  over: ContentExchange = exchange(),
): readonly ContentEvent[] {
  const reader = over.readStream();
  return [...documents.flatMap((document) => reader.read(document)), ...reader.end()];
}

/** The events of a recording, whole or streamed. */
export function eventsOf(recording: Fixture): readonly ContentEvent[] {
  const body = Buffer.from(recording.response).toString();
  const reasoningOutsideCompletion = /google-compat|xai/.test(recording.name);
  const over = openaiClient.begin(contentRequest(), target({ reasoningOutsideCompletion }));
  return recording.streamed
    ? eventsOfStream(documentsOf(body), over)
    : over.readReply(parsed(body));
}

/** The recorded replies of chat completions that have choices. */
export const recordings: readonly Fixture[] = [
  ...fixtures('openai-chat'),
  ...fixtures('openai-compat'),
].filter(({ status, url }) => status === 200 && !url.includes(':generateContent'));

/** The visible text of a choice. */
export function textOf(events: readonly ContentEvent[], choice = 0): string {
  return events
    .map((event) => (event.type === 'text' && event.choice === choice ? event.text : ''))
    .join('');
}

/** The reasoning of a choice. */
export function reasoningOf(events: readonly ContentEvent[], choice = 0): string {
  return events
    .map((event) => (event.type === 'reasoning' && event.choice === choice ? event.text : ''))
    .join('');
}

/** The calls that start among the events. */
export function callsOf(events: readonly ContentEvent[]): readonly ToolCallBegin[] {
  return events.filter((event) => event.type === 'tool_begin');
}

/** The finishes of choices among the events. */
export function finishesOf(
  events: readonly ContentEvent[],
): readonly Extract<ContentEvent, { readonly type: 'finish' }>[] {
  return events.filter((event) => event.type === 'finish');
}

/** A function with only a name. */
export function tool(name: string, members: Partial<FunctionTool> = {}): FunctionTool {
  return {
    kind: 'function',
    name,
    description: undefined,
    parameters: undefined,
    strict: undefined,
    at: `tools[0].functionDeclarations[${name}]`,
    ...members,
  };
}

/** The body without the messages and the model. */
export function parametersFor(
  members: Partial<ContentRequest>,
  flags?: Capabilities,
  model?: string,
): JsonObject {
  const body = bodyOf(contentRequest(members), flags, model);
  const entries: [string, JsonValue][] = isJsonObject(body) ? Object.entries(body) : [];
  return Object.fromEntries(entries.filter(([name]) => name !== 'messages' && name !== 'model'));
}

/** The members among these that were dropped. */
export function droppedFrom(
  members: Partial<ContentRequest>,
  flags?: Capabilities,
  model?: string,
): readonly string[] {
  return droppedOf(contentRequest(members), flags, model);
}

/** Matches a `not_portable` error that names the caller's member. */
export function notPortable(param: string): unknown {
  return expect.objectContaining({ code: 'not_portable', param });
}

/** One chunk of a stream, with one choice. */
export function chunk(delta: JsonValue, finish: JsonValue = null, index: JsonValue = 0): JsonValue {
  return { id: 'x', model: 'm', choices: [{ index, delta, finish_reason: finish }] };
}
