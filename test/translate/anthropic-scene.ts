/** Helpers for tests of the Anthropic dialect: requests, targets, and assembled replies. */
import { parseEvents } from '../../src/bytes/sse.ts';
import type { ContentEvent, ReplyUsage } from '../../src/canonical/reply.ts';
import type {
  ContentRequest,
  FunctionTool,
  Part,
  TextPart,
  Turn,
} from '../../src/canonical/request.ts';
import { anthropicCapabilities } from '../../src/dialects/anthropic/capabilities.ts';
import { anthropicClient } from '../../src/dialects/anthropic/client/codec.ts';
import { capabilitiesOf } from '../../src/dialects/capabilities.ts';
import type { ContentExchange, UpstreamTarget } from '../../src/dialects/codec.ts';
import { items, type JsonValue, member, parseJson } from '../../src/json.ts';
import type { Capabilities } from '../../src/ports/catalog.ts';
import type { Fixture } from '../support/fixtures.ts';
import { plainRequest, user } from './plain-request.ts';

/** A request with the given members, and one question if no turns are given. */
export function contentRequest(said: Partial<ContentRequest> = {}): ContentRequest {
  return { ...plainRequest, turns: [user(text('Hello?'))], ...said };
}

export function text(words: string, at = 'messages[0].content'): TextPart {
  return { kind: 'text', text: words, at };
}

export function instruction(...parts: readonly Part[]): Turn {
  return { role: 'system', parts };
}

/** A tool call by the model. */
export function call(id: string, name = 'look', json = '{}'): Part {
  return { kind: 'tool_call', id, name, arguments: json, at: `calls.${id}` };
}

/** The result of a tool call. */
export function result(callId: string, words: string, name = 'look'): Part {
  const content = [text(words)];
  return { kind: 'tool_result', callId, name, content, isError: false, at: `results.${callId}` };
}

/** Reasoning signed by Anthropic. */
export function signedThought(words = 'Hm.'): Part {
  const providerData = { provider: 'anthropic', kind: 'signature', data: 'c2ln' } as const;
  return { kind: 'reasoning', text: words, providerData, at: 'thought' };
}

/** An upstream model, by default `claude-opus-5`. */
export function target(upstreamModel = 'claude-opus-5', own: Capabilities = {}): UpstreamTarget {
  let given = 0;
  return {
    upstreamModel,
    capabilities: capabilitiesOf(anthropicCapabilities, upstreamModel, own),
    maxOutputTokens: undefined,
    ids: () => `fresh${++given}`,
  };
}

/** The parsed body that is sent, and the dropped names. */
export function written(
  said: Partial<ContentRequest> = {},
  to: UpstreamTarget = target(),
): { readonly body: JsonValue; readonly dropped: readonly string[] } {
  const { body, dropped } = begun(said, to);
  return { body: parseJson(body) ?? null, dropped };
}

/** An exchange for which the test supplies the reply. */
export function begun(
  said: Partial<ContentRequest> = {},
  to: UpstreamTarget = target(),
): ContentExchange {
  return anthropicClient.begin(contentRequest(said), to);
}

/** The events of a streamed reply, including its end. */
export function streamEvents(
  documents: readonly JsonValue[],
  exchange: ContentExchange = begun(),
): readonly ContentEvent[] {
  const reader = exchange.readStream();
  const events = documents.flatMap((document) => reader.read(document));
  return [...events, ...reader.end()];
}

/** The documents of a recorded stream. */
export function documentsOf(response: Uint8Array): readonly JsonValue[] {
  return parseEvents(response).flatMap(({ data }) =>
    data === undefined ? [] : [parseJson(data) ?? null],
  );
}

/** A reply assembled from its events. */
export interface Folded {
  readonly id: string | undefined;
  readonly text: string;
  readonly thoughts: string;
  readonly providerData: readonly string[];
  readonly calls: readonly { readonly id: string; readonly name: string; readonly json: string }[];
  readonly own: readonly JsonValue[];
  readonly finish: readonly string[];
  readonly usage: ReplyUsage | undefined;
}

export function folded(events: readonly ContentEvent[]): Folded {
  const calls: { id: string; name: string; json: string }[] = [];
  for (const event of events) {
    if (event.type === 'tool_begin') {
      calls.push({ id: event.id, name: event.name, json: event.arguments });
    }
    const open = event.type === 'tool_arguments' ? calls[event.call] : undefined;
    if (open !== undefined && event.type === 'tool_arguments') open.json += event.text;
  }
  return {
    id: events.find((event) => event.type === 'start')?.id,
    text: events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
    thoughts: events.map((event) => (event.type === 'reasoning' ? event.text : '')).join(''),
    providerData: events.flatMap((event) =>
      event.type === 'reasoning' && event.providerData !== undefined
        ? [`${event.providerData.kind}:${event.providerData.data}`]
        : [],
    ),
    calls,
    own: events.flatMap((event) => (event.type === 'provider_specific' ? items(event.value) : [])),
    finish: events.flatMap((event) => (event.type === 'finish' ? [event.reason] : [])),
    usage: events.findLast((event) => event.type === 'usage')?.usage,
  };
}

/** The member at a path of names and indices. */
export function at(
  document: JsonValue | undefined,
  ...path: readonly (string | number)[]
): unknown {
  return path.reduce<JsonValue | undefined>(
    (holder, step) => (typeof step === 'number' ? items(holder)[step] : member(holder, step)),
    document,
  );
}

/** A `content_block_start` event. */
export function opened(index: number, block: JsonValue): JsonValue {
  return { type: 'content_block_start', index, content_block: block };
}

/** A `content_block_delta` event. */
export function changed(index: number, delta: JsonValue): JsonValue {
  return { type: 'content_block_delta', index, delta };
}

/** A recorded whole reply. */
export function json({ response }: Fixture): JsonValue {
  return parseJson(Buffer.from(response).toString('utf8')) ?? null;
}

/** A function with the parameter `city`. */
export const look: FunctionTool = {
  kind: 'function',
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: undefined,
  at: 'tools[0]',
};
