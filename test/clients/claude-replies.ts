/** Replies of Anthropic's API: written by tests, and recorded. */
import { items, type JsonObject, type JsonValue, member } from '../../src/json.ts';
import { type Script, script } from '../../src/testing/providers/scripts.ts';
import { foldedMessage, messagesEvents } from '../support/laws/messages-laws.ts';
import { fixture } from '../support/recorded/fixtures.ts';

const head = {
  id: 'msg_scripted',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5',
} as const;
const usage = { input_tokens: 12, output_tokens: 4 } as const;

/** How a message ends. */
type End = Readonly<Record<'stop_reason' | 'stop_sequence', string | null>> & JsonObject;

/** The end of a complete message. */
const endTurn: End = { stop_reason: 'end_turn', stop_sequence: null };

/** A message of text blocks, whole or as a stream. */
export function claudeText(
  content: readonly TextBlock[],
  streams: boolean,
  end: End = endTurn,
): Script {
  return claudeReply({ ...head, content, ...end, usage }, streams);
}

/** A text, and what it cites. */
export type TextBlock = {
  readonly type: 'text';
  readonly text: string;
  readonly citations?: readonly JsonObject[];
};

/** A message, whole or as a stream. */
export function claudeReply(message: JsonObject, streams: boolean): Script {
  if (!streams) return script.json(200, message);
  const { stop_reason = null, stop_sequence = null } = message;
  const end = { stop_reason, stop_sequence };
  return claudeEvents(items(message.content).flatMap(blockEvents), end, message.usage ?? usage);
}

/** The stream of a message with these events. */
export function claudeEvents(
  events: readonly JsonObject[],
  end: JsonObject,
  total: JsonValue = usage,
): Script {
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null };
  const first = { input_tokens: member(total, 'input_tokens') ?? 0, output_tokens: 1 };
  return named([
    { type: 'message_start', message: { ...message, usage: first } },
    ...events,
    { type: 'message_delta', delta: end, usage: total },
    { type: 'message_stop' },
  ]);
}

/** A text comes in deltas, other blocks whole. */
function blockEvents(block: JsonValue, index: number): readonly JsonObject[] {
  const text = member(block, 'text');
  const citations = items(member(block, 'citations'));
  const empty = { type: 'text', text: '', ...(citations.length > 0 ? { citations: [] } : {}) };
  const deltas = [
    ...(text === undefined ? [] : [{ type: 'text_delta', text }]),
    ...citations.map((citation) => ({ type: 'citations_delta', citation })),
  ];
  return [
    { type: 'content_block_start', index, content_block: text === undefined ? block : empty },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

/** Events whose type stands in the `event` line too. */
export function named(events: readonly JsonObject[]): Script {
  return {
    headers: { 'content-type': 'text/event-stream' },
    chunks: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  };
}

/** A recorded reply: how to play it, and its message. */
export interface RecordedReply {
  readonly script: Script;
  readonly message: JsonObject;
}

/** A recorded reply, by its name in `test/fixtures`. */
export function recordedReply(name: string): RecordedReply {
  const { response, streamed } = fixture(name);
  const written = Buffer.from(response).toString();
  const type = streamed ? 'text/event-stream; charset=utf-8' : 'application/json';
  return {
    script: { headers: { 'content-type': type }, body: response },
    message: streamed ? foldedMessage(messagesEvents(response)) : JSON.parse(written),
  };
}

/** The text of a message. */
export function textOf(message: JsonValue): string {
  return items(member(message, 'content'))
    .map((block) => member(block, 'text') ?? '')
    .join('');
}

/** All values of members of that name, in order. */
export function valuesOf(name: string, value: JsonValue | undefined): readonly JsonValue[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === name ? [inner] : valuesOf(name, inner),
  );
}
