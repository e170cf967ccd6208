/**
 * Watches a relayed native stream. Google's parsers are far stricter than the SSE standard, so that
 * an event they can't read is reframed. An error inside the stream is rebuilt.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { emptyBytes, parseEvents, type SseEvent } from '../../bytes/sse.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import { checkUnframed, type EventHandler, eventTap, passEvents } from '../taps/event-tap.ts';
import { brokenReply, type FailureReport, type StreamTap } from '../taps/tap.ts';
import { geminiErrorText, geminiFailure, geminiInBandFailure } from './errors.ts';
import {
  isComplete,
  isReplyEvent,
  type NativeRecord,
  nativeRecord,
  recordErrorUsage,
  recordEvent,
  recordRegularEvents,
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

/** With several candidates each event is parsed: the end of one doesn't end the others. */
export function geminiStreamTap(candidates: number): StreamTap {
  const record = nativeRecord(candidates);
  const handler: EventHandler = {
    record,
    passKnown: (text, start, block) => (start > 0 ? start : passBlock(record, text, block)),
    accept: (event) => acceptEvent(record, event),
    end: (rest) => passLast(record, rest, handler),
    complete: () => isComplete(record),
    usage: () => usageSoFar(record),
    breakOff: (error) => {
      const text = geminiErrorText(error);
      // Two writes: an event for parsers that read events, and the bare document for parsers that
      // only look at the remaining bytes.
      return [Buffer.from(`data: ${text}\r\n\r\n`), Buffer.from(text)];
    },
  };
  return eventTap(handler);
}

/** Records all events of a block or, if one of them must be parsed and framed, none. */
function passBlock(record: NativeRecord, text: string, block: Uint8Array): number {
  const bytes = asBuffer(block);
  if (!isGoogleFramed(bytes, text) || errorMark.test(text)) return 0;
  if (record.finishes === undefined && recordRegularEvents(record, bytes, text))
    return bytes.length;
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf(lineFeed, at);
    const end = lineEnd + (bytes[lineEnd + 1] === carriageReturn ? 3 : 2);
    record.bounds.add(end - at, recordEvent(record, bytes.subarray(at, end), undefined));
    at = end;
  }
  return bytes.length;
}

/** Parses an event and returns it framed for Google's parsers; undefined if it is not passed on. */
function acceptEvent(record: NativeRecord, event: SseEvent): Uint8Array | undefined {
  const text = event.data ?? event.unframedText;
  const document = parseBounded(text);
  record.failure = eventFailure(event, document) ?? faultOf(event, document);
  if (record.failure !== undefined) {
    recordErrorUsage(record, document);
    return undefined;
  }
  if (event.data === undefined && document === undefined) {
    record.unframed.add(`${event.unframedText}\n`);
  }
  const framed = frame(event, text, document);
  if (framed !== undefined) recordEvent(record, asBuffer(framed), document);
  return framed;
}

/** A final event without its blank line is used if its JSON is complete, and dropped otherwise. */
function passLast(record: NativeRecord, rest: Uint8Array, handler: EventHandler): Uint8Array {
  const [event] = parseEvents(rest);
  if (event !== undefined) {
    const text = event.data ?? event.unframedText;
    if (parseBounded(text) !== undefined) return passEvents(rest, handler);
    if (event.data === undefined) record.unframed.add(text);
  }
  checkUnframed(record, geminiInBandFailure);
  return emptyBytes;
}

/** By the document, the event's name, or unframed text attached to a good event. */
function eventFailure(
  { name, data, unframedText }: SseEvent,
  document: JsonValue | undefined,
): FailureReport | undefined {
  const unframed =
    data === undefined || unframedText === '' ? undefined : parseBounded(unframedText);
  const failure = geminiInBandFailure(document ?? null) ?? geminiInBandFailure(unframed ?? null);
  return failure ?? (name === 'error' ? geminiFailure(502, Buffer.from(data ?? '')) : undefined);
}

/** Plain text, incomplete JSON, a bare string or a list can't be part of a reply. */
function faultOf({ data }: SseEvent, document: JsonValue | undefined): FailureReport | undefined {
  if (data === undefined || data.trim() === '' || data.trim() === '[DONE]') return undefined;
  return isJsonObject(document) ? undefined : brokenReply('upstream_bad_stream');
}

/** In the framing that Google's parsers accept; undefined without a document of a reply. */
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
