/**
 * The kinds of calls of the fault matrix: each API of the gateway's tables, and its streams. All
 * that the tables don't say is a row in `samples`, which the compiler asks for.
 */
import { apiCalls, type FurtherRow } from '../../src/apis.ts';
import { type DialectName, dialectNames } from '../../src/ports/models/capabilities.ts';
import type { Channel, Model, ProtocolName } from '../../src/ports/models/catalog.ts';
import type { Protocol } from '../../src/protocols/protocol.ts';
import { protocols } from '../../src/protocols/table.ts';
import { canaries } from './canaries.ts';
import { batchReply, embedContentReply, embeddingsReply } from './embeddings-kinds.ts';
import { messagesBody, messagesEvents, messagesHeaders, wholeMessage } from './messages-kind.ts';
import { responsesBody, responsesEvents, wholeResponse } from './responses-kind.ts';

/** The request of an API, and the small replies of a healthy upstream: 10 and 5 tokens. */
interface Sample {
  /** The members of a request with this prompt, and with an image where the API has images. */
  readonly body: (prompt: string, stream: boolean) => object;
  readonly reply: object;
  readonly events?: readonly string[];
}

const { base64 } = canaries;
const textPart = (prompt: string): object => ({ parts: [{ text: `${prompt} ${base64}` }] });
const chatUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const chatEvents: readonly string[] = [
  framed({ choices: [{ index: 0, delta: { content: 'Once' }, finish_reason: null }] }),
  framed({ choices: [{ index: 0, delta: { content: '!' }, finish_reason: 'stop' }] }),
  framed({ choices: [], usage: chatUsage }),
  'data: [DONE]\n\n',
];

const samples = {
  chat: {
    body: (prompt, stream) => {
      const image_url = { url: `data:image/png;base64,${base64}` };
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url },
      ];
      const messages = [{ role: 'user', content }];
      return { model: 'm', messages, ...(stream ? { stream } : {}) };
    },
    reply: {
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' },
      ],
      usage: chatUsage,
    },
    events: chatEvents,
  },
  images: {
    body: (prompt) => ({ model: 'm', prompt: `${prompt} ${base64}` }),
    reply: { created: 1, data: [{ b64_json: base64 }] },
  },
  native: {
    body: (prompt) => {
      const inlineData = { mimeType: 'image/png', data: base64 };
      return { contents: [{ role: 'user', parts: [{ text: prompt }, { inlineData }] }] };
    },
    reply: candidate('Hi!', 'STOP'),
    events: [framed(candidate('Once')), framed(candidate('!', 'STOP'))],
  },
  responses: { body: responsesBody, reply: wholeResponse, events: responsesEvents },
  messages: { body: messagesBody, reply: wholeMessage, events: messagesEvents },
  embeddings: {
    body: (prompt) => ({ model: 'm', input: [`${prompt} ${base64}`], encoding_format: 'base64' }),
    reply: embeddingsReply,
  },
  embedContent: {
    body: (prompt) => ({ content: textPart(prompt) }),
    reply: embedContentReply,
  },
  batchEmbedContents: {
    body: (prompt) => ({ requests: [{ content: textPart(prompt) }] }),
    reply: batchReply(embedContentReply),
  },
} as const satisfies Readonly<Record<ProtocolName | FurtherRow, Sample>>;

type Api = keyof typeof samples;
type StreamApi = {
  [Name in Api]: (typeof samples)[Name] extends { readonly events: object } ? Name : never;
}[Api];

/** The kinds with a stream; Gemini's is the one of server-sent events. */
export type StreamKind = `${StreamApi}_stream`;
export type Kind = Api | StreamKind;

const streamOf = (api: StreamApi): StreamKind => `${api}_stream`;

/** The kinds with a whole reply. */
export const wholeKinds: readonly Api[] = Object.keys(protocols).filter(isApi);
export const streamKinds: readonly StreamKind[] = wholeKinds.filter(hasStream).map(streamOf);
export const kinds: readonly Kind[] = wholeKinds.flatMap((api) =>
  hasStream(api) ? [api, streamOf(api)] : [api],
);
/** The kinds that change nothing upstream, such as vectors, and are tried again at any point. */
export const embeddingKinds: readonly Api[] = wholeKinds.filter(
  (kind) => protocolOf(kind).operation.isRepeatable,
);

function isApi(name: string): name is Api {
  return name in samples;
}

function hasStream(api: Api): api is StreamApi {
  return 'events' in samples[api];
}

/** Whether replies of a kind are streams. */
export function isStream(kind: Kind): kind is StreamKind {
  return streamKinds.some((stream) => stream === kind);
}

/** The API of a kind, which is the kind of its whole replies. */
export function apiOf(kind: Kind): Api {
  const api = kind.replace(/_stream$/, '');
  if (isApi(api)) return api;
  throw new Error(`${kind} is no kind.`);
}

export function protocolOf(kind: Kind): Protocol {
  return protocols[apiOf(kind)];
}

/** The dialect to which a kind is relayed. */
export function dialectOf(kind: Kind): DialectName {
  const { dialect } = protocolOf(kind);
  const known = dialectNames.find((name) => name === dialect);
  if (known === undefined) throw new Error(`${dialect} is no dialect.`);
  return known;
}

/** One request of a caller. */
export interface CallerRequest {
  readonly path: string;
  readonly body: string;
}

/** The request of a kind, with canaries as prompt and image; padded to `promptBytes`. */
export function requestOf(kind: Kind, promptBytes = 0): CallerRequest {
  const prompt = canaries.prompt.padEnd(promptBytes, ' and so on');
  const body = JSON.stringify(samples[apiOf(kind)].body(prompt, isStream(kind)));
  return { path: pathOf(kind), body };
}

function pathOf(kind: Kind): string {
  const { operation, paths, methods } = apiCalls[apiOf(kind)];
  const path = Object.keys(paths).find((name) => paths[name] === operation);
  if (path !== undefined) return path;
  const search = isStream(kind) ? 'alt=sse' : '';
  const framing = isStream(kind) ? 'sse' : 'json';
  const isAsked = (name: string): boolean =>
    methods[name]?.operation === operation && methods[name].framing(search) === framing;
  const method = Object.keys(methods).find(isAsked);
  return `/v1beta/models/m:${method}${isStream(kind) ? `?${search}` : ''}`;
}

/** Whether a kind uses Google's API. */
export function isNative(kind: Kind): boolean {
  return errorFormOf(kind) === 'google';
}

/** Whether a kind uses the Messages API. */
export function isMessages(kind: Kind): boolean {
  return errorFormOf(kind) === 'anthropic';
}

/** The providers whose form the errors of an API have. */
export type ErrorForm = 'openai' | 'google' | 'anthropic';

/** The form of the errors that a caller of a kind gets, and that its upstream sends. */
export function errorFormOf(kind: Kind): ErrorForm {
  const dialect = dialectOf(kind);
  return dialect === 'gemini' ? 'google' : dialect;
}

/** The headers of a kind's API that carry the key. */
export function keyHeadersOf(kind: Kind, key: string): Readonly<Record<string, string>> {
  if (isMessages(kind)) return messagesHeaders(key);
  return isNative(kind) ? { 'x-vendor-api-key': key } : { authorization: `Bearer ${key}` };
}

/** What a channel needs so that a kind is relayed to it. */
export function relayingOf(kind: Kind): Pick<Channel, 'dialect' | 'capabilities'> {
  const dialect = dialectOf(kind);
  const { relayCapability } = protocolOf(kind);
  return relayCapability === undefined
    ? { dialect }
    : { dialect, capabilities: { [relayCapability]: true } };
}

/** The content type of a kind's reply. */
export function typeOf(kind: Kind): string {
  return isStream(kind) ? 'text/event-stream' : 'application/json';
}

/** 1 nano a prompt token, 2 a completion token; 500 an image. Vectors do not count as tokens. */
export function priceOf(kind: Kind): Model['price'] {
  if (kind === 'images') {
    return { per: 'image', rows: [{ size: '1024x1024', nanos: nanosOf(kind) }] };
  }
  const output = embeddingKinds.some((one) => one === kind) ? {} : { output: 2_000_000n };
  return { per: 'token', rates: { input: 1_000_000n, ...output } };
}

/**
 * The cost of a whole reply by its own usage: 10 and 5 tokens, one image, or 10 tokens of which
 * vectors are made.
 */
export function nanosOf(kind: Kind): bigint {
  const { makesImages, hasOutputTokens } = protocolOf(kind).operation;
  if (makesImages) return 500n;
  return hasOutputTokens ? 20n : 10n;
}

/** The events of a kind that has a stream. */
export function eventsFor(kind: Kind): readonly string[] {
  const api = apiOf(kind);
  if (hasStream(api)) return samples[api].events;
  throw new Error(`${kind} has no stream.`);
}

/** The events up to the first content, and those after it. */
export function dividedEvents(kind: Kind): readonly [beginning: string, rest: readonly string[]] {
  const list = eventsFor(kind);
  const at = list.findIndex((event) => event.includes('Once')) + 1;
  return [list.slice(0, at).join(''), list.slice(at)];
}

/** The whole reply, as an upstream sends it. */
export function replyOf(kind: Kind): string {
  return isStream(kind) ? eventsFor(kind).join('') : JSON.stringify(samples[apiOf(kind)].reply);
}

/** The same as callers get it: without the usage that they did not request. */
export function relayedReply(kind: Kind): string {
  return kind === 'chat_stream' ? replyOf(kind).replace(chatEvents[2] ?? '', '') : replyOf(kind);
}

/** A server-sent event. */
export function framed(document: object): string {
  return `data: ${JSON.stringify(document)}\n\n`;
}

function candidate(text: string, finishReason?: string): object {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason, index: 0 }],
    ...(finishReason === undefined
      ? {}
      : {
          usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
        }),
  };
}
