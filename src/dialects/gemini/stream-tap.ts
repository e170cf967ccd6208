/**
 * Watches a relayed native stream. Google's own parsers are far stricter than the SSE standard
 * (WIRE §4.3), so an event they can't read is re-framed; an error sent in-band is rebuilt.
 */
import { eventCutter, eventsIn, joined, type SseEvent } from '../../bytes/sse.ts';
import { type JsonValue, parseJson } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { type FailureReport, maxEventBytes, type StreamTap } from '../dialect.ts';
import { endsWithText, lastValueOf } from '../last-value.ts';
import { tokenCount } from '../token-count.ts';
import { geminiErrorText, geminiInBandFailure } from './errors.ts';
import { geminiUsage } from './usage.ts';

const errorName = Buffer.from('"error"');
const usageName = Buffer.from('"usageMetadata"');
const finishName = Buffer.from('"finishReason"');
const blockName = Buffer.from('"blockReason"');
const partsName = Buffer.from('"parts"');
const lineSeparator = Buffer.from('\u2028');
const paragraphSeparator = Buffer.from('\u2029');

export function geminiStreamTap(): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const counted = tokenCount();
  let failure: FailureReport | undefined;
  let finished = false;
  let saidSomething = false;
  /** The last block that held figures: they are read only when somebody asks. */
  let figures: Uint8Array | undefined;

  const reframe = (block: Uint8Array): Uint8Array => {
    const kept: Uint8Array[] = [];
    for (const event of eventsIn(block)) {
      const text = event.data ?? event.loose;
      const document = parseJson(text);
      failure = document === undefined ? undefined : geminiInBandFailure(document);
      if (failure !== undefined) break;
      const framed = frame(event, text, document);
      if (framed !== undefined) kept.push(framed);
    }
    return joined(kept);
  };

  const pass = (block: Uint8Array): Uint8Array => {
    if (block.length === 0) return block;
    const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
    counted.add(bytes);
    finished ||= endsWithText(bytes, finishName) || endsWithText(bytes, blockName);
    saidSomething ||= bytes.includes(partsName);
    if (lastValueOf(bytes, usageName) !== undefined) figures = block;
    return bytes.includes(errorName) || !isGoogleFramed(bytes) ? reframe(block) : block;
  };

  return {
    write: (chunk) => pass(cutter.push(chunk)),
    end: () => pass(cutter.rest()),
    finished: () => false,
    // Without a candidate's content there is nothing to finish: an empty answer is whole.
    complete: () => finished || !saidSomething,
    failure: () => failure,
    usage: () => (figures === undefined ? undefined : lastUsage(figures)),
    countedTokens: () => counted.tokens(),
    breakOff: (error) => {
      const text = geminiErrorText(error);
      // Two writes: the event for the parsers that read events, the bare document for those that
      // only look at what is left over (ARCHITECTURE Q).
      return [Buffer.from(`data: ${text}\r\n\r\n`), Buffer.from(text)];
    },
  };
}

function lastUsage(block: Uint8Array): Usage | undefined {
  return eventsIn(block)
    .map((event) => geminiUsage(parseJson(event.data ?? event.loose) ?? null))
    .filter((usage) => usage !== undefined)
    .at(-1);
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
 * Whether every event is exactly one line of `data: ` and a blank line behind it, without the two
 * separators that the regular expression of `@google/generative-ai` stumbles over.
 */
function isGoogleFramed(block: Uint8Array): boolean {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
  if (bytes.includes(lineSeparator) || bytes.includes(paragraphSeparator)) return false;
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(0x0a, at);
    if (end === -1 || !startsWithData(bytes, at)) return false;
    const blank = bytes[end + 1] === 0x0d ? end + 2 : end + 1;
    if (bytes[blank] !== 0x0a) return false;
    at = blank + 1;
  }
  return true;
}

/** `data: {` */
const dataMark: readonly number[] = [0x64, 0x61, 0x74, 0x61, 0x3a, 0x20, 0x7b];

function startsWithData(bytes: Uint8Array, at: number): boolean {
  return dataMark.every((byte, index) => bytes[at + index] === byte);
}
