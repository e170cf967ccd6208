/** The client codec for Anthropic, and short forms for its tests: parts and assembled replies. */
import type { ContentEvent, ReplyUsage } from '../../../src/canonical/reply.ts';
import type { Part, TextPart, Turn } from '../../../src/canonical/request.ts';
import { anthropicClient } from '../../../src/dialects/anthropic/client/codec.ts';
import { anthropicCapabilities } from '../../../src/dialects/anthropic/dialect.ts';
import { items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { type CodecHarness, codecHarness, textPart } from '../../support/codec.ts';
import { user } from '../../support/plain-request.ts';
import type { Fixture } from '../../support/recorded/fixtures.ts';

const codec = codecHarness({
  codec: anthropicClient,
  capabilities: anthropicCapabilities,
  upstreamModel: 'claude-opus-5',
  newId: (count) => `fresh${count}`,
  request: { turns: [user(text('Hello?'))] },
});

/** A request with the given members, and one question if no turns are given. */
export const contentRequest: CodecHarness['request'] = codec.request;
/** An upstream model, by default `claude-opus-5`. */
export const target: CodecHarness['target'] = codec.target;
/** An exchange for which the test supplies the reply. */
export const begin: CodecHarness['begin'] = codec.begin;
/** The parsed body that is sent, and the dropped names. */
export const written: CodecHarness['written'] = codec.written;
/** The events of a streamed reply, including its end. */
export const streamEvents: CodecHarness['streamEvents'] = codec.streamEvents;

/** A text part of a message. */
export function text(content: string, at = 'messages[0].content'): TextPart {
  return textPart(content, at);
}

/** A turn of the system in the middle of a conversation. */
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
export function signedThought(text = 'Hm.'): Part {
  const providerData = { provider: 'anthropic', kind: 'signature', data: 'c2ln' } as const;
  return { kind: 'reasoning', text, providerData, at: 'thought' };
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

/** Assembles a reply from its events. */
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
