/**
 * Translates a streamed reply: reads the upstream's events and writes the caller's. Anything that
 * an upstream sends in place of well-formed events ends the reply with an error, so that no failure
 * passes unnoticed.
 */

import { parseBoundedExactly } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { emptyBytes } from '../../bytes/sse.ts';
import type { ContentEvent } from '../../canonical/reply.ts';
import { UpstreamError } from '../../errors.ts';
import { items, type JsonValue } from '../../json.ts';
import type { ContentStreamReader, ContentStreamWriter } from '../codec.ts';
import type { Dialect } from '../dialect.ts';
import { checkReplyLists } from '../reply-lists.ts';
import type { Frame, FrameReader } from '../stream-format.ts';
import {
  contentSize,
  countEvent,
  countedTokens,
  type EventCount,
  eventCount,
  heldChars,
  recordUsage,
  usageSoFar,
} from './event-count.ts';
import { RepeatedEvent } from './repeated-event.ts';
import {
  type ByteBounds,
  billedReply,
  brokenReply,
  byteBounds,
  type FailureReport,
  maxEventBytes,
  type StreamTap,
} from './tap.ts';
import { type UnframedText, unframedText } from './unframed-text.ts';

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

interface TapState extends TranslateTapOptions {
  readonly count: EventCount;
  readonly frames: FrameReader;
  readonly repeated: RepeatedEvent;
  readonly bounds: ByteBounds;
  /** Text outside of any frame. What it is can be decided only at the end. */
  readonly unframed: UnframedText;
  failure: FailureReport | undefined;
  hasBegun: boolean;
  isDone: boolean;
  hasEnded: boolean;
  hasWholeReply: boolean;
  contentChunks: number;
  /** Bytes received since anything was last sent on; readers and writers may hold all of them. */
  silentBytes: number;
  /** Bytes of an event that isn't complete: nobody knows yet whether it has content. */
  undecidedBytes: number;
}

export function translateTap(options: TranslateTapOptions): StreamTap {
  const tap = newState(options);
  const { count, writer } = tap;
  return {
    write: (chunk) => encoded(write(tap, chunk)),
    end: () => encoded(end(tap)),
    hasBegun: () => tap.hasBegun,
    finished: () => tap.isDone,
    complete: () => isComplete(tap),
    failure: () => tap.failure,
    usage: () => usageSoFar(count),
    countedTokens: () => countedTokens(count),
    progress: () => tap.contentChunks,
    breakOff: (error) => writer.breakOff(error).map((piece) => Buffer.from(piece)),
    ...(writer.output === undefined ? {} : { referable: writer.output }),
  };
}

function newState({ upstream, reader, writer, readReply }: TranslateTapOptions): TapState {
  return {
    upstream,
    reader,
    writer,
    readReply,
    count: eventCount(reader),
    frames: upstream.streams.reader(),
    repeated: new RepeatedEvent(),
    bounds: byteBounds(),
    unframed: unframedText(),
    failure: undefined,
    hasBegun: false,
    isDone: false,
    hasEnded: false,
    hasWholeReply: false,
    contentChunks: 0,
    silentBytes: 0,
    undecidedBytes: 0,
  };
}

function write(tap: TapState, chunk: Uint8Array): string {
  if (tap.isDone) return '';
  const { count } = tap;
  const before = contentSize(count);
  const block = tap.frames.push(chunk);
  const text = takeAll(tap, block);
  const hasContent = contentSize(count) > before;
  if (hasContent) tap.contentChunks += 1;
  tap.undecidedBytes += chunk.length;
  if (hasContent || block.length > 0) {
    tap.bounds.add(tap.undecidedBytes, hasContent);
    tap.undecidedBytes = 0;
  }
  tap.silentBytes = text === '' ? tap.silentBytes + chunk.length : 0;
  if (tap.silentBytes > maxSilentBytes) throw new UpstreamError('body', 'event_too_large');
  return text;
}

function end(tap: TapState): string {
  if (tap.hasEnded || tap.failure !== undefined) return '';
  tap.hasEnded = true;
  const { count, frames, reader, writer } = tap;
  let text = takeAll(tap, tap.isDone ? emptyBytes : frames.rest()) + takeUnframed(tap);
  count.hasUpstreamEnded = true;
  if (!hasFailed(tap) && isComplete(tap) && !tap.hasWholeReply) {
    text += writeEvents(tap, reader.end());
  }
  if (hasFailed(tap) || !isComplete(tap)) return text;
  if (writer.isUnusable?.() !== true) return text + writer.end();
  tap.failure = billedReply('upstream_unusable_output');
  return text;
}

function takeAll(tap: TapState, bytes: Uint8Array): string {
  const { frames, repeated, reader } = tap;
  const block = asBuffer(bytes);
  const latin1 = block.toString('latin1');
  let text = '';
  let at = 0;
  while (at < block.length && !tap.isDone && !hasFailed(tap)) {
    const end = repeated.match(block, latin1, at);
    if (end === -1) {
      const frame = frames.frameAt(block, at);
      text += takeFrame(tap, frame, latin1.slice(at, at + frame.raw.length));
      at += frame.raw.length;
    } else {
      text += writeEvents(tap, reader.read(repeated.document()));
      at = end;
    }
  }
  return text;
}

function takeFrame(tap: TapState, { name, data, unframedText }: Frame, latin1: string): string {
  const { reader, unframed, upstream } = tap;
  if (unframedText !== '') unframed.add(`${unframedText}\n`);
  if (unframed.byteLength() > maxEventBytes) tap.failure = brokenReply('upstream_bad_stream');
  if (hasFailed(tap) || data === undefined || data.trim() === '') return '';
  if (data.trim() === '[DONE]') {
    tap.isDone = true;
    // Only the reader knows whether this ends a reply of its dialect: a terminator that a proxy
    // added does not complete a reply.
    return writeEvents(tap, reader.read('[DONE]'));
  }
  const document = parseBoundedExactly(data);
  tap.failure = failureIn(upstream, name, data, document);
  if (document === undefined) return '';
  checkReplyLists(document, data.length);
  // Even an error may report the usage that the upstream billed.
  const events = reader.read(document);
  const text = writeEvents(
    tap,
    hasFailed(tap) ? events.filter(({ type }) => type === 'usage') : events,
  );
  tap.hasBegun ||= !hasFailed(tap) && heldChars(tap.count) > 0;
  tap.isDone ||= reader.finished?.() === true;
  if (!tap.isDone && !hasFailed(tap) && unframedText === '') {
    tap.repeated.learn(latin1, document, events);
  }
  return text;
}

/** Handles a document, an array of documents, or an error that was sent without framing. */
function takeUnframed(tap: TapState): string {
  if (tap.isDone || hasFailed(tap)) return '';
  const text = tap.unframed.take();
  if (text.trim() === '') return '';
  const document = parseBoundedExactly(text);
  const elements = Array.isArray(document) ? items(document) : [document];
  let translated = '';
  for (const element of elements) {
    tap.failure = failureIn(tap.upstream, undefined, text, element);
    if (hasFailed(tap) || element === undefined) break;
    checkReplyLists(element, text.length);
    tap.hasWholeReply = !Array.isArray(document);
    const events = tap.hasWholeReply ? tap.readReply(element) : tap.reader.read(element);
    translated += writeEvents(tap, events);
  }
  return translated;
}

function writeEvents(tap: TapState, events: readonly ContentEvent[]): string {
  for (const event of events) {
    if (event.type === 'unusable') tap.failure = billedReply(event.reason);
    else if (event.type === 'usage') recordUsage(tap.count, event.usage, isComplete(tap));
    else countEvent(tap.count, event);
    tap.hasBegun ||= beginsReply(event);
  }
  return !hasFailed(tap) && events.length > 0 ? tap.writer.write(events) : '';
}

function isComplete({ hasWholeReply, reader }: TapState): boolean {
  return hasWholeReply || reader.complete();
}

function hasFailed({ failure }: TapState): boolean {
  return failure !== undefined;
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
  return upstream.readFailure(502, Buffer.from(text), {});
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

function encoded(text: string): Uint8Array {
  return text === '' ? emptyBytes : Buffer.from(text);
}
