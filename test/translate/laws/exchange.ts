/** Plays recorded replies through the whole gateway, for every pair of dialects that translates. */

import type { Usage } from '../../../src/money.ts';
import type { DialectName } from '../../../src/ports/catalog.ts';
import {
  type Answer,
  type Asked,
  chat,
  chatWithUsage,
  native,
  type TestGateway,
  testGateway,
  wholeChat,
} from '../../support/call-gateway.ts';
import { type Fixture, fixtures } from '../../support/fixtures.ts';
import { type Played, playedUpstream } from '../../support/played-upstream.ts';
import { answered, assembled, type Protocol } from './caller-side.ts';
import { documentsOf, framed } from './oracle.ts';
import { argumentsOf } from './pieces.ts';
import { type Json, record } from './tree.ts';

/** A caller's protocol and an upstream's dialect between which a reply is translated. */
export interface Pair {
  readonly protocol: Protocol;
  readonly dialect: DialectName;
}

/** All there are: the others relay. */
export const pairs: readonly Pair[] = [
  { protocol: 'chat', dialect: 'gemini' },
  { protocol: 'chat', dialect: 'anthropic' },
  { protocol: 'native', dialect: 'openai' },
  { protocol: 'native', dialect: 'anthropic' },
];

/** Who may call an upstream of this dialect and gets a translation. */
export function protocolsOf(dialect: DialectName): readonly Protocol[] {
  return pairs.filter((pair) => pair.dialect === dialect).map(({ protocol }) => protocol);
}

/** A recording with the dialect it is in. */
export interface Recorded {
  readonly name: string;
  readonly dialect: DialectName;
  readonly status: number;
  readonly isStream: boolean;
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** Every recording of a conversation; some of OpenAI’s folder talk to Google. */
export const recordings: readonly Recorded[] = fixtures()
  .filter(({ category }) => category !== 'openai-images')
  .map((recorded) => ({
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

/** The good whole replies. */
export const wholes: readonly Recorded[] = recordings.filter(
  ({ isStream, status }) => !isStream && status === 200,
);

const terminal = /"finish_reason":"|"(?:finish|block)Reason":"|"stop_reason":"|"message_stop"/;

/** The streams, broken ones among them. */
export const streams: readonly Recorded[] = recordings.filter(
  ({ isStream, status }) => isStream && status === 200,
);

/** Those whose every event can be read and is no error, and that say how they ended. */
export const goodStreams: readonly Recorded[] = streams.filter(({ text }) => {
  const documents = documentsOf(text);
  const isRead = documents.every((one) => one !== undefined && record(one).error == null);
  return isRead && documents.some(isLast);
});

/** Whether an event says that the reply, or its only choice, has ended. */
export function isLast(event: unknown): boolean {
  return terminal.test(JSON.stringify(event));
}

/** Each recording with each protocol that it is translated to, as rows of a table of tests. */
export function rows(
  among: readonly Recorded[],
): readonly (readonly [Protocol, string, Recorded])[] {
  return among.flatMap((recorded) =>
    protocolsOf(recorded.dialect).map((protocol) => [protocol, recorded.name, recorded] as const),
  );
}

/** How a caller wants the reply laid out. */
export type Layout = 'json' | 'sse' | 'json_array';

/** The layouts in which a protocol streams. */
export const streamLayouts: Readonly<Record<Protocol, readonly Layout[]>> = {
  chat: ['sse'],
  native: ['sse', 'json_array'],
};

const nativeWithThoughts = JSON.stringify({
  contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  generationConfig: { thinkingConfig: { includeThoughts: true } },
});

/** A plain request for a reply, all of it; a streamed chat wants its figures too. */
export function asking(protocol: Protocol, layout: Layout): Asked {
  if (protocol === 'native') return native(layout, nativeWithThoughts);
  return chat(layout === 'json' ? wholeChat : chatWithUsage);
}

/** What came of a call. */
export interface Outcome {
  readonly answer: Answer;
  readonly gateway: TestGateway;
  /** The body that went upstream, where the call got so far. */
  readonly sent: string;
}

/** Calls a gateway whose upstream speaks the dialect and answers so. */
export async function exchanged(
  dialect: DialectName,
  asked: Asked,
  played: Played,
): Promise<Outcome> {
  const upstream = playedUpstream(played);
  // Two of the recorded vendors count so; of the others a total is the sum.
  const capabilities = { reasoningOutsideCompletion: true };
  const channel = { dialect, upstreamModel: models[dialect], capabilities };
  const gateway = testGateway({ upstream, channel });
  const answer = await gateway.call(asked);
  return { answer, gateway, sent: Buffer.concat(upstream.requests[0]?.body ?? []).toString() };
}

/** Models that take all that their dialect has. */
const models: Readonly<Record<DialectName, string>> = {
  openai: 'gpt-4.1',
  gemini: 'gemini-3-pro-preview',
  anthropic: 'claude-sonnet-4-5',
};

/** A streamed answer in these chunks. */
export function eventStream(...chunks: readonly (Uint8Array | string)[]): Played {
  return { headers: { 'content-type': 'text/event-stream; charset=utf-8' }, chunks };
}

/** A whole answer. */
export function document(...chunks: readonly (Uint8Array | string)[]): Played {
  return { headers: { 'content-type': 'application/json' }, chunks };
}

/** A reply that was translated, put together. */
export interface Translated extends Outcome {
  readonly whole: Json;
  /** The same without what may differ from call to call, or between two spellings of JSON. */
  readonly plain: Json;
  readonly usage: Usage | undefined;
}

/** Calls, and assembles what came. */
export async function translated(
  { protocol, dialect }: Pair,
  layout: Layout,
  played: Played,
): Promise<Translated> {
  const outcome = await exchanged(dialect, asking(protocol, layout), played);
  const { answer, gateway } = outcome;
  const documents = answered(answer.text, layout !== 'json');
  const whole = answer.status === 200 ? assembled(protocol, documents) : record(documents[0]);
  return { ...outcome, whole, plain: plainly(whole), usage: gateway.records[0]?.usage };
}

/** Documents as the stream of their dialect, all of it in one chunk. */
export function streamOf(dialect: DialectName, documents: readonly Json[]): Played {
  return eventStream(framed(dialect, documents).join(''));
}

function plainly(whole: Json): Json {
  const spelling = (name: string, value: unknown): unknown =>
    name === 'arguments' ? argumentsOf(String(value)) : value;
  return record(JSON.parse(maskedIds(JSON.stringify(whole)), spelling));
}

/** The text without ids that the gateway may have made up. */
export function maskedIds(text: string): string {
  return text
    .replace(/"call_[0-9A-Za-z]{24}"/g, '"call_"')
    .replace(/"((?:audio-)?(?:chatcmpl-)?)req_[0-9A-Za-z_-]+"/g, '"$1req"');
}
