/**
 * Translates a call for an upstream of another dialect. The request is read into the common form
 * once and written for the channel; the reply is written back in the caller's dialect.
 */
import { setImmediate } from 'node:timers/promises';
import { exceedsLimits, parseBoundedExactly } from '../../bounded-json.ts';
import { bodyFromChunks } from '../../bytes/body/elide.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { largeTextBytes, scanBody } from '../../bytes/json/scan/body.ts';
import { concatBytes } from '../../bytes/sse.ts';
import type { PromptSize } from '../../call.ts';
import { type ContentEvent, usageOfWholeReply } from '../../canonical/reply.ts';
import type {
  CallerExchange,
  ContentExchange,
  ImageRequest,
  ReplyHead,
  UpstreamTarget,
} from '../../dialects/codec.ts';
import { type Dialect, type DialectCodecs, upstreamPath } from '../../dialects/dialect.ts';
import type { EmbeddingCallerExchange } from '../../dialects/embedding-codec.ts';
import { isFilterCode } from '../../dialects/failure-meaning.ts';
import { checkReplyLists } from '../../dialects/reply-lists.ts';
import { replyTokens } from '../../dialects/taps/document-tokens.ts';
import { countTokensIn } from '../../dialects/taps/event-count.ts';
import type { StreamTap } from '../../dialects/taps/tap.ts';
import { translateTap } from '../../dialects/taps/translate-tap.ts';
import { GatewayError, isGatewayError } from '../../errors.ts';
import { parseExactly } from '../../exact-numbers.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { noUsage, type Usage } from '../../money.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ProtocolCodecs } from '../../protocols/protocol.ts';
import type { Admitted } from '../call-record.ts';
import {
  documentIn,
  droppedNote,
  estimatedNote,
  type Judgement,
  maxBufferedRelayBytes,
  maxBufferedTranslationBytes,
  type PreparedRequest,
  tapFailure,
  unreadableReply,
  type WholeReply,
} from './prepared-call.ts';

/** A call that is translated for one channel. */
export interface Translation {
  readonly admitted: Admitted;
  readonly readers: RequestReaders;
  readonly dialect: Dialect;
  readonly client: DialectCodecs;
  readonly server: ProtocolCodecs;
  readonly target: UpstreamTarget;
  readonly head: ReplyHead;
}

/** The request in the common form, read at the first use. */
export interface RequestReaders {
  readonly parsed: () => JsonObject;
  readonly content: () => CallerExchange;
  readonly images: () => ImageRequest;
  readonly embeddings: () => EmbeddingCallerExchange;
}

export interface ContentTranslation extends Translation {
  readonly caller: CallerExchange;
}

export function contentOf(translation: Translation): ContentTranslation {
  const { admitted, readers, dialect, client, server, target } = translation;
  const caller = readers.content();
  const hidesReasoning = caller.request.reasoning?.includeThoughts !== true;
  const needsReasoningBack = target.capabilities.reasoningHistory;
  const head = { ...translation.head, hidesReasoning, needsReasoningBack };
  return { admitted, readers, dialect, client, server, target, head, caller };
}

/** Returns the codec, which exists for every channel in a pool of the protocol. */
export function codecOf<T>(codec: T | undefined): T {
  if (codec !== undefined) return codec;
  throw new GatewayError('not_implemented', "This call can't be translated for this provider.");
}

export function prepareTranslated(translation: ContentTranslation): PreparedRequest {
  const { admitted, caller, dialect, client, target, head } = translation;
  const { call, model } = admitted;
  const exchange = client.content.begin(caller.request, target);
  const notes = droppedNote(exchange.dropped, model.strict === true, caller.unasked);
  // Only Gemini's callers know a streamed JSON array. Every upstream streams events.
  const framing = call.framing === 'json' ? 'json' : 'sse';
  const body = Buffer.from(exchange.body);
  return {
    dialect,
    streamContentType: dialect.streams.contentType,
    path: upstreamPath(dialect, { operation: call.operation, framing }, target.upstreamModel),
    framing,
    body: [body],
    prompt: promptSizeOf(body, translation),
    notes,
    maxBufferedBytes: maxBufferedTranslationBytes,
    canTapDocument: framing === 'sse',
    tap: framing === 'json' ? undefined : () => tapOf(exchange, translation),
    judge: (bytes) => judge(bytes, exchange, translation),
    replyToRefusal: ({ code }) =>
      isFilterCode(code) ? blockedPromptReply(caller, head) : undefined,
    callerParam: exchange.callerParam,
  };
}

/** Measures the translated body, whose names, escapes and schemas may be longer. */
function promptSizeOf(body: Buffer, { admitted, client }: Translation): PromptSize {
  const { media, sealedBytes, messages } = admitted.call.demand.prompt;
  // Without media and sealed parts every byte counts as text.
  if (media.length === 0 && sealedBytes === 0) {
    return { textBytes: body.length, sealedBytes: 0, messages, media };
  }
  try {
    return client.measure(scanBody(bodyFromChunks([body], body.length)));
  } catch (error) {
    // Arguments that a model wrote may have a name twice. Then all of the body counts as text.
    if (isGatewayError(error)) return { textBytes: body.length, sealedBytes: 0, messages, media };
    throw error;
  }
}

function tapOf(
  exchange: ContentExchange,
  { dialect, caller, head }: ContentTranslation,
): StreamTap {
  return translateTap({
    upstream: dialect,
    reader: exchange.readStream({ holdsCalls: caller.takesCallsTogether === true }),
    writer: caller.writeStream(head),
    readReply: exchange.readReply,
  });
}

function judge(
  bytes: Uint8Array,
  exchange: ContentExchange,
  translation: ContentTranslation,
): MaybePromise<Judgement> {
  if (bytes.length > largeTextBytes) return judgeInTurns(bytes, exchange, translation);
  const found = documentIn(bytes, translation.dialect, parseBoundedExactly);
  if (found.kind !== 'document') return found;
  checkReplyLists(found.reply, bytes.length);
  return written(found.reply, exchange.readReply(found.reply), exchange, translation);
}

/** Checks, parses, reads and writes a large reply in separate turns of the event loop. */
async function judgeInTurns(
  bytes: Uint8Array,
  exchange: ContentExchange,
  translation: ContentTranslation,
): Promise<Judgement> {
  const isTooLarge = exceedsLimits(asBuffer(bytes).toString('utf8'));
  await setImmediate();
  const parse = isTooLarge ? () => undefined : parseExactly;
  const found = documentIn(bytes, translation.dialect, parse);
  if (found.kind !== 'document') return found;
  checkReplyLists(found.reply, bytes.length);
  await setImmediate();
  const events = exchange.readReply(found.reply);
  await setImmediate();
  return written(found.reply, events, exchange, translation);
}

function written(
  reply: JsonValue,
  events: readonly ContentEvent[],
  exchange: ContentExchange,
  { caller, head }: ContentTranslation,
): Judgement {
  // Members that the translation does not carry were generated too.
  const counted = (): number => Math.max(countTokensIn(events), replyTokens(reply));
  const usage = usageIn(events, counted);
  const unusable = events.find((event) => event.type === 'unusable');
  if (unusable !== undefined) return { kind: 'bad', reason: unusable.reason, usage };
  const { text, dropped, estimated, isUnusable, output } = caller.writeReply(events, head);
  if (isUnusable === true) return { kind: 'bad', reason: 'upstream_unusable_output', usage };
  // A strict model can't refuse what is dropped from a reply: it was made and billed.
  const leftOut = [...exchange.dropped, ...dropped, ...exchange.unread(reply)];
  const notes = {
    ...droppedNote(leftOut, false),
    ...(estimated === undefined ? {} : estimatedNote(estimated)),
  };
  return {
    kind: 'whole',
    bytes: Buffer.from(text),
    usage,
    // Counting walks the whole reply, so it is done only if the upstream states no output.
    countedTokens: usage?.outputTokens ? undefined : counted(),
    notes,
    referable: output,
  };
}

function usageIn(events: readonly ContentEvent[], counted: () => number): Usage | undefined {
  const last = events.findLast((event) => event.type === 'usage');
  if (last !== undefined) return usageOfWholeReply(last.usage, counted);
  // A blocked prompt without reported usage has used nothing.
  return events.some(({ type }) => type === 'blocked') ? noUsage : undefined;
}

/** A prompt that the provider's content filter blocked is a reply to callers, not an error. */
function blockedPromptReply(caller: CallerExchange, head: ReplyHead): WholeReply {
  const message = 'The prompt was blocked by the content filter of the model’s provider.';
  const events: readonly ContentEvent[] = [{ type: 'blocked', reason: 'SAFETY', message }];
  const writer = caller.writeStream(head);
  const text =
    head.framing === 'json'
      ? caller.writeReply(events, head).text
      : writer.write(events) + writer.end();
  return { kind: 'whole', bytes: Buffer.from(text), usage: undefined, ending: 'not_run' };
}

/** The Base64 data is copied from one document to the other as it streams, never buffered whole. */
export function prepareTranslatedImage(translation: Translation): PreparedRequest {
  const { admitted, readers, dialect, client, target, head } = translation;
  const exchange = codecOf(client.images).begin(readers.images(), target);
  const body = Buffer.from(exchange.body);
  return {
    dialect,
    streamContentType: dialect.streams.contentType,
    path: upstreamPath(dialect, admitted.call, target.upstreamModel),
    framing: 'json',
    body: [body],
    prompt: { textBytes: body.length, sealedBytes: 0, messages: 0, media: [] },
    notes: droppedNote(exchange.dropped, admitted.model.strict === true),
    maxBufferedBytes: maxBufferedRelayBytes,
    canTapDocument: false,
    tap: () => exchange.tap(head),
    judge: (bytes) => judgeImage(bytes, exchange.tap(head)),
    replyToRefusal: () => undefined,
  };
}

/** A small reply goes through the same tap, in one piece. */
function judgeImage(bytes: Uint8Array, tap: StreamTap): Judgement {
  const pieces = [tap.write(bytes), tap.end()];
  const failed = tapFailure(tap);
  if (failed !== undefined) return failed;
  if (!tap.complete()) return unreadableReply(bytes);
  return { kind: 'whole', bytes: concatBytes(pieces), usage: tap.usage() };
}
