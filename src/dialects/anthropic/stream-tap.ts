/**
 * Watches a relayed Messages stream: rebuilds errors, reads the usage, and knows whether the stream
 * was complete. Events are passed on as they came, with the spaces by which Anthropic hides the
 * length of their content.
 */

import { isUtf8 } from 'node:buffer';
import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { emptyBytes, eventCutter, parseEvents, type SseEvent } from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import { type DeltaTemplate, deltaTemplate } from '../delta-template.ts';
import { framedEvent } from '../framed-event.ts';
import { type EventHandler, passEvents } from '../pass-events.ts';
import { brokenReply, type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { type UnframedText, unframedText } from '../unframed-text.ts';
import { isPlainContent, messagesDeltaParts } from './delta-parts.ts';
import { anthropicInBandFailure } from './errors.ts';
import { errorEvent, pingEvent } from './stream-events.ts';
import {
  type MessageRecord,
  messageRecord,
  recordDeltas,
  recordEvent,
  recordUsage,
} from './stream-record.ts';

/** The state of the tap of one reply. */
interface TapState {
  readonly record: MessageRecord;
  readonly template: DeltaTemplate;
  readonly parsesAll: boolean;
  /** Text outside of any event. What it is can be decided only at the end. */
  readonly unframed: UnframedText;
  failure: FailureReport | undefined;
  /** `message_stop` has arrived. */
  done: boolean;
}

/**
 * Creates the tap of one reply. `requestId` is repeated in an error that ends it. `parsesAll`: no
 * event is recognised without parsing it. What is recorded does not depend on that.
 */
export function messagesStreamTap(
  requestId: string,
  { parsesAll = false }: { readonly parsesAll?: boolean } = {},
): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const record = messageRecord();
  const { counted, usage } = record;
  const tap: TapState = {
    record,
    template: deltaTemplate(messagesDeltaParts),
    parsesAll,
    unframed: unframedText(),
    failure: undefined,
    done: false,
  };
  const handler: EventHandler = {
    record,
    isOver: () => isOver(tap),
    passKnown: (text, start) => passKnown(tap, text, start),
    accept: (event, text) => acceptEvent(tap, event, text),
  };
  return {
    write: (chunk) => (isOver(tap) ? emptyBytes : pass(tap, handler, cutter.push(chunk))),
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

/** Passes whole events on. Deltas, as nearly all are, are not parsed one by one. */
function pass(tap: TapState, handler: EventHandler, block: Uint8Array): Uint8Array {
  // Invalid bytes become longer when they are decoded, so their events are parsed.
  const canBeSearched = !tap.parsesAll && isUtf8(block);
  return passEvents(block, canBeSearched ? asBuffer(block).toString('latin1') : '', handler).bytes;
}

/**
 * Records the events from `start` on that need not be parsed: deltas that match the template, and
 * pings. Returns the end of the last one.
 */
function passKnown(tap: TapState, text: string, start: number): number {
  const { bounds } = tap.record;
  let at = passDeltas(tap, text, start);
  while (text.startsWith(pingEvent, at)) {
    const end = at + pingEvent.length;
    bounds.add(pingEvent.length, false);
    at = passDeltas(tap, text, end);
  }
  return at;
}

/** Counts the deltas from `start` on that match the template; returns the end of the last one. */
function passDeltas({ record, template }: TapState, text: string, start: number): number {
  const { counted } = record;
  let events = 0;
  let at = start;
  for (let end = template.match(text, at); end !== -1; end = template.match(text, at)) {
    const { start: from, contentEnd, reasoning } = template;
    if (!isPlainContent(text, from, contentEnd)) break;
    counted.addString(text, from, contentEnd, reasoning);
    events += 1;
    at = end;
  }
  if (events === 0) return start;
  recordDeltas(record, events);
  record.bounds.add(at - start, true);
  return at;
}

/**
 * Records an event, also given as latin1; returns the bytes that are passed on to the caller,
 * undefined for none. Comments, empty data and documents without a type are not content.
 */
function acceptEvent(tap: TapState, event: SseEvent, text: string): Uint8Array | undefined {
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
  const framed = framedEvent(event, type);
  // What matches the template is passed on unchanged, so it must be in the form of this one.
  if (framed === event.raw && type === 'content_block_delta') tap.template.learn(text, document);
  return framed;
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
    if (isWhole) bytes = acceptEvent(tap, { ...event, isDataOnly: false, raw: emptyBytes }, '');
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
