/** The requests of the fault matrix, and the small replies of a healthy upstream. */
import type { DialectName } from '../../src/ports/capabilities.ts';
import type { Model, ProtocolName } from '../../src/ports/catalog.ts';
import { canaries } from './canaries.ts';
import {
  embedContentBody,
  embedContentReply,
  embeddingsBody,
  embeddingsReply,
} from './embeddings-kinds.ts';
import { messagesBody, messagesEvents, messagesHeaders, wholeMessage } from './messages-kind.ts';
import { responsesBody, responsesEvents, wholeResponse } from './responses-kind.ts';
import { embeddingKinds, isStream, type Kind, type StreamKind } from './row.ts';

/** One request of a caller. */
export interface CallerRequest {
  readonly path: string;
  readonly body: string;
}

/** The request of a kind, with canaries as prompt and image; padded to `promptBytes`. */
export function requestOf(kind: Kind, promptBytes = 0): CallerRequest {
  const prompt = canaries.prompt.padEnd(promptBytes, ' and so on');
  const body = JSON.stringify(bodyOf(kind, prompt));
  switch (kind) {
    case 'image':
      return { path: '/v1/images/generations', body };
    case 'native':
      return { path: '/v1beta/models/m:generateContent', body };
    case 'native_stream':
      return { path: '/v1beta/models/m:streamGenerateContent?alt=sse', body };
    case 'responses':
    case 'responses_stream':
      return { path: '/v1/responses', body };
    case 'messages':
    case 'messages_stream':
      return { path: '/v1/messages', body };
    case 'embeddings':
      return { path: '/v1/embeddings', body };
    case 'native_embeddings':
      return { path: '/v1beta/models/m:embedContent', body };
    default:
      return { path: '/v1/chat/completions', body };
  }
}

function bodyOf(kind: Kind, prompt: string): object {
  const { base64 } = canaries;
  switch (kind) {
    case 'image':
      return { model: 'm', prompt: `${prompt} ${base64}` };
    case 'native':
    case 'native_stream':
      return {
        contents: [
          {
            role: 'user',
            parts: [{ text: prompt }, { inlineData: { mimeType: 'image/png', data: base64 } }],
          },
        ],
      };
    case 'responses':
    case 'responses_stream':
      return responsesBody(prompt, isStream(kind));
    case 'messages':
    case 'messages_stream':
      return messagesBody(prompt, isStream(kind));
    case 'embeddings':
      return embeddingsBody(`${prompt} ${base64}`);
    case 'native_embeddings':
      return embedContentBody(`${prompt} ${base64}`);
    default: {
      const image_url = { url: `data:image/png;base64,${base64}` };
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url },
      ];
      return {
        model: 'm',
        messages: [{ role: 'user', content }],
        ...(kind === 'chat_stream' ? { stream: true } : {}),
      };
    }
  }
}

/** Whether a kind uses Google's API. */
export function isNative(kind: Kind): boolean {
  return kind === 'native' || kind === 'native_stream' || kind === 'native_embeddings';
}

/** Whether a kind uses the Responses API. */
export function isResponses(kind: Kind): boolean {
  return kind === 'responses' || kind === 'responses_stream';
}

/** Whether a kind uses the Messages API. */
export function isMessages(kind: Kind): boolean {
  return kind === 'messages' || kind === 'messages_stream';
}

/** The providers whose form the errors of an API have. */
export type ErrorForm = 'openai' | 'google' | 'anthropic';

/** The form of the errors that a caller of a kind gets, and that its upstream sends. */
export function errorFormOf(kind: Kind): ErrorForm {
  if (isMessages(kind)) return 'anthropic';
  return isNative(kind) ? 'google' : 'openai';
}

/** The headers of a kind's API that carry the key. */
export function keyHeadersOf(kind: Kind, key: string): Readonly<Record<string, string>> {
  if (isMessages(kind)) return messagesHeaders(key);
  return isNative(kind) ? { 'x-vendor-api-key': key } : { authorization: `Bearer ${key}` };
}

/** The API of a kind. */
export function protocolOf(kind: Kind): ProtocolName {
  if (kind === 'image') return 'images';
  if (isResponses(kind)) return 'responses';
  if (isMessages(kind)) return 'messages';
  if (embeddingKinds.includes(kind)) return 'embeddings';
  return isNative(kind) ? 'native' : 'chat';
}

/** The dialect to which a kind is relayed. */
export function dialectOf(kind: Kind): DialectName {
  if (isMessages(kind)) return 'anthropic';
  return isNative(kind) ? 'gemini' : 'openai';
}

/** The content type of a kind's reply. */
export function typeOf(kind: Kind): string {
  return isStream(kind) ? 'text/event-stream' : 'application/json';
}

/** 1 nano a prompt token, 2 a completion token; 500 an image. Vectors do not count as tokens. */
export function priceOf(kind: Kind): Model['price'] {
  if (kind === 'image') {
    return { per: 'image', rows: [{ size: '1024x1024', nanos: usageNanos.image }] };
  }
  const output = embeddingKinds.includes(kind) ? {} : { output: 2_000_000n };
  return { per: 'token', rates: { input: 1_000_000n, ...output } };
}

/**
 * The cost of a whole reply by its own usage: 10 and 5 tokens, one image, or 10 tokens of which
 * vectors are made.
 */
export const usageNanos: Readonly<Record<Kind, bigint>> = {
  chat: 20n,
  chat_stream: 20n,
  image: 500n,
  native: 20n,
  native_stream: 20n,
  responses: 20n,
  responses_stream: 20n,
  messages: 20n,
  messages_stream: 20n,
  embeddings: 10n,
  native_embeddings: 10n,
};

const firstChunk = { choices: [{ index: 0, delta: { content: 'Once' }, finish_reason: null }] };
const lastChunk = { choices: [{ index: 0, delta: { content: '!' }, finish_reason: 'stop' }] };
const usageChunk = {
  choices: [],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

/** The events of each kind of stream. */
export const events: Readonly<Record<StreamKind, readonly string[]>> = {
  chat_stream: [framed(firstChunk), framed(lastChunk), framed(usageChunk), 'data: [DONE]\n\n'],
  native_stream: [framed(candidate('Once')), framed(candidate('!', 'STOP'))],
  responses_stream: responsesEvents,
  messages_stream: messagesEvents,
};

/** The events of a kind that has a stream. */
export function eventsFor(kind: Kind): readonly string[] {
  if (isStream(kind)) return events[kind];
  throw new Error(`${kind} has no stream.`);
}

/** The events up to the first content, and those after it. */
export function dividedEvents(kind: Kind): readonly [beginning: string, rest: readonly string[]] {
  const list = eventsFor(kind);
  const at = list.findIndex((event) => event.includes('Once')) + 1;
  return [list.slice(0, at).join(''), list.slice(at)];
}

/** Whole replies, as an upstream sends them. */
export const replies: Readonly<Record<Kind, string>> = {
  chat: JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }],
    usage: usageChunk.usage,
  }),
  chat_stream: events.chat_stream.join(''),
  image: JSON.stringify({ created: 1, data: [{ b64_json: canaries.base64 }] }),
  native: JSON.stringify(candidate('Hi!', 'STOP')),
  native_stream: events.native_stream.join(''),
  responses: JSON.stringify(wholeResponse),
  responses_stream: responsesEvents.join(''),
  messages: JSON.stringify(wholeMessage),
  messages_stream: messagesEvents.join(''),
  embeddings: JSON.stringify(embeddingsReply),
  native_embeddings: JSON.stringify(embedContentReply),
};

/** The same as callers get them: without the usage that they did not request. */
export function relayedReply(kind: Kind): string {
  return kind === 'chat_stream' ? replies[kind].replace(framed(usageChunk), '') : replies[kind];
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
