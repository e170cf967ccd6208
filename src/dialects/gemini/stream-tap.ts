/**
 * Watches a relayed native stream. Google's own parsers are far stricter than the SSE standard
 * (WIRE §4.3), so an event they can't read is re-framed; an error sent in-band is rebuilt.
 */
import { isUtf8 } from 'node:buffer';
import { asBuffer } from '../../bytes/decode.ts';
import { eventCutter, eventsIn, hasData, joined, noBytes, type SseEvent } from '../../bytes/sse.ts';
import { items, type JsonValue, member, parseJson } from '../../json.ts';
import { type CandidateEnds, candidateEnds } from '../candidate-ends.ts';
import { endsWithText, lastValueOf } from '../last-value.ts';
import { type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { tokenCount } from '../token-count.ts';
import { geminiErrorText, geminiFailure, geminiInBandFailure } from './errors.ts';
import { geminiUsage } from './usage.ts';

const errorName = Buffer.from('error"');
const usageName = Buffer.from('"usageMetadata"');
const finishName = Buffer.from('"finishReason"');
const blockName = Buffer.from('"blockReason"');
const partsName = Buffer.from('"parts"');
const lineSeparator = Buffer.from('\u2028');
const paragraphSeparator = Buffer.from('\u2029');
const lf = Buffer.from('\n');
const crlf = Buffer.from('\r\n');

/**
 * A fresh one for each reply. `candidates`: where the caller asked for several, each event is
 * parsed, for one that ends says nothing of the others.
 */
export function geminiStreamTap(candidates: number): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const counted = tokenCount();
  const ends = candidateEnds();
  let failure: FailureReport | undefined;
  let finished = false;
  let blocked = false;
  let saidSomething = false;
  let spoken = 0;
  /** The last block that held figures: they are read only when somebody asks. */
  let figures: Uint8Array | undefined;

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
    blocked ||= endsWithText(bytes, blockName);
    if (candidates > 1) noteEnds(block, ends);
    finished = candidates > 1 ? ends.allEnded() : finished || endsWithText(bytes, finishName);
    saidSomething ||= bytes.includes(partsName);
    if (lastValueOf(bytes, usageName) !== undefined) figures = block;
    const passed = bytes.includes(errorName) || !isGoogleFramed(bytes) ? reframe(block) : block;
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
    complete: () => finished || blocked || !saidSomething,
    failure: () => failure,
    usage: () => (figures === undefined ? undefined : geminiUsage(documentsIn(figures))),
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
  if (isGoogleFramed(event.raw)) return event.raw;
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
function isGoogleFramed(block: Uint8Array): boolean {
  const bytes = asBuffer(block);
  if (!isUtf8(bytes)) return false;
  if (bytes.includes(lineSeparator) || bytes.includes(paragraphSeparator)) return false;
  for (let at = 0; at < bytes.length; ) {
    const lineFeed = bytes.indexOf(0x0a, at);
    if (lineFeed === -1 || !startsWithData(bytes, at)) return false;
    const firstReturn = bytes.subarray(at, lineFeed).indexOf(0x0d);
    if (firstReturn !== -1 && at + firstReturn !== lineFeed - 1) return false;
    const blankLine = firstReturn === -1 ? lf : crlf;
    at = lineFeed + 1 + blankLine.length;
    if (!bytes.subarray(lineFeed + 1, at).equals(blankLine)) return false;
  }
  return true;
}

/** `data: {` */
const dataMark: readonly number[] = [0x64, 0x61, 0x74, 0x61, 0x3a, 0x20, 0x7b];

function startsWithData(bytes: Uint8Array, at: number): boolean {
  return dataMark.every((byte, index) => bytes[at + index] === byte);
}
