/**
 * Watches a relayed Messages stream: rebuilds errors, reads the usage, and knows whether the stream
 * was complete. Events are passed on as they came, with the spaces by which Anthropic hides the
 * length of their content.
 */

import { parseBounded } from '../../bounded-json.ts';
import {
  concatBytes,
  emptyBytes,
  eventCutter,
  parseEvent,
  parseEvents,
  type SseEvent,
} from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import { framedEvent } from '../framed-event.ts';
import { brokenReply, type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { type UnframedText, unframedText } from '../unframed-text.ts';
import { anthropicInBandFailure } from './errors.ts';
import { errorEvent } from './stream-events.ts';
import { type MessageRecord, messageRecord, recordEvent, recordUsage } from './stream-record.ts';

/** The state of the tap of one reply. */
interface TapState {
  readonly record: MessageRecord;
  /** Text outside of any event. What it is can be decided only at the end. */
  readonly unframed: UnframedText;
  failure: FailureReport | undefined;
  /** `message_stop` has arrived. */
  done: boolean;
}

/** Creates the tap of one reply. `requestId` is repeated in an error that ends it. */
export function messagesStreamTap(requestId: string): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const record = messageRecord();
  const { counted, usage } = record;
  const tap: TapState = { record, unframed: unframedText(), failure: undefined, done: false };
  return {
    write: (chunk) => (isOver(tap) ? emptyBytes : pass(tap, cutter.push(chunk))),
    end: () => (isOver(tap) ? emptyBytes : passLastEvent(tap, cutter.rest())),
    hasBegun: () => record.begun,
    finished: () => tap.done,
    // Without `message_stop` some clients take the reply for a whole one although it is not.
    complete: () => tap.done,
    failure: () => tap.failure,
    usage: () => usage.soFar(counted.tokens()),
    countedTokens: counted.tokens,
    progress: () => record.contentBlocks,
    breakOff: (error: GatewayError) => [Buffer.from(errorEvent(error, requestId))],
  };
}

function isOver({ done, failure }: TapState): boolean {
  return done || failure !== undefined;
}

/** Passes whole events on. Usually a block is passed on whole and not copied. */
function pass(tap: TapState, block: Uint8Array): Uint8Array {
  const { record } = tap;
  const kept: Uint8Array[] = [];
  let from = 0;
  let at = 0;
  while (at < block.length && !isOver(tap)) {
    const event = parseEvent(block, at);
    const end = at + event.raw.length;
    const before = record.contentBlocks;
    const bytes = acceptEvent(tap, event);
    record.bounds.add(event.raw.length, record.contentBlocks !== before);
    if (bytes !== event.raw) {
      if (from < at) kept.push(block.subarray(from, at));
      if (bytes !== undefined) kept.push(bytes);
      from = end;
    }
    at = end;
  }
  if (from === 0 && at === block.length) return block;
  if (from < at) kept.push(block.subarray(from, at));
  return concatBytes(kept);
}

/**
 * Records an event; returns the bytes that are passed on to the caller, undefined for none.
 * Comments, empty data and documents without a type are not content.
 */
function acceptEvent(tap: TapState, event: SseEvent): Uint8Array | undefined {
  const { record } = tap;
  const { data, name, unframedText: glued } = event;
  if (glued !== '') tap.unframed.add(`${glued}\n`);
  if (data === undefined || data.trim() === '' || data.trim() === '[DONE]') {
    if (name === 'error') tap.failure = brokenReply('upstream_error');
    return undefined;
  }
  const document = parseBounded(data);
  tap.failure = failureIn(name, document);
  if (tap.failure !== undefined || !isJsonObject(document)) {
    if (isJsonObject(document)) recordUsage(record, document);
    return undefined;
  }
  const type = typeOf(document, name);
  if (type === undefined) return undefined;
  recordEvent(record, type, document);
  tap.done = type === 'message_stop';
  return framedEvent(event, type);
}

/** An error by its content, by the event's name, or because the data can't be parsed. */
function failureIn(
  name: string | undefined,
  document: JsonValue | undefined,
): FailureReport | undefined {
  const failure = document === undefined ? undefined : anthropicInBandFailure(document);
  if (failure !== undefined) return failure;
  if (name === 'error') return brokenReply('upstream_error');
  return isJsonObject(document) ? undefined : brokenReply('upstream_bad_stream');
}

function typeOf(document: JsonObject, name: string | undefined): string | undefined {
  const type = member(document, 'type');
  return typeof type === 'string' ? type : name;
}

/**
 * Handles a last event without its blank line, which most clients would not read. It counts if it
 * is whole; the caller gets it only with its blank line.
 */
function passLastEvent(tap: TapState, rest: Uint8Array): Uint8Array {
  const [event] = parseEvents(rest);
  let bytes: Uint8Array | undefined;
  if (event !== undefined) {
    const { data } = event;
    const isWhole = data === undefined || parseBounded(data) !== undefined;
    if (isWhole) bytes = acceptEvent(tap, { ...event, isDataOnly: false, raw: emptyBytes });
  }
  checkUnframed(tap);
  // Anything else would be followed by an error.
  return tap.done && bytes !== undefined ? bytes : emptyBytes;
}

/** Reads a document that was sent in place of events. */
function checkUnframed(tap: TapState): void {
  const text = tap.unframed.take();
  if (isOver(tap) || tap.record.begun || text.trim() === '') return;
  const document = parseBounded(text);
  const failure = document === undefined ? undefined : anthropicInBandFailure(document);
  tap.failure = failure ?? brokenReply('upstream_bad_stream');
}
