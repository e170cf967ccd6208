/**
 * Watches a relayed native stream. Google's own parsers are far stricter than the SSE standard
 * (WIRE §4.3), so an event they can't read is re-framed; an error sent in-band is rebuilt.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { asBuffer } from '../../bytes/decode.ts';
import {
  beginsWith,
  eventCutter,
  eventStart,
  eventsIn,
  hasData,
  joined,
  noBytes,
  type SseEvent,
} from '../../bytes/sse.ts';
import { items, type JsonValue, member, parseJson } from '../../json.ts';
import { type CandidateEnds, candidateEnds } from '../candidate-ends.ts';
import { lastValueOf } from '../last-value.ts';
import { type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { tokenCount } from '../token-count.ts';
import { geminiErrorText, geminiFailure, geminiInBandFailure } from './errors.ts';
import { geminiUsage } from './usage.ts';

// What only a few events hold. Names that stand in an answer's text are escaped and don't match.
const errorMark = /error"/;
const blockMark = /"blockReason"\s*:\s*"[^"]/;
const endMark = /"(?:finish|block)Reason"\s*:\s*"[^"]/;
const partsName = Buffer.from('"parts"');
const usageName = Buffer.from('"usageMetadata"');
const lineSeparator = Buffer.from('\u2028');
const paragraphSeparator = Buffer.from('\u2029');
const dataMark = Buffer.from('data: {');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * A fresh one for each reply. `candidates`: where the caller asked for several, each event is
 * parsed, for one that ends says nothing of the others.
 */
export function geminiStreamTap(candidates: number): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const counted = tokenCount();
  const ends = candidates > 1 ? candidateEnds() : undefined;
  let failure: FailureReport | undefined;
  /** One candidate's end is the reply's; of several each is noted. */
  const lastMark = ends === undefined ? endMark : blockMark;
  let isOver = false;
  let saidSomething = false;
  let spoken = 0;
  /** The last block that held figures, and where: they are read only when somebody asks. */
  let figures: Uint8Array | undefined;
  let figuresAt = 0;

  const reframe = (block: Uint8Array): Uint8Array => {
    const kept: Uint8Array[] = [];
    for (const event of eventsIn(block)) {
      const text = event.data ?? event.loose;
      const document = parseJson(text);
      failure = eventFailure(event, document);
      if (failure !== undefined) break;
      const framed = frame(event, text, document);
      if (framed !== undefined) kept.push(framed);
    }
    return joined(kept);
  };

  const pass = (block: Uint8Array): Uint8Array => {
    if (block.length === 0) return block;
    if (hasData(block)) spoken += 1;
    const bytes = asBuffer(block);
    const text = bytes.toString('latin1');
    isOver ||= lastMark.test(text);
    if (ends !== undefined) noteEnds(block, ends);
    saidSomething ||= bytes.includes(partsName);
    const usageAt = lastValueOf(bytes, usageName);
    if (usageAt !== undefined) {
      figures = block;
      figuresAt = usageAt;
    }
    const passed = errorMark.test(text) || !isGoogleFramed(bytes) ? reframe(block) : block;
    counted.add(passed);
    return passed;
  };

  /** An event whose blank line never came counts if it is whole; half of one is of no use. */
  const last = (rest: Uint8Array): Uint8Array => {
    const [event] = eventsIn(rest);
    const isWhole = event !== undefined && parseJson(event.data ?? event.loose) !== undefined;
    return isWhole ? pass(rest) : noBytes;
  };

  return {
    write: (chunk) => pass(cutter.push(chunk)),
    end: () => last(cutter.rest()),
    finished: () => false,
    // Without a candidate's content there is nothing to finish: an empty answer is whole.
    complete: () => isOver || ends?.allEnded() === true || !saidSomething,
    failure: () => failure,
    usage: () => {
      if (figures === undefined) return undefined;
      const last = documentsIn(figures.subarray(eventStart(figures, figuresAt)));
      // Where the last is broken those before it still count.
      return geminiUsage(last) ?? geminiUsage(documentsIn(figures));
    },
    countedTokens: () => counted.tokens(),
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
  return eventsIn(block).map(({ data, loose }) => parseJson(data ?? loose) ?? null);
}

/** An error by its content, by the event's name, or as text glued to a good event. */
function eventFailure(
  { name, data, loose }: SseEvent,
  document: JsonValue | undefined,
): FailureReport | undefined {
  const unframed = data === undefined || loose === '' ? undefined : parseJson(loose);
  const failure = geminiInBandFailure(document ?? null) ?? geminiInBandFailure(unframed ?? null);
  return failure ?? (name === 'error' ? geminiFailure(502, Buffer.from(data ?? '')) : undefined);
}

/** The event as Google's parsers take it; undefined where it carries no document. */
function frame(
  event: SseEvent,
  text: string,
  document: JsonValue | undefined,
): Uint8Array | undefined {
  if (text === '' || text === '[DONE]') return undefined;
  if (isGoogleFramed(asBuffer(event.raw))) return event.raw;
  if (event.data === undefined && document === undefined) return undefined;
  const oneLine = text
    .replaceAll('\n', ' ')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
  return Buffer.from(`data: ${oneLine}\r\n\r\n`);
}

/**
 * Whether every event is exactly one line of `data: ` with a blank line of the same kind behind it.
 * LF then CRLF ends no event for `@google/genai`, nor any mixture for `@google/generative-ai`; that
 * one also dies on bytes that are not UTF-8, and its regular expression stumbles over a CR in the
 * line and over two separators.
 */
function isGoogleFramed(bytes: Buffer): boolean {
  if (!isAscii(bytes) && !isPlainUtf8(bytes)) return false;
  let lineReturn = bytes.indexOf(carriageReturn);
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf(lineFeed, at);
    if (lineEnd === -1 || !beginsWith(bytes, at, dataMark)) return false;
    // Searched for again only once it is passed: a stream without any would be read to its end.
    if (lineReturn !== -1 && lineReturn < at) lineReturn = bytes.indexOf(carriageReturn, at);
    const hasReturn = lineReturn !== -1 && lineReturn < lineEnd;
    if (hasReturn && lineReturn !== lineEnd - 1) return false;
    at = lineEnd + (hasReturn ? 3 : 2);
    if (bytes[at - 1] !== lineFeed || (hasReturn && bytes[at - 2] !== carriageReturn)) return false;
  }
  return true;
}

/** Whether it is UTF-8 without the separators that only Unicode takes for line ends. */
function isPlainUtf8(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(lineSeparator) && !bytes.includes(paragraphSeparator);
}
