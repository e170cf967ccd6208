/** Replies with a usage object, whole and streamed, of each upstream API; and calls of each API. */

import type { Vendor } from '../../../src/dialects/vendors.ts';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { Usage } from '../../../src/money.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import { json, sse } from '../../relay/streams.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  embeddings,
  images,
  messages,
  native,
  nativeEmbeddings,
  responses,
  wholeChat,
  wholeMessage,
  wholeResponse,
} from '../../support/any-model-gateway.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

/** The APIs of upstreams. */
export type UpstreamApi =
  | 'chat'
  | 'responses'
  | 'messages'
  | 'native'
  | 'embeddings'
  | 'nativeEmbeddings'
  | 'images';

/** The APIs whose calls are translated to each other's upstreams. */
export const contentApis = ['chat', 'messages', 'native', 'responses'] as const;

/** Where a chat reply holds its usage; `finish`: a stream has it beside the last choice. */
export type UsagePlace = 'top' | 'finish' | 'x_groq' | 'choice';

/** One provider's example. */
export interface UsageExample {
  readonly provider: string;
  /** The page that has it, or the recorded reply in test/fixtures. */
  readonly source: string;
  readonly api: UpstreamApi;
  /** Whose preset its channel has. */
  readonly preset?: Vendor;
  readonly usage: JsonObject;
  readonly place?: UsagePlace;
  readonly expected: Partial<Usage>;
  /** The cost that it states, in nanos. */
  readonly costNanos?: bigint;
}

/** A reply's text. */
export interface UsageReply {
  readonly text: string;
  readonly isStream: boolean;
}

type ReplyMaker = (usage: JsonObject, isStream: boolean, place: UsagePlace) => UsageReply;

const framed = (events: readonly JsonObject[]): string =>
  events.map((event) => `data: ${textOf(event)}\n\n`).join('');

const named = (events: readonly JsonObject[]): string =>
  events.map((event) => `event: ${String(event.type)}\ndata: ${textOf(event)}\n\n`).join('');

/** Raw JSON text of a number, which `JSON.stringify` could only print as a double. */
export const rawNumber = (digits: string): string => `#${digits}#`;

function textOf(value: JsonValue): string {
  return JSON.stringify(value).replaceAll(/"#([^"#]*)#"/g, '$1');
}

function chatReply(usage: JsonObject, isStream: boolean, place: UsagePlace): UsageReply {
  const head = { id: 'c1', created: 1, model: 'm' };
  const top = { top: { usage }, finish: { usage }, x_groq: { x_groq: { usage } }, choice: {} }[
    place
  ];
  const inside = place === 'choice' ? { usage } : {};
  const end = { index: 0, finish_reason: 'stop', ...inside };
  if (!isStream) {
    const message = { role: 'assistant', content: 'Hi' };
    const reply = { ...head, object: 'chat.completion', choices: [{ ...end, message }], ...top };
    return { text: textOf(reply), isStream };
  }
  const chunk = { ...head, object: 'chat.completion.chunk' };
  const delta = { role: 'assistant', content: 'Hi' };
  const choices = [{ index: 0, delta, finish_reason: null }];
  const last = { ...chunk, choices: [{ ...end, delta: {} }] };
  const events = place === 'top' ? [last, { ...chunk, choices: [], usage }] : [{ ...last, ...top }];
  return { text: `${framed([{ ...chunk, choices }, ...events])}data: [DONE]\n\n`, isStream };
}

function responsesReply(usage: JsonObject, isStream: boolean): UsageReply {
  const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' };
  const content = [{ type: 'output_text', text: 'Hi', annotations: [] }];
  const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
  const reply = { ...head, status: 'completed', output: [item], usage };
  if (!isStream) return { text: textOf(reply), isStream };
  const events = [
    { type: 'response.created', response: { ...head, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta: 'Hi' },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: reply },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
  return { text: named(events), isStream };
}

function messageReply(usage: JsonObject, isStream: boolean): UsageReply {
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
  const content = [{ type: 'text', text: 'Hi' }];
  if (!isStream) {
    return { text: textOf({ ...head, content, stop_reason: 'end_turn', usage }), isStream };
  }
  const start = { input_tokens: 1, output_tokens: 1 };
  const events = [
    { type: 'message_start', message: { ...head, content: [], usage: start } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
  return { text: named(events), isStream };
}

function nativeReply(usageMetadata: JsonObject, isStream: boolean): UsageReply {
  const content = { role: 'model', parts: [{ text: 'Hi' }] };
  const reply = { candidates: [{ content, finishReason: 'STOP' }], usageMetadata };
  return { text: isStream ? framed([reply]) : textOf(reply), isStream };
}

const makers: Readonly<Record<UpstreamApi, ReplyMaker>> = {
  chat: chatReply,
  responses: responsesReply,
  messages: messageReply,
  native: nativeReply,
  embeddings: (usage) => {
    const data = [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }];
    return { text: textOf({ object: 'list', data, model: 'm', usage }), isStream: false };
  },
  nativeEmbeddings: (usageMetadata) => {
    const embeddings = [{ values: [0.1] }, { values: [0.2] }];
    return { text: textOf({ embeddings, usageMetadata }), isStream: false };
  },
  images: (usage) => ({
    text: textOf({ created: 1, data: [{ b64_json: 'aGk=' }], usage }),
    isStream: false,
  }),
};

const dialects = {
  chat: 'openai',
  responses: 'openai',
  messages: 'anthropic',
  native: 'gemini',
  embeddings: 'openai',
  nativeEmbeddings: 'gemini',
  images: 'openai',
} as const;

function requestOf(caller: UpstreamApi, isStream: boolean): CallerRequest {
  switch (caller) {
    case 'chat':
      return isStream ? chat() : chat(wholeChat);
    case 'messages':
      return isStream ? messages() : messages(wholeMessage);
    case 'responses':
      return isStream ? responses() : responses(wholeResponse);
    case 'native':
      return native(isStream ? 'sse' : 'json');
    case 'embeddings':
      return embeddings();
    case 'nativeEmbeddings':
      return nativeEmbeddings();
    case 'images':
      return images();
  }
}

/** A call whose upstream answers with this usage. */
export interface UsageCall {
  readonly api: UpstreamApi;
  readonly caller: UpstreamApi;
  readonly usage: JsonObject;
  readonly isStream: boolean;
  readonly place?: UsagePlace;
  readonly channel?: Partial<Channel>;
  readonly model?: Partial<Model>;
}

/** What a call left. */
export interface UsageOutcome {
  readonly record: UsageRecord;
  readonly anomalies: readonly GatewayEvent[];
  readonly unknown: readonly GatewayEvent[];
}

/** Makes calls at one gateway, each of which is answered with the usage. */
export async function callsWith(
  { api, caller, usage, isStream, place = 'top', channel, model }: UsageCall,
  count = 1,
): Promise<UsageOutcome> {
  const { text, isStream: streams } = makers[api](usage, isStream, place);
  const reply = streams ? sse(text) : json(text);
  const gateway = anyModelGateway({
    upstream: scriptedUpstream(reply),
    channel: {
      dialect: dialects[api],
      capabilities: { responses: api === 'responses' },
      ...channel,
    },
    model: { maxOutputTokens: 1_000_000, ...model },
  });
  for (let call = 0; call < count; call += 1) await gateway.call(requestOf(caller, isStream));
  const record = gateway.records.at(-1);
  if (record === undefined) throw new Error('The call left no record.');
  const ofType = (wanted: GatewayEvent['type']): readonly GatewayEvent[] =>
    gateway.events.filter(({ type }) => type === wanted);
  return { record, anomalies: ofType('usage_anomaly'), unknown: ofType('unknown_usage') };
}
