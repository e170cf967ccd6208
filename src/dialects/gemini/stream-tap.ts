/**
 * Watches a relayed native stream. Google's parsers are far stricter than the SSE standard, so that
 * an event they can't read is reframed. An error inside the stream is rebuilt.
 */

import { isAscii, isUtf8 } from 'node:buffer';
import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import {
  concatBytes,
  emptyBytes,
  eventCutter,
  parseEvents,
  type SseEvent,
} from '../../bytes/sse.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import { brokenReply, type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { type UnframedText, unframedText } from '../unframed-text.ts';
import { geminiErrorText, geminiFailure, geminiInBandFailure } from './errors.ts';
import { isReplyEvent } from './event.ts';
import {
  isComplete,
  recordErrorUsage,
  recordEvent,
  recordRegularEvents,
  type StreamRecord,
  streamRecord,
  usageSoFar,
} from './stream-record.ts';

// The mark of an error. Names quoted in the text of a reply are escaped and don't match.
const errorMark = /(?:error|"message|"detail)"/;
const candidatesMember = '"candidates"';
const lineSeparator = Buffer.from('\u2028');
const paragraphSeparator = Buffer.from('\u2029');
const dataMark = 'data: {';
const emptyEvent = Buffer.from('data: {}\r\n\r\n');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const closeBrace = 0x7d;

/** The state of the tap of one reply. */
interface TapState {
  readonly record: StreamRecord;
  /** Text without SSE framing. It can only be interpreted once the stream has ended. */
  readonly unframed: UnframedText;
  failure: FailureReport | undefined;
}

/**
 * Creates the tap of one reply. With several `candidates`, each event is parsed, because the end of
 * one candidate doesn't end the others.
 */
export function geminiStreamTap(candidates: number): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const record = streamRecord(candidates);
  const tap: TapState = { record, unframed: unframedText(), failure: undefined };
  return {
    write: (chunk) => pass(tap, cutter.push(chunk)),
    end: () => passLast(tap, cutter.rest()),
    hasBegun: () => record.begun,
    finished: () => false,
    complete: () => isComplete(record),
    failure: () => tap.failure,
    usage: () => usageSoFar(record),
    countedTokens: record.counted.tokens,
    progress: () => record.contentEvents,
    breakOff: (error) => {
      const text = geminiErrorText(error);
      // Two writes: an event for parsers that read events, and the bare document for parsers that
      // only look at the remaining bytes.
      return [Buffer.from(`data: ${text}\r\n\r\n`), Buffer.from(text)];
    },
  };
}

function pass(tap: TapState, block: Uint8Array): Uint8Array {
  const { record } = tap;
  if (block.length === 0) return block;
  const bytes = asBuffer(block);
  const text = bytes.toString('latin1');
  const isPlain = isGoogleFramed(bytes, text) && !errorMark.test(text);
  if (!isPlain) return reframe(tap, block);
  if (record.ends === undefined && recordRegularEvents(record, bytes, text)) return block;
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf(lineFeed, at);
    const end = lineEnd + (bytes[lineEnd + 1] === carriageReturn ? 3 : 2);
    recordEvent(record, bytes.subarray(at, end), undefined);
    at = end;
  }
  return block;
}

/** Parses every event of the block and returns those to pass on, framed for Google's parsers. */
function reframe(tap: TapState, block: Uint8Array): Uint8Array {
  const { record, unframed } = tap;
  const kept: Uint8Array[] = [];
  for (const event of parseEvents(block)) {
    const text = event.data ?? event.unframedText;
    const document = parseBounded(text);
    tap.failure = eventFailure(event, document) ?? faultOf(event, document);
    if (tap.failure !== undefined) {
      recordErrorUsage(record, document);
      break;
    }
    if (event.data === undefined && document === undefined) {
      unframed.add(`${event.unframedText}\n`);
    }
    const framed = frame(event, text, document);
    if (framed === undefined) record.bounds.add(event.raw.length, false);
    else {
      recordEvent(record, asBuffer(framed), document);
      kept.push(framed);
    }
  }
  return concatBytes(kept);
}

/** A final event without its blank line is used if its JSON is complete, and dropped otherwise. */
function passLast(tap: TapState, rest: Uint8Array): Uint8Array {
  const [event] = parseEvents(rest);
  const isWholeEvent =
    event !== undefined && parseBounded(event.data ?? event.unframedText) !== undefined;
  if (isWholeEvent) return pass(tap, rest);
  if (event?.data === undefined) tap.unframed.add(event?.unframedText ?? '');
  interpretUnframed(tap);
  return emptyBytes;
}

/** Interprets a document that was sent in place of events, possibly over several lines. */
function interpretUnframed(tap: TapState): void {
  const text = tap.unframed.take();
  if (tap.record.begun || tap.failure !== undefined || text.trim() === '') return;
  const document = parseBounded(text) ?? null;
  tap.failure = geminiInBandFailure(document) ?? brokenReply('upstream_bad_stream');
}

/**
 * Finds an error by the document, by the event's name, or in unframed text attached to a good
 * event.
 */
function eventFailure(
  { name, data, unframedText }: SseEvent,
  document: JsonValue | undefined,
): FailureReport | undefined {
  const unframed =
    data === undefined || unframedText === '' ? undefined : parseBounded(unframedText);
  const failure = geminiInBandFailure(document ?? null) ?? geminiInBandFailure(unframed ?? null);
  return failure ?? (name === 'error' ? geminiFailure(502, Buffer.from(data ?? '')) : undefined);
}

/**
 * Reports data that can't be part of a reply: plain text, incomplete JSON, a bare string or list.
 */
function faultOf({ data }: SseEvent, document: JsonValue | undefined): FailureReport | undefined {
  if (data === undefined || data.trim() === '' || data.trim() === '[DONE]') return undefined;
  return isJsonObject(document) ? undefined : brokenReply('upstream_bad_stream');
}

/**
 * The event in the framing that Google's parsers accept; undefined if it has no document of a
 * reply.
 */
function frame(
  event: SseEvent,
  text: string,
  document: JsonValue | undefined,
): Uint8Array | undefined {
  // A document without any member of a reply is left out, except the empty object of a keep-alive.
  if (!isReplyEvent(document)) return text === '{}' ? emptyEvent : undefined;
  const bytes = asBuffer(event.raw);
  if (isGoogleFramed(bytes, bytes.toString('latin1'), false)) return event.raw;
  const oneLine = text
    .replaceAll('\n', ' ')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
  return Buffer.from(`data: ${oneLine}\r\n\r\n`);
}

/**
 * Whether every event is exactly one line of `data: ` and an object with candidates, followed by a
 * blank line with the same line ending.
 *
 * LF followed by CRLF doesn't end an event for `@google/genai`, and no mixture does for
 * `@google/generative-ai`. The latter also fails on bytes that aren't UTF-8, and its regular
 * expression fails on a CR within the line and on two blank lines.
 */
function isGoogleFramed(bytes: Buffer, text: string, withCandidates = true): boolean {
  if (!isAscii(bytes) && !isPlainUtf8(bytes)) return false;
  let lineReturn = text.indexOf('\r');
  let candidatesAt = -1;
  for (let at = 0; at < text.length; ) {
    const start = at;
    const lineEnd = text.indexOf('\n', at);
    if (lineEnd === -1 || !text.startsWith(dataMark, at)) return false;
    // Searched again only after it is passed; otherwise a stream without any would be scanned to
    // its end for every event.
    if (lineReturn !== -1 && lineReturn < at) lineReturn = text.indexOf('\r', at);
    const hasReturn = lineReturn !== -1 && lineReturn < lineEnd;
    if (hasReturn && lineReturn !== lineEnd - 1) return false;
    at = lineEnd + (hasReturn ? 3 : 2);
    if (text.charCodeAt(at - 1) !== lineFeed) return false;
    if (hasReturn && text.charCodeAt(at - 2) !== carriageReturn) return false;
    if (text.charCodeAt(hasReturn ? lineEnd - 2 : lineEnd - 1) !== closeBrace) return false;
    if (!withCandidates) continue;
    if (candidatesAt < start) candidatesAt = text.indexOf(candidatesMember, start);
    if (candidatesAt === -1 || candidatesAt > lineEnd) return false;
  }
  return true;
}

/** Whether the bytes are UTF-8 without U+2028 and U+2029, which some parsers treat as line ends. */
function isPlainUtf8(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(lineSeparator) && !bytes.includes(paragraphSeparator);
}
