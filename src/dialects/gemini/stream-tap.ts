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
import { jsonText } from '../../canonical/raw-json.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import { noUsage } from '../../money.ts';
import { type CandidateEnds, candidateEnds } from '../candidate-ends.ts';
import { contentCount } from '../content-count.ts';
import { lastValueOf } from '../last-value.ts';
import {
  brokenReply,
  byteBounds,
  type FailureReport,
  maxEventBytes,
  type StreamTap,
} from '../tap.ts';
import { unframedText } from '../unframed-text.ts';
import { geminiErrorText, geminiFailure, geminiInBandFailure } from './errors.ts';
import { isReplyEvent, hasContentOrFinish as saysSomethingIn } from './event.ts';
import { plainTexts } from './plain-events.ts';
import { isLastUsageComplete, newUsageTracker } from './usage-tracker.ts';

// Marks of rare events. Names quoted in the text of a reply are escaped and don't match.
const errorMark = /(?:error|"message|"detail)"/;
const blockMark = /"blockReason"\s*:\s*"[^"]/;
const endMark = /"(?:finish|block)Reason"\s*:\s*"[^"]/;
const candidatesMember = '"candidates"';
const usageName = Buffer.from('"usageMetadata"');
const endName = 'Reason"';
const usageMember = '"usageMetadata"';
const lineSeparator = Buffer.from('\u2028');
const paragraphSeparator = Buffer.from('\u2029');
const dataMark = 'data: {';
const emptyEvent = Buffer.from('data: {}\r\n\r\n');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const closeBrace = 0x7d;

/**
 * Creates the tap of one reply. With several `candidates`, each event is parsed, because the end of
 * one candidate doesn't end the others.
 */
export function geminiStreamTap(candidates: number): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const counted = contentCount();
  const textsOf = plainTexts();
  const bounds = byteBounds();
  const usageTracker = newUsageTracker();
  const ends = candidates > 1 ? candidateEnds() : undefined;
  let failure: FailureReport | undefined;
  /** The prompt was blocked before any content. */
  let isBlocked = false;
  /** The end of a single candidate ends the reply. With several, each end is recorded. */
  const lastMark = ends === undefined ? endMark : blockMark;
  let isOver = false;
  let begun = false;
  let contentEvents = 0;
  /** Text without SSE framing. It can only be interpreted once the stream has ended. */
  const unframed = unframedText();
  /** The last usage came with the finish or after it. */
  let isUsageFinal = false;

  const begin = (): void => {
    begun = true;
    contentEvents += 1;
  };

  const isComplete = (): boolean => isOver || ends?.allEnded() === true;

  /** Counts events that have nothing but text; returns false if there are others. */
  const addPlain = (text: string): boolean => {
    const strings = textsOf(text);
    if (strings === undefined) return false;
    for (const { start, end } of strings) counted.addString(text, start, end, '');
    return true;
  };

  /** Processes an event that is passed on as `bytes`, a single line of data. */
  const take = (bytes: Buffer, document: JsonValue | undefined): void => {
    const text = bytes.toString('latin1');
    const isPlain = addPlain(text);
    const parsed = isPlain ? undefined : (document ?? documentsIn(bytes)[0] ?? null);
    let isContent = isPlain || (parsed !== undefined && counted.add(parsed));
    isOver ||= lastMark.test(text);
    isBlocked ||= isOver && !begun && !isContent && blockMark.test(text);
    if (ends !== undefined) noteEnds(bytes, ends);
    isContent ||= saysSomethingIn(parsed ?? null);
    if (isContent) begin();
    bounds.add(bytes.length, isContent);
    const usageAt = lastValueOf(bytes, usageName);
    if (usageAt === undefined) return;
    if (usageTracker.record(text.slice(usageAt), counted.tokens())) isUsageFinal = isComplete();
  };

  /** Parses every event of the block and returns those to pass on, framed for Google's parsers. */
  const reframe = (block: Uint8Array): Uint8Array => {
    const kept: Uint8Array[] = [];
    for (const event of parseEvents(block)) {
      const text = event.data ?? event.unframedText;
      const document = parseBounded(text);
      failure = eventFailure(event, document) ?? faultOf(event, document);
      if (failure !== undefined) {
        noteUsage(document);
        break;
      }
      if (event.data === undefined && document === undefined)
        unframed.add(`${event.unframedText}\n`);
      const framed = frame(event, text, document);
      if (framed === undefined) bounds.add(event.raw.length, false);
      else {
        take(asBuffer(framed), document);
        kept.push(framed);
      }
    }
    return concatBytes(kept);
  };

  /** An error may state the usage that the upstream has billed. */
  const noteUsage = (document: JsonValue | undefined): void => {
    const usage =
      member(document, 'usageMetadata') ?? member(member(document, 'error'), 'usageMetadata');
    if (!isJsonObject(usage)) return;
    usageTracker.record(jsonText(usage), counted.tokens());
  };

  const pass = (block: Uint8Array): Uint8Array => {
    if (block.length === 0) return block;
    const bytes = asBuffer(block);
    const text = bytes.toString('latin1');
    const isPlain = isGoogleFramed(bytes, text) && !errorMark.test(text);
    if (!isPlain) return reframe(block);
    if (ends === undefined && takeAll(bytes, text)) return block;
    for (let at = 0; at < bytes.length; ) {
      const lineEnd = bytes.indexOf(lineFeed, at);
      const end = lineEnd + (bytes[lineEnd + 1] === carriageReturn ? 3 : 2);
      take(bytes.subarray(at, end), undefined);
      at = end;
    }
    return block;
  };

  /**
   * Processes regular events together, each with text and usage; nearly all blocks consist of
   * these. Returns false if the block has other events.
   */
  const takeAll = (bytes: Buffer, text: string): boolean => {
    const usageAt = text.lastIndexOf(usageMember);
    if (usageAt === -1) return false;
    const usage = text.slice(text.indexOf('{', usageAt));
    // Content after the last usage has to be counted separately.
    if (usage.includes(dataMark) || !isLastUsageComplete(text, usage)) return false;
    if (!addPlain(text)) return false;
    isOver ||= text.includes(endName) && lastMark.test(text);
    begin();
    bounds.add(bytes.length, true);
    usageTracker.record(usage, counted.tokens());
    isUsageFinal = isComplete();
    return true;
  };

  /**
   * A final event without its blank line is used if its JSON is complete, and dropped otherwise.
   */
  const last = (rest: Uint8Array): Uint8Array => {
    const [event] = parseEvents(rest);
    const isWholeEvent =
      event !== undefined && parseBounded(event.data ?? event.unframedText) !== undefined;
    if (isWholeEvent) return pass(rest);
    if (event?.data === undefined) unframed.add(event?.unframedText ?? '');
    interpretUnframed();
    return emptyBytes;
  };

  /** Interprets a document that was sent in place of events, possibly over several lines. */
  const interpretUnframed = (): void => {
    const text = unframed.take();
    if (begun || failure !== undefined || text.trim() === '') return;
    const document = parseBounded(text) ?? null;
    failure = geminiInBandFailure(document) ?? brokenReply('upstream_bad_stream');
  };

  return {
    write: (chunk) => pass(cutter.push(chunk)),
    end: () => last(cutter.rest()),
    hasBegun: () => begun,
    finished: () => false,
    complete: isComplete,
    failure: () => failure,
    // A blocked prompt without stated usage costs nothing.
    usage: () =>
      usageTracker.soFar(counted.tokens(), isUsageFinal) ?? (isBlocked ? noUsage : undefined),
    countedTokens: counted.tokens,
    progress: () => contentEvents,
    breakOff: (error) => {
      const text = geminiErrorText(error);
      // Two writes: an event for parsers that read events, and the bare document for parsers that
      // only look at the remaining bytes.
      return [Buffer.from(`data: ${text}\r\n\r\n`), Buffer.from(text)];
    },
  };
}

/** Records the begin and end of each candidate. Google leaves out the index 0. */
function noteEnds(block: Uint8Array, ends: CandidateEnds): void {
  for (const document of documentsIn(block)) {
    for (const candidate of items(member(document, 'candidates'))) {
      const index = member(candidate, 'index');
      const reason = member(candidate, 'finishReason');
      const isLast = typeof reason === 'string' && reason !== '';
      const hasParts = items(member(member(candidate, 'content'), 'parts')).length > 0;
      if (isLast || hasParts) ends.note(typeof index === 'number' ? index : 0, isLast);
    }
  }
}

function documentsIn(block: Uint8Array): readonly JsonValue[] {
  return parseEvents(block).map(
    ({ data, unframedText }) => parseBounded(data ?? unframedText) ?? null,
  );
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
