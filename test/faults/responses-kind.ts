/**
 * Calls of the Responses API in the fault matrix: their request, the replies of a healthy upstream,
 * and what a caller gets of a stream. It shares no code with the gateway.
 */
import { canaries } from './canaries.ts';
import { relayedEvents } from './relayed-events.ts';

/** The members of a request. */
export function responsesBody(prompt: string, stream: boolean): object {
  const content = [
    { type: 'input_text', text: prompt },
    { type: 'input_image', image_url: `data:image/png;base64,${canaries.base64}` },
  ];
  return { model: 'm', input: [{ role: 'user', content }], ...(stream ? { stream } : {}) };
}

/** 10 and 5 tokens. */
const responsesUsage: object = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

/** A response object. */
export function responseOf(status: string, members: object = {}): object {
  const head = { id: 'resp_1', object: 'response', created_at: 1, status, model: 'm' };
  return { ...head, error: null, output: [], usage: null, ...members };
}

/** The only item of a reply. */
function messageOf(status: string, text?: string): object {
  const content = text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }];
  return { id: 'msg_1', type: 'message', role: 'assistant', status, content };
}

/** A whole reply. */
export const wholeResponse: object = responseOf('completed', {
  output: [messageOf('completed', 'Hi!')],
  usage: responsesUsage,
});

/** An event of a stream, with its name. */
export function responsesEvent(type: string, number: number, members: object): string {
  const document = { type, sequence_number: number, ...members };
  return `event: ${type}\ndata: ${JSON.stringify(document)}\n\n`;
}

const running = { response: responseOf('in_progress') };
const place = { item_id: 'msg_1', output_index: 0 };

const deltaOf = (number: number, delta: string): string =>
  responsesEvent('response.output_text.delta', number, { ...place, content_index: 0, delta });

/** The events before any content. */
export const openingEvents: readonly string[] = [
  responsesEvent('response.created', 0, running),
  responsesEvent('response.in_progress', 1, running),
  responsesEvent('response.output_item.added', 2, {
    output_index: 0,
    item: messageOf('in_progress'),
  }),
];

/** The events with content. */
export const contentEvents: readonly string[] = [
  deltaOf(3, 'Once'),
  deltaOf(4, '!'),
  responsesEvent('response.output_item.done', 5, {
    output_index: 0,
    item: messageOf('completed', 'Once!'),
  }),
];

/** The last event of a stream, with these members of the response in place of the usual ones. */
export function lastEvent(status: string, members: object = {}): string {
  const output = [messageOf(status === 'completed' ? status : 'incomplete', 'Once!')];
  const response = responseOf(status, { output, usage: responsesUsage, ...members });
  return responsesEvent(`response.${status}`, 6, { response });
}

/** The events of a stream. */
export const responsesEvents: readonly string[] = [
  ...openingEvents,
  ...contentEvents,
  lastEvent('completed'),
];

/** The text of a stream as its caller gets it: an event without a name stays without. */
export function relayedResponses(text: string): string {
  return relayedEvents(text, { type: /"type":"(response\.[\w.]+)"/, areRequired: false });
}

/** A stream that ends with the two events on which clients raise. */
const endingWithError = new RegExp(
  String.raw`^([\s\S]*)event: error\ndata: (\{[^\n]*\})\n\n` +
    String.raw`event: response\.failed\ndata: (\{[^\n]*\})\n\n$`,
);
const nestedError =
  /"error":\{"type":"(?<type>\w+)",(?<members>"code":"(?<code>\w+)","message":"[^\n]+?"),"param"/;

/**
 * The error at the end of a stream, `server_error server_error`; undefined if it does not end with
 * both events in their exact form, flat and nested, with the numbers that follow.
 */
export function responsesErrorAtEnd(text: string): string | undefined {
  const [, before, error, failed] = endingWithError.exec(text) ?? [];
  const { type, code, members } = nestedError.exec(error ?? '')?.groups ?? {};
  if (before === undefined || failed === undefined) return undefined;
  const numbers = [...before.matchAll(/"sequence_number":(\d+)/g)];
  const next = Number(numbers.at(-1)?.[1] ?? -1) + 1;
  const nested = `"error":{"type":"${type}",${members},"param":null}`;
  const flat = `{"type":"error","sequence_number":${next},${members},"param":null,${nested}}`;
  const id = before.includes('"resp_1"') ? 'resp_1' : 'resp_unknown';
  const isFailed = [
    `{"type":"response.failed","sequence_number":${next + 1},"response":{"id":"${id}"`,
    `"status":"failed","error":{${members}}`,
  ].every((part) => failed.includes(part));
  return error === flat && isFailed ? `${type} ${code}` : undefined;
}
