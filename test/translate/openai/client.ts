/** The client codec for OpenAI-compatible upstreams, and short forms for its tests. */
import type { ContentEvent, ToolCallBegin } from '../../../src/canonical/reply.ts';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import type { UpstreamTarget } from '../../../src/dialects/codec.ts';
import { openaiClient } from '../../../src/dialects/openai/client/codec.ts';
import { openaiCapabilities } from '../../../src/dialects/openai/dialect.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import type { Capabilities } from '../../../src/ports/models/capabilities.ts';
import {
  type CodecHarness,
  codecHarness,
  documentsOf,
  parsed,
  textPart,
} from '../../support/codec.ts';
import { nativeNames } from '../../support/plain-request.ts';
import { type Fixture, fixtures } from '../../support/recorded/fixtures.ts';

const codec = codecHarness({
  codec: openaiClient,
  capabilities: openaiCapabilities,
  upstreamModel: 'gpt-4.1',
  newId: (count) => `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`,
  request: { names: nativeNames },
});

/** A request with only the given members. */
export const contentRequest: CodecHarness['request'] = codec.request;
/** A text part. */
export const text: typeof textPart = textPart;
/** The exchange of a request, used to read replies. */
export const exchange: CodecHarness['begin'] = codec.begin;
/** Every event of a stream, its end included. */
export const eventsOfStream: CodecHarness['streamEvents'] = codec.streamEvents;

/** An upstream model with OpenAI's capabilities, except for the given flags. */
export function target(flags: Capabilities = {}, upstreamModel?: string): UpstreamTarget {
  return codec.target(upstreamModel, flags);
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

/** The calls of the events, each with all of its arguments. */
export function callsOf(events: readonly ContentEvent[]): readonly ToolCallBegin[] {
  return events
    .filter((event) => event.type === 'tool_begin')
    .map((begin) => {
      const more = events.map((event) => {
        if (event.type !== 'tool_arguments') return '';
        return event.choice === begin.choice && event.call === begin.call ? event.text : '';
      });
      return { ...begin, arguments: [begin.arguments, ...more].join('') };
    });
}

/** The finishes of choices among the events. */
export function finishesOf(
  events: readonly ContentEvent[],
): readonly Extract<ContentEvent, { readonly type: 'finish' }>[] {
  return events.filter((event) => event.type === 'finish');
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

/** One chunk of a stream, with one choice. */
export function chunk(delta: JsonValue, finish: JsonValue = null, index: JsonValue = 0): JsonValue {
  return { id: 'x', model: 'm', choices: [{ index, delta, finish_reason: finish }] };
}
