/**
 * Runs recorded replies through the whole gateway, for every pair of protocol and dialect that is
 * translated.
 */

import type { Usage } from '../../../src/money.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import {
  type AnyModelGateway,
  anyModelGateway,
  type CallerRequest,
  chat,
  chatWithUsage,
  messages,
  native,
  responses,
  wholeChat,
} from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { type Fixture, fixtures } from '../../support/recorded/fixtures.ts';
import { type ScriptedReply, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { answered, assembled, type Protocol } from './caller-side.ts';
import { documentsOf, framed } from './oracle.ts';
import { argumentsOf } from './pieces.ts';
import { type Json, record } from './tree.ts';

/** A protocol and a dialect between which replies are translated. */
export interface Pair {
  readonly protocol: Protocol;
  readonly dialect: DialectName;
}

/** All such pairs; the others are relayed. */
export const pairs: readonly Pair[] = [
  { protocol: 'chat', dialect: 'gemini' },
  { protocol: 'chat', dialect: 'anthropic' },
  { protocol: 'native', dialect: 'openai' },
  { protocol: 'native', dialect: 'anthropic' },
  { protocol: 'responses', dialect: 'openai' },
  { protocol: 'responses', dialect: 'gemini' },
  { protocol: 'responses', dialect: 'anthropic' },
  { protocol: 'messages', dialect: 'openai' },
  { protocol: 'messages', dialect: 'gemini' },
];

/** The protocols that are translated for upstreams of this dialect. */
export function protocolsOf(dialect: DialectName): readonly Protocol[] {
  return pairs.filter((pair) => pair.dialect === dialect).map(({ protocol }) => protocol);
}

/** A recording and its dialect. */
export interface Recorded {
  readonly name: string;
  readonly dialect: DialectName;
  readonly status: number;
  readonly isStream: boolean;
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** Every recording of a conversation; some of OpenAI’s folder talk to Google. */
export const recordings: readonly Recorded[] = fixtures(
  'anthropic',
  'gemini',
  'openai-chat',
  'openai-compat',
).map((recorded) => ({
  name: recorded.name,
  dialect: dialectOf(recorded),
  status: recorded.status,
  isStream: recorded.streamed,
  bytes: recorded.response,
  text: recorded.response.toString(),
}));

function dialectOf({ category, url }: Fixture): DialectName {
  if (category === 'anthropic') return 'anthropic';
  return category === 'gemini' || url.includes('generateContent') ? 'gemini' : 'openai';
}

/** The successful whole replies. */
export const wholes: readonly Recorded[] = recordings.filter(
  ({ isStream, status }) => !isStream && status === 200,
);

const terminal = /"finish_reason":"|"(?:finish|block)Reason":"|"stop_reason":"|"message_stop"/;

/** The streams, including broken ones. */
export const streams: readonly Recorded[] = recordings.filter(
  ({ isStream, status }) => isStream && status === 200,
);

/** The streams without errors or unreadable events, and with a finish. */
export const goodStreams: readonly Recorded[] = streams.filter(({ text }) => {
  const documents = documentsOf(text);
  const isRead = documents.every((one) => one !== undefined && record(one).error == null);
  return isRead && documents.some(isLast);
});

/** Whether an event ends the reply or its only choice. */
export function isLast(event: unknown): boolean {
  return terminal.test(JSON.stringify(event));
}

/** Each recording with each protocol to which it is translated, as rows of a test table. */
export function rows(
  among: readonly Recorded[],
): readonly (readonly [Protocol, string, Recorded])[] {
  return among.flatMap((recorded) =>
    protocolsOf(recorded.dialect).map((protocol) => [protocol, recorded.name, recorded] as const),
  );
}

/** The form of reply that a caller requests. */
export type Layout = 'json' | 'sse' | 'json_array';

/** The forms in which a protocol streams. */
export const streamLayouts: Readonly<Record<Protocol, readonly Layout[]>> = {
  chat: ['sse'],
  native: ['sse', 'json_array'],
  responses: ['sse'],
  messages: ['sse'],
};

const nativeWithThoughts = JSON.stringify({
  contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  generationConfig: { thinkingConfig: { includeThoughts: true } },
});

/** A plain request; a streamed chat also asks for usage. */
export function asking(protocol: Protocol, layout: Layout): CallerRequest {
  if (protocol === 'native') return native(layout, nativeWithThoughts);
  if (protocol === 'responses') {
    const wants = { reasoning: { summary: 'auto' }, stream: layout !== 'json' };
    return responses(JSON.stringify({ model: 'm', input: 'hi', ...wants }));
  }
  if (protocol === 'messages') {
    const wants = { thinking: { type: 'adaptive' }, max_tokens: 1_000, stream: layout !== 'json' };
    const hello = [{ role: 'user', content: 'hi' }];
    const body = JSON.stringify({ model: 'm', messages: hello, ...wants });
    // The prompt is estimated from the body, which has one length.
    return messages(body.replace('"stream":true', '"stream": true'));
  }
  return chat(layout === 'json' ? wholeChat : chatWithUsage);
}

/** The result of a call. */
export interface Outcome {
  readonly answer: CallerReply;
  readonly gateway: AnyModelGateway;
  /** The body sent upstream, if the call got that far. */
  readonly sent: string;
}

/** Calls a gateway whose upstream replies as given. */
export async function exchanged(
  dialect: DialectName,
  request: CallerRequest,
  scripted: ScriptedReply,
): Promise<Outcome> {
  const upstream = scriptedUpstream(scripted);
  // Two of the recorded vendors count so; of the others a total is the sum. Without the capability
  // `responses`, the calls of that API are translated to chats.
  const capabilities = { reasoningOutsideCompletion: true, responses: false };
  const channel = { dialect, upstreamModel: models[dialect], capabilities };
  const gateway = anyModelGateway({ upstream, channel });
  const reply = await gateway.call(request);
  return {
    answer: reply,
    gateway,
    sent: Buffer.concat(upstream.requests[0]?.body ?? []).toString(),
  };
}

/** Models that support everything in their dialect. */
const models: Readonly<Record<DialectName, string>> = {
  openai: 'gpt-4.1',
  gemini: 'gemini-3-pro-preview',
  anthropic: 'claude-sonnet-4-5',
};

/** A streamed reply in these chunks. */
export function eventStream(...chunks: readonly (Uint8Array | string)[]): ScriptedReply {
  return { headers: { 'content-type': 'text/event-stream; charset=utf-8' }, chunks };
}

/** A whole reply. */
export function document(...chunks: readonly (Uint8Array | string)[]): ScriptedReply {
  return { headers: { 'content-type': 'application/json' }, chunks };
}

/** A translated and assembled reply. */
export interface Translated extends Outcome {
  readonly whole: Json;
  /** The reply without values that may differ between calls or between spellings of JSON. */
  readonly plain: Json;
  readonly usage: Usage | undefined;
}

/** Calls, and assembles the response. */
export async function translated(
  { protocol, dialect }: Pair,
  layout: Layout,
  scripted: ScriptedReply,
): Promise<Translated> {
  const outcome = await exchanged(dialect, asking(protocol, layout), scripted);
  const { answer: reply, gateway } = outcome;
  const documents = answered(reply.text, layout !== 'json');
  const whole = reply.status === 200 ? assembled(protocol, documents) : record(documents[0]);
  return { ...outcome, whole, plain: plainly(whole), usage: gateway.records[0]?.usage };
}

/** Documents as a stream of their dialect in a single chunk. */
export function streamOf(dialect: DialectName, documents: readonly Json[]): ScriptedReply {
  return eventStream(framed(dialect, documents).join(''));
}

function plainly(whole: Json): Json {
  const spelling = (name: string, value: unknown): unknown =>
    name === 'arguments' ? argumentsOf(String(value)) : value;
  return record(JSON.parse(maskedIds(JSON.stringify(whole)), spelling));
}

/** The text without ids that the gateway may have generated. */
export function maskedIds(text: string): string {
  return text
    .replace(/"(Z3cyO[\w-]+)"/g, (_, sealed: string) => quotedContents(sealed))
    .replace(/"((?:resp|msg|rs|fc|ctc|ig)_tg_)[\w-]+"/g, '"$1"')
    .replace(/"msg_[0-9A-Za-z]{24}"/g, '"msg_"')
    .replace(/"call_[0-9A-Za-z]{24}"/g, '"call_"')
    .replace(/"((?:audio-)?(?:chatcmpl-)?)req_[0-9A-Za-z_-]+"/g, '"$1req"');
}

/** The contents of an envelope, in which the id of a call may be generated. */
function quotedContents(envelope: string): string {
  const inside = Buffer.from(envelope, 'base64').toString();
  return JSON.stringify(inside.replace(/call_[0-9A-Za-z]{24}/g, 'call_'));
}
