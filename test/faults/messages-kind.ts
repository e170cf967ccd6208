/**
 * Calls of the Messages API in the fault matrix: their request, the replies of a healthy upstream,
 * and what a caller gets of a stream and of an error. It shares no code with the gateway.
 */
import { canaries } from './canaries.ts';
import { relayedEvents } from './relayed-events.ts';

/** The members of a request. */
export function messagesBody(prompt: string, stream: boolean): object {
  const source = { type: 'base64', media_type: 'image/png', data: canaries.base64 };
  const content = [
    { type: 'text', text: prompt },
    { type: 'image', source },
  ];
  return {
    model: 'm',
    max_tokens: 100,
    messages: [{ role: 'user', content }],
    ...(stream ? { stream } : {}),
  };
}

/** The headers that all clients of this API send. */
export function messagesHeaders(key: string): Readonly<Record<string, string>> {
  return { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
}

function messageOf(members: object): object {
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
  return { ...head, stop_sequence: null, ...members };
}

/** A whole reply, of 10 and 5 tokens. */
export const wholeMessage: object = messageOf({
  content: [{ type: 'text', text: 'Hi!' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5 },
});

/** An event of a stream, with its name. */
export function messagesEvent(type: string, members: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** The first event. Its output tokens are a start, which the last ones replace. */
export function messageStart(usage: unknown = { input_tokens: 10, output_tokens: 1 }): string {
  const message = messageOf({ content: [], stop_reason: null, usage });
  return messagesEvent('message_start', { message });
}

/** The event that states why the reply ended, and its usage. */
export function messageDelta(
  usage: unknown = { output_tokens: 5 },
  reason: string = 'end_turn',
): string {
  const delta = { stop_reason: reason, stop_sequence: null };
  return messagesEvent('message_delta', { delta, usage });
}

/** The last event. */
export const messageStop: string = messagesEvent('message_stop');

const textDelta = (text: string): string =>
  messagesEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });

/** The events of the beginning that come after the first one; none has content. */
const restOfOpening: readonly string[] = [
  messagesEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  messagesEvent('ping'),
];

/** The events before any content. */
export const openingEvents: readonly string[] = [messageStart(), ...restOfOpening];

/** The events of the content. */
export const contentEvents: readonly string[] = [
  textDelta('Once'),
  textDelta('!'),
  messagesEvent('content_block_stop', { index: 0 }),
];

/** The events of a stream, with other usage where it is given. */
export function messagesStream(first?: unknown, last?: unknown): readonly string[] {
  return [messageStart(first), ...restOfOpening, ...contentEvents, messageDelta(last), messageStop];
}

/** The events of a stream. */
export const messagesEvents: readonly string[] = messagesStream();

/** The text of a stream as its caller gets it: each event with its name. */
export function relayedMessages(text: string): string {
  return relayedEvents(text, { type: /"type": ?"(\w+)"/, areRequired: true });
}

/** An error document, whose clients show the message only if both types are there. */
const errorForm = new RegExp(
  [
    String.raw`^\{"type":"error","error":\{"type":"(\w+)","message":"[^\n]+"`,
    String.raw`(?:,"details":\{"error_code":"\w+"\})?\},"request_id":"([^"]+)"\}$`,
  ].join(''),
);

/** The type of an error document in its exact form, with this request's id, or what is wrong. */
export function messagesErrorIn(text: string, requestId: unknown): string {
  const [, type, id] = errorForm.exec(text) ?? [];
  return type !== undefined && id === requestId ? type : `malformed: ${text}`;
}

/** The type of the error that ends a stream; undefined if it does not end with one. */
export function messagesErrorAtEnd(text: string, requestId: unknown): string | undefined {
  const event = /^(?:[\s\S]*\n\n)?event: error\ndata: ([^\n]*)\n\n$/.exec(text)?.[1];
  return event === undefined ? undefined : messagesErrorIn(event, requestId);
}
