/**
 * Translates a streamed reply: reads the upstream's events and writes the caller's. Anything that
 * an upstream sends in place of well-formed events ends the reply with an error, so that no failure
 * passes unnoticed.
 */

import { parseBoundedExactly } from '../bounded-json.ts';
import { emptyBytes } from '../bytes/sse.ts';
import { mediaKindOf } from '../canonical/media.ts';
import { type ContentEvent, chargeableUsage, type ReplyUsage } from '../canonical/reply.ts';
import { UpstreamError } from '../errors.ts';
import { items, type JsonValue } from '../json.ts';
import { noUsage, type Usage } from '../money.ts';
import type { ContentStreamReader, ContentStreamWriter } from './codec.ts';
import { contentTokens } from './content-count.ts';
import type { Dialect } from './dialect.ts';
import { charsPerAudioToken, imageTokens, labelBytes } from './reply-content.ts';
import { checkReplyLists } from './reply-lists.ts';
import type { Frame } from './stream-format.ts';
import { usageFloor } from './stream-usage.ts';
import {
  billedReply,
  brokenReply,
  byteBounds,
  type FailureReport,
  maxEventBytes,
  type StreamTap,
} from './tap.ts';
import { unframedText } from './unframed-text.ts';

/** The upstream's and the caller's side of a translated stream. */
export interface TranslateTapOptions {
  readonly upstream: Pick<Dialect, 'readFailure' | 'inBandFailure' | 'streams'>;
  readonly reader: ContentStreamReader;
  readonly writer: ContentStreamWriter;
  /** Reads a whole reply that the upstream sent instead of a stream. */
  readonly readReply: (reply: JsonValue) => readonly ContentEvent[];
}

/**
 * Maximum bytes received while nothing is sent on: twice the largest event. The tool calls of a
 * whole reply, which are held back, are far smaller.
 */
const maxSilentBytes = 2 * maxEventBytes;

/** Creates the tap of one reply. */
export function translateTap(options: TranslateTapOptions): StreamTap {
  const { upstream, reader, writer } = options;
  const frames = upstream.streams.reader();
  let failure: FailureReport | undefined;
  const floor = usageFloor();
  let lastUsage: Usage | undefined;
  let isBlocked = false;
  let contentBytes = 0;
  let mediaTokens = 0;
  let begun = false;
  const bounds = byteBounds();
  /** Bytes received since anything was last sent on; readers and writers may hold all of them. */
  let silentBytes = 0;
  /** Text outside of any frame. What it is can be decided only at the end. */
  const unframed = unframedText();
  let done = false;
  let ended = false;
  /** What the reader held back was counted as content. */
  let released = false;
  /** Nothing more comes from the upstream. */
  let upstreamEnded = false;
  let wholeReplyCame = false;
  let contentChunks = 0;

  const heldChars = (): number => (released ? 0 : (reader.heldChars?.() ?? 0));

  const counted = (): number => mediaTokens + contentTokens(contentBytes + heldChars());

  /**
   * Upstreams repeat their usage, and a repetition with the finish is the final report. Only the
   * usage that a reader itself repeats at its end is ignored.
   */
  const recordUsage = (stated: ReplyUsage): void => {
    const usage = chargeableUsage(stated);
    if (upstreamEnded && lastUsage !== undefined && isSameUsage(lastUsage, usage)) return;
    lastUsage = usage;
    floor.note(stated, counted(), reader.complete());
  };

  const writeEvents = (events: readonly ContentEvent[]): string => {
    for (const event of events) {
      if (event.type === 'usage') recordUsage(event.usage);
      else if (event.type === 'unusable') failure = billedReply(event.reason);
      // A blocked prompt generates nothing, so usage that was not reported is zero.
      else if (event.type === 'blocked') isBlocked = true;
      else {
        contentBytes += bytesOf(event);
        if (event.type === 'media') mediaTokens += mediaTokensOf(event);
      }
      begun ||= beginsReply(event);
    }
    return failure === undefined && events.length > 0 ? writer.write(events) : '';
  };

  const takeFrame = ({ name, data, unframedText }: Frame): string => {
    if (unframedText !== '') unframed.add(`${unframedText}\n`);
    if (unframed.byteLength() > maxEventBytes) failure = brokenReply('upstream_bad_stream');
    if (failure !== undefined || data === undefined || data.trim() === '') return '';
    if (data.trim() === '[DONE]') {
      done = true;
      // Only the reader knows whether this ends a reply of its dialect: a terminator that a proxy
      // added does not complete a reply.
      return writeEvents(reader.read('[DONE]'));
    }
    const document = parseBoundedExactly(data);
    failure = failureIn(upstream, name, data, document);
    if (document === undefined) return '';
    checkReplyLists(document, data.length);
    // Even an error may report the usage that the upstream billed.
    const events = reader.read(document);
    const text = writeEvents(failure === undefined ? events : events.filter(isUsage));
    begun ||= failure === undefined && heldChars() > 0;
    done ||= reader.finished?.() === true;
    return text;
  };

  const takeAll = (all: readonly Frame[]): string => {
    let text = '';
    for (const frame of all) {
      text += takeFrame(frame);
      if (done || failure !== undefined) break;
    }
    return text;
  };

  /** Handles a document, an array of documents, or an error that was sent without framing. */
  const takeUnframed = (): string => {
    if (done || failure !== undefined) return '';
    const text = unframed.take();
    if (text.trim() === '') return '';
    const document = parseBoundedExactly(text);
    const elements = Array.isArray(document) ? items(document) : [document];
    let translated = '';
    for (const element of elements) {
      failure = failureIn(upstream, undefined, text, element);
      if (failure !== undefined || element === undefined) break;
      checkReplyLists(element, text.length);
      wholeReplyCame = !Array.isArray(document);
      translated += writeEvents(wholeReplyCame ? options.readReply(element) : reader.read(element));
    }
    return translated;
  };

  const complete = (): boolean => wholeReplyCame || reader.complete();

  const write = (chunk: Uint8Array): string => {
    if (done) return '';
    const before = contentBytes + mediaTokens + heldChars();
    const text = takeAll(frames.read(chunk));
    const hasContent = contentBytes + mediaTokens + heldChars() > before;
    if (hasContent) contentChunks += 1;
    bounds.add(chunk.length, hasContent);
    silentBytes = text === '' ? silentBytes + chunk.length : 0;
    if (silentBytes > maxSilentBytes) throw new UpstreamError('body', 'event_too_large');
    return text;
  };

  const end = (): string => {
    if (ended || failure !== undefined) return '';
    ended = true;
    let text = takeAll(done ? [] : frames.rest()) + takeUnframed();
    upstreamEnded = true;
    if (failure === undefined && complete() && !wholeReplyCame) {
      text += writeEvents(reader.end());
      released = true;
    }
    return failure === undefined && complete() ? text + writer.end() : text;
  };

  return {
    write: (chunk) => encoded(write(chunk)),
    end: () => encoded(end()),
    hasBegun: () => begun,
    finished: () => done,
    complete,
    failure: () => failure,
    usage: () => floor.soFar(counted()) ?? (isBlocked ? noUsage : undefined),
    countedTokens: counted,
    progress: () => contentChunks,
    breakOff: (error) => writer.breakOff(error).map((piece) => Buffer.from(piece)),
  };
}

/** Detects an error by its content, by the event's name, or because the data cannot be parsed. */
function failureIn(
  upstream: TranslateTapOptions['upstream'],
  name: string | undefined,
  text: string,
  document: JsonValue | undefined,
): FailureReport | undefined {
  if (document === undefined) return brokenReply('upstream_bad_stream');
  const failure = upstream.inBandFailure(document);
  if (failure !== undefined || name !== 'error') return failure;
  return upstream.readFailure(502, Buffer.from(text));
}

/** Counts the content of a whole reply in tokens. */
export function countTokensIn(events: readonly ContentEvent[]): number {
  let bytes = 0;
  let tokens = 0;
  for (const event of events) {
    bytes += bytesOf(event);
    if (event.type === 'media') tokens += mediaTokensOf(event);
  }
  return tokens + contentTokens(bytes);
}

/** Bytes of content, on which the charge is based if the upstream reports no usage. */
function bytesOf(event: ContentEvent): number {
  switch (event.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
    case 'tool_arguments':
      return Buffer.byteLength(event.text);
    case 'tool_begin':
      return labelBytes(event.name) + Buffer.byteLength(event.arguments);
    default:
      return 0;
  }
}

/** Returns whether the event begins a reply. An empty text only carries provider data. */
function beginsReply(event: ContentEvent): boolean {
  switch (event.type) {
    case 'text':
    case 'refusal':
      return event.text !== '';
    case 'reasoning':
      return event.text !== '' || event.providerData !== undefined;
    case 'tool_begin':
    case 'tool_arguments':
    case 'media':
    case 'finish':
    case 'blocked':
      return true;
    default:
      return false;
  }
}

function isUsage(event: ContentEvent): boolean {
  return event.type === 'usage';
}

function isSameUsage(one: Usage, other: Usage): boolean {
  return (
    one.inputTokens === other.inputTokens &&
    one.cachedInputTokens === other.cachedInputTokens &&
    one.outputTokens === other.outputTokens
  );
}

/** Audio arrives in many pieces, each counted by its length. */
function mediaTokensOf({ mimeType, data }: Pick<MediaEvent, 'mimeType' | 'data'>): number {
  return mediaKindOf(mimeType) === 'audio'
    ? Math.ceil(data.length / charsPerAudioToken)
    : imageTokens;
}

type MediaEvent = Extract<ContentEvent, { readonly type: 'media' }>;

function encoded(text: string): Uint8Array {
  return text === '' ? emptyBytes : Buffer.from(text);
}
