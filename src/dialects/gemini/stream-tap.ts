/**
 * Watches a relayed native stream. Google's own parsers are far stricter than the SSE standard
 * (WIRE §4.3), so an event they can't read is re-framed; an error sent in-band is rebuilt.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { asBuffer } from '../../bytes/decode.ts';
import {
  concatBytes,
  emptyBytes,
  eventCutter,
  parseEvents,
  type SseEvent,
} from '../../bytes/sse.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../json.ts';
import { noUsage } from '../../money.ts';
import { type CandidateEnds, candidateEnds } from '../candidate-ends.ts';
import { geminiContentCount } from '../content-count.ts';
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
import { isReplyEvent, partTokens, saysSomething as saysSomethingIn } from './event.ts';
import { areLastFiguresFull, streamFigures } from './figures.ts';

// What only a few events hold. Names that stand in an answer's text are escaped and don't match.
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
 * A fresh one for each reply. `candidates`: where the caller asked for several, each event is
 * parsed, for one that ends says nothing of the others.
 */
export function geminiStreamTap(candidates: number): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const counted = geminiContentCount();
  const bounds = byteBounds();
  const figures = streamFigures();
  const ends = candidates > 1 ? candidateEnds() : undefined;
  let failure: FailureReport | undefined;
  /** The prompt was blocked, and no content came before. */
  let isBlocked = false;
  /** One candidate's end is the reply's; of several each is noted. */
  const lastMark = ends === undefined ? endMark : blockMark;
  let isOver = false;
  let begun = false;
  let spoken = 0;
  /** Text that was never framed; only the end says what it is. */
  const unframed = unframedText();
  /** The figures came with the finish, or behind it. */
  let isWhole = false;

  const begin = (): void => {
    begun = true;
    spoken += 1;
  };

  const isComplete = (): boolean => isOver || ends?.allEnded() === true;

  /** Takes in an event that goes on as `bytes`, which are one line of data. */
  const take = (bytes: Buffer, document: JsonValue | undefined): void => {
    const text = bytes.toString('latin1');
    let says = counted.add(text);
    isOver ||= lastMark.test(text);
    isBlocked ||= isOver && !begun && !says && blockMark.test(text);
    if (ends !== undefined) noteEnds(bytes, ends);
    if (!says || hasOtherParts(text)) {
      const parsed = document ?? documentsIn(bytes)[0] ?? null;
      says ||= saysSomethingIn(parsed);
      counted.addTokens(partTokens(parsed));
    }
    if (says) begin();
    bounds.add(bytes.length, says);
    const usageAt = lastValueOf(bytes, usageName);
    if (usageAt === undefined) return;
    if (figures.note(text.slice(usageAt), counted.tokens())) isWhole = isComplete();
  };

  /** Looks into every event: what goes on of the block, as Google's parsers read it. */
  const reframe = (block: Uint8Array): Uint8Array => {
    const kept: Uint8Array[] = [];
    for (const event of parseEvents(block)) {
      const text = event.data ?? event.unframedText;
      const document = parseJson(text);
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

  /** An error may tell what the upstream has billed. */
  const noteUsage = (document: JsonValue | undefined): void => {
    const usage =
      member(document, 'usageMetadata') ?? member(member(document, 'error'), 'usageMetadata');
    if (!isJsonObject(usage)) return;
    figures.note(jsonText(usage), counted.tokens());
  };

  const pass = (block: Uint8Array): Uint8Array => {
    if (block.length === 0) return block;
    const bytes = asBuffer(block);
    const text = bytes.toString('latin1');
    const isPlain = isGoogleFramed(bytes, text) && !errorMark.test(text);
    if (!isPlain) return reframe(block);
    if (ends === undefined && !hasOtherParts(text) && takeAll(bytes, text)) return block;
    for (let at = 0; at < bytes.length; ) {
      const lineEnd = bytes.indexOf(lineFeed, at);
      const end = lineEnd + (bytes[lineEnd + 1] === carriageReturn ? 3 : 2);
      take(bytes.subarray(at, end), undefined);
      at = end;
    }
    return block;
  };

  /**
   * Takes in plain events together, each with text and with figures: nearly all are so. False where
   * they are others.
   */
  const takeAll = (bytes: Buffer, text: string): boolean => {
    const usageAt = text.lastIndexOf(usageMember);
    if (usageAt === -1) return false;
    const usage = text.slice(text.indexOf('{', usageAt));
    // What comes behind the last figures is counted by itself.
    if (usage.includes(dataMark) || !areLastFiguresFull(text, usage)) return false;
    if (!counted.add(text)) return false;
    isOver ||= text.includes(endName) && lastMark.test(text);
    begin();
    bounds.add(bytes.length, true);
    figures.note(usage, counted.tokens());
    isWhole = isComplete();
    return true;
  };

  /** An event whose blank line never came counts if it is whole; half of one is of no use. */
  const last = (rest: Uint8Array): Uint8Array => {
    const [event] = parseEvents(rest);
    const isWholeEvent =
      event !== undefined && parseJson(event.data ?? event.unframedText) !== undefined;
    if (isWholeEvent) return pass(rest);
    if (event?.data === undefined) unframed.add(event?.unframedText ?? '');
    judgeUnframed();
    return emptyBytes;
  };

  /** A document that came in place of events, over several lines. */
  const judgeUnframed = (): void => {
    const text = unframed.take();
    if (begun || failure !== undefined || text.trim() === '') return;
    const document = parseJson(text) ?? null;
    failure = geminiInBandFailure(document) ?? brokenReply('upstream_bad_stream');
  };

  return {
    write: (chunk) => pass(cutter.push(chunk)),
    end: () => last(cutter.rest()),
    hasBegun: () => begun,
    finished: () => false,
    complete: isComplete,
    failure: () => failure,
    // A blocked prompt of which no usage was stated costs nothing.
    usage: () => figures.soFar(counted.tokens(), isWhole) ?? (isBlocked ? noUsage : undefined),
    countedTokens: counted.tokens,
    progress: () => spoken,
    breakOff: (error) => {
      const text = geminiErrorText(error);
      // Two writes: the event for the parsers that read events, the bare document for those that
      // only look at what is left over (ARCHITECTURE Q).
      return [Buffer.from(`data: ${text}\r\n\r\n`), Buffer.from(text)];
    },
  };
}

/** A candidate begins with its first part; Google leaves the index 0 out. */
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
    ({ data, unframedText }) => parseJson(data ?? unframedText) ?? null,
  );
}

/** An error by its content, by the event's name, or as text glued to a good event. */
function eventFailure(
  { name, data, unframedText }: SseEvent,
  document: JsonValue | undefined,
): FailureReport | undefined {
  const unframed = data === undefined || unframedText === '' ? undefined : parseJson(unframedText);
  const failure = geminiInBandFailure(document ?? null) ?? geminiInBandFailure(unframed ?? null);
  return failure ?? (name === 'error' ? geminiFailure(502, Buffer.from(data ?? '')) : undefined);
}

/**
 * Calls and media, whose content is no text. A search goes from one first letter to the next: these
 * are rare.
 */
function hasOtherParts(text: string): boolean {
  return text.includes('Call"') || text.includes('Data"');
}

/** What is data and no part of a reply: plain text, half a document, a bare string or list. */
function faultOf({ data }: SseEvent, document: JsonValue | undefined): FailureReport | undefined {
  if (data === undefined || data.trim() === '' || data.trim() === '[DONE]') return undefined;
  return isJsonObject(document) ? undefined : brokenReply('upstream_bad_stream');
}

/** The event as Google's parsers take it; undefined where it carries no document. */
function frame(
  event: SseEvent,
  text: string,
  document: JsonValue | undefined,
): Uint8Array | undefined {
  // What has none of a reply's members is none, but for the empty object that keeps alive.
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
 * Whether every event is exactly one line of `data: ` and an object with candidates, with a blank
 * line of the same kind behind it.
 * LF then CRLF ends no event for `@google/genai`, nor any mixture for `@google/generative-ai`; that
 * one also dies on bytes that are not UTF-8, and its regular expression stumbles over a CR in the
 * line and over two separators.
 */
function isGoogleFramed(bytes: Buffer, text: string, withCandidates = true): boolean {
  if (!isAscii(bytes) && !isPlainUtf8(bytes)) return false;
  let lineReturn = text.indexOf('\r');
  let candidatesAt = -1;
  for (let at = 0; at < text.length; ) {
    const start = at;
    const lineEnd = text.indexOf('\n', at);
    if (lineEnd === -1 || !text.startsWith(dataMark, at)) return false;
    // Searched for again only once it is passed: a stream without any would be read to its end.
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

/** Whether it is UTF-8 without the separators that only Unicode takes for line ends. */
function isPlainUtf8(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(lineSeparator) && !bytes.includes(paragraphSeparator);
}
