/** Translates documents directly with the codecs, thousands per second. */
import { anthropicServer } from '../../../src/dialects/anthropic/server/codec.ts';
import { capabilitiesOf } from '../../../src/dialects/capabilities.ts';
import type {
  CallerExchange,
  ContentExchange,
  ReplyHead,
  UpstreamTarget,
} from '../../../src/dialects/codec.ts';
import { geminiServer } from '../../../src/dialects/gemini/server/codec.ts';
import { openaiResponsesServer } from '../../../src/dialects/openai/responses/server/codec.ts';
import { openaiServer } from '../../../src/dialects/openai/server/codec.ts';
import { dialects } from '../../../src/dialects/table.ts';
import type { StreamTap } from '../../../src/dialects/taps/tap.ts';
import { translateTap } from '../../../src/dialects/taps/translate-tap.ts';
import { vendorCapabilities } from '../../../src/dialects/vendors.ts';
import { GatewayError } from '../../../src/errors.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../../src/json.ts';
import type { Capabilities, DialectName } from '../../../src/ports/models/capabilities.ts';
import { clientCodecs } from '../../support/codecs.ts';
import type { Protocol } from '../laws/caller-side.ts';
import { strings } from '../laws/tree.ts';

/** The protocol and dialect of a translation. */
export interface Route {
  readonly protocol: Protocol;
  readonly dialect: DialectName;
  readonly model: string;
  readonly own?: Capabilities;
}

/** Every protocol over every other dialect, with models of several generations. */
export const routes: readonly Route[] = [
  { protocol: 'chat', dialect: 'gemini', model: 'gemini-3-pro-preview' },
  { protocol: 'chat', dialect: 'gemini', model: 'gemini-2.5-flash' },
  { protocol: 'chat', dialect: 'gemini', model: 'gemini-1.5-pro' },
  { protocol: 'chat', dialect: 'gemini', model: 'gemma-3-27b' },
  { protocol: 'chat', dialect: 'anthropic', model: 'claude-opus-4-8' },
  { protocol: 'chat', dialect: 'anthropic', model: 'claude-sonnet-4-5' },
  { protocol: 'chat', dialect: 'anthropic', model: 'claude-3-5-haiku' },
  { protocol: 'native', dialect: 'openai', model: 'gpt-5.4' },
  { protocol: 'native', dialect: 'openai', model: 'gpt-4.1' },
  { protocol: 'native', dialect: 'openai', model: 'deepseek', own: vendorCapabilities.deepseek },
  { protocol: 'native', dialect: 'anthropic', model: 'claude-opus-4-8' },
  { protocol: 'native', dialect: 'anthropic', model: 'claude-sonnet-4-5' },
  // The caller's own dialect, where the upstream has chat only.
  { protocol: 'responses', dialect: 'openai', model: 'gpt-5.4' },
  { protocol: 'responses', dialect: 'openai', model: 'gpt-4.1' },
  { protocol: 'responses', dialect: 'openai', model: 'deepseek', own: vendorCapabilities.deepseek },
  { protocol: 'responses', dialect: 'gemini', model: 'gemini-3-pro-preview' },
  { protocol: 'responses', dialect: 'gemini', model: 'gemini-1.5-pro' },
  { protocol: 'responses', dialect: 'anthropic', model: 'claude-opus-4-8' },
  { protocol: 'responses', dialect: 'anthropic', model: 'claude-sonnet-4-5' },
  { protocol: 'messages', dialect: 'openai', model: 'gpt-5.4' },
  { protocol: 'messages', dialect: 'openai', model: 'gpt-4.1' },
  { protocol: 'messages', dialect: 'openai', model: 'deepseek', own: vendorCapabilities.deepseek },
  { protocol: 'messages', dialect: 'gemini', model: 'gemini-3-pro-preview' },
  { protocol: 'messages', dialect: 'gemini', model: 'gemini-1.5-pro' },
];

/** The result of a translation. */
export interface Outcome {
  /** The output as JSON text; empty if the call was refused. */
  readonly json: string;
  /** All strings in the output, and in JSON inside these strings. */
  readonly texts: string;
  readonly dropped: readonly string[];
  /** The path that the refusal names; undefined without a refusal. */
  readonly refused: string | undefined;
}

/** Translates a caller's request for an upstream. */
export function sentFor(route: Route, body: unknown, streamed = false): Outcome {
  try {
    const { body: json, dropped } = exchangesFor(route, body, streamed).upstream;
    return { json, texts: textsIn(json), dropped, refused: undefined };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { json: '', texts: '', dropped: [], refused: error.param ?? '' };
  }
}

/** The exchanges of a request with its caller and with its upstream. */
interface Exchanges {
  readonly caller: CallerExchange;
  readonly upstream: ContentExchange;
}

function exchangesFor(route: Route, body: unknown, streamed = false): Exchanges {
  const caller = codecs[route.protocol].begin(requestOf(body), { streamed });
  const upstream = clientCodecs[route.dialect].content.begin(caller.request, targetOf(route));
  return { caller, upstream };
}

function requestOf(body: unknown): JsonObject {
  const request = parseJson(JSON.stringify(body));
  if (!isJsonObject(request)) throw new Error('A request is an object.');
  return request;
}

const codecs = {
  chat: openaiServer,
  native: geminiServer,
  responses: openaiResponsesServer,
  messages: anthropicServer,
};

function targetOf({ dialect, model, own }: Route): UpstreamTarget {
  let made = 0;
  return {
    upstreamModel: model,
    capabilities: capabilitiesOf(dialects[dialect].capabilities, model, own),
    maxOutputTokens: undefined,
    ids: () => {
      made += 1;
      return `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`;
    },
  };
}

/**
 * Translates an upstream's whole reply for the caller. A failed call is refused with its reason.
 */
export function answerFor(route: Route, reply: unknown): Outcome {
  const { caller, upstream: exchange } = exchangesFor(route, plainRequests[route.protocol]);
  const document = parseJson(JSON.stringify(reply)) ?? null;
  const read = exchange.readReply(document);
  const unusable = read.find((event) => event.type === 'unusable');
  if (unusable !== undefined) return { json: '', texts: '', dropped: [], refused: unusable.reason };
  const { text, dropped: unwritten, isUnusable } = caller.writeReply(read, replyHead);
  if (isUnusable === true) {
    return { json: '', texts: '', dropped: [], refused: 'upstream_unusable_output' };
  }
  const dropped = [...unwritten, ...exchange.unread(document)];
  return { json: text, texts: textsIn(text), dropped, refused: undefined };
}

/** Translates the same reply as a stream of these bytes. */
export function streamFor(route: Route, chunks: readonly Uint8Array[]): string {
  const { text, tap } = tappedStreamFor(route, chunks);
  const failure = tap.failure();
  if (failure !== undefined)
    throw new Error(`The stream failed: ${failure.reason ?? failure.code}`);
  return text;
}

/** Does the same; returns the tap, too, which may have failed. */
export function tappedStreamFor(
  route: Route,
  chunks: readonly Uint8Array[],
): { readonly text: string; readonly tap: StreamTap } {
  const { caller, upstream: exchange } = exchangesFor(route, plainRequests[route.protocol], true);
  const tap = translateTap({
    upstream: dialects[route.dialect],
    reader: exchange.readStream({ holdsCalls: caller.takesCallsTogether === true }),
    writer: caller.writeStream({ ...replyHead, framing: 'sse' }),
    readReply: exchange.readReply,
  });
  const pieces = [...chunks.map((chunk) => tap.write(chunk)), tap.end()];
  return { text: Buffer.concat(pieces).toString(), tap };
}

const plainRequests = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  native: {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  },
  responses: {
    model: 'm',
    input: 'hi',
    reasoning: { summary: 'auto' },
    include: ['message.output_text.logprobs'],
  },
  messages: {
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    thinking: { type: 'adaptive' },
  },
} as const;

const replyHead: ReplyHead = {
  fallbackId: 'made-up',
  createdSeconds: 1_700_000_000,
  newId: () => 'id',
  modelId: 'm',
  wantsUsage: true,
  framing: 'json',
};

function textsIn(json: string): string {
  return strings(JSON.parse(json))
    .map(([path, text]) => `${path}\n${text}`)
    .join('\n');
}
