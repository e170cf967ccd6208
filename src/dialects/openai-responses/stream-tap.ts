/**
 * Watches a relayed Responses stream: rebuilds errors, reads the usage, and knows whether the
 * stream was complete. Events are passed on as they came. The last one is held back until `end`, so
 * that what must be stored before a caller can refer to the reply is stored in time.
 */
import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { emptyBytes, eventCutter, parseEvents, type SseEvent } from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { isJsonObject, type JsonObject, member } from '../../json.ts';
import { type DeltaTemplate, deltaTemplate } from '../delta-template.ts';
import { type EventHandler, passEvents } from '../pass-events.ts';
import { brokenReply, type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { type UnframedText, unframedText } from '../unframed-text.ts';
import { responsesDeltaParts } from './delta-parts.ts';
import { eventDocument } from './event-document.ts';
import { eventFailure, unframedFailure } from './failure.ts';
import { failureEvents } from './failure-events.ts';
import { isStillRunning, knownEventEnd } from './known-events.ts';
import { isTerminal, relayedEvent } from './relayed-event.ts';
import {
  failingResponse,
  type ResponseRecord,
  recordDeltas,
  recordEvent,
  recordKnown,
  recordUsage,
  responseRecord,
} from './stream-record.ts';
import { withToolCalls } from './tool-calls.ts';

/** The state of the tap of one reply. */
interface TapState {
  readonly parse: typeof parseBounded;
  readonly record: ResponseRecord;
  readonly template: DeltaTemplate;
  /** Text outside of any event. What it is can be decided only at the end. */
  readonly unframed: UnframedText;
  failure: FailureReport | undefined;
  /** The last event has arrived. */
  done: boolean;
  /** The last event, until `end` returns it. */
  held: Uint8Array;
}

/** Creates the tap of one reply. */
export function responsesStreamTap(parse: typeof parseBounded = parseBounded): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const record = responseRecord();
  const { counted, tools, usage } = record;
  const tap: TapState = {
    parse,
    record,
    template: deltaTemplate(responsesDeltaParts),
    unframed: unframedText(),
    failure: undefined,
    done: false,
    held: emptyBytes,
  };
  const handler: EventHandler = {
    record,
    isOver: () => isOver(tap),
    passKnown: (text, start) => passKnown(tap, text, start),
    accept: (event, text) => acceptEvent(tap, event, text),
  };
  return {
    write: (chunk) => (isOver(tap) ? emptyBytes : pass(tap, handler, cutter.push(chunk))),
    end: () => {
      if (!isOver(tap)) passLastEvent(tap, cutter.rest());
      const last = tap.held;
      tap.held = emptyBytes;
      return last;
    },
    hasBegun: () => record.begun,
    finished: () => tap.done,
    complete: () => tap.done,
    failure: () => tap.failure,
    usage: () => withToolCalls(usage.soFar(counted.tokens()), tools.calls()),
    countedTokens: counted.tokens,
    progress: () => record.contentBlocks,
    referable: () => ({ replyId: record.id, items: record.items }),
    breakOff: (error: GatewayError) =>
      failureEvents(error, failingResponse(record)).map((text) => Buffer.from(text)),
  };
}

function isOver({ done, failure }: TapState): boolean {
  return done || failure !== undefined;
}

/** Passes whole events on. Deltas, as nearly all are, are not parsed one by one. */
function pass(tap: TapState, handler: EventHandler, block: Uint8Array): Uint8Array {
  const passed = passEvents(block, asBuffer(block).toString('latin1'), handler);
  if (tap.failure !== undefined) readUsageAfter(tap, block.subarray(passed.end));
  return passed.bytes;
}

/**
 * Records the events from `start` on that need not be parsed: deltas that match the template, and
 * those that are known by their names. Returns the end of the last one.
 */
function passKnown(tap: TapState, text: string, start: number): number {
  const { record } = tap;
  let at = start;
  while (at < text.length) {
    const deltasEnd = passDeltas(tap, text, at);
    const end = knownEventEnd(text, deltasEnd, record.hasDeltas);
    if (end === -1) {
      at = deltasEnd;
      break;
    }
    recordKnown(record, !isStillRunning(text, deltasEnd));
    at = end;
  }
  if (at > start) record.bounds.add(at - start, true);
  return at;
}

/** Counts the deltas from `start` on that match the template; returns the end of the last one. */
function passDeltas({ record, template }: TapState, text: string, start: number): number {
  const { counted } = record;
  let events = 0;
  let at = start;
  for (let end = template.match(text, at); end !== -1; end = template.match(text, at)) {
    counted.addString(text, template.start, template.contentEnd);
    events += 1;
    at = end;
  }
  if (events > 0) recordDeltas(record, events, text, template.numberStart);
  return at;
}

/**
 * Records an event, also given as latin1; returns the bytes that are passed on to the caller,
 * undefined for none. Comments, empty data and events of other APIs are not content.
 */
function acceptEvent(tap: TapState, event: SseEvent, text: string): Uint8Array | undefined {
  const { record } = tap;
  const { data, name } = event;
  if (data === undefined || data.trim() === '' || data.trim() === '[DONE]') {
    tap.failure =
      unframedFailure(event.unframedText) ??
      (name === 'error' ? brokenReply('upstream_error') : undefined);
    if (event.unframedText !== '') tap.unframed.add(`${event.unframedText}\n`);
    return undefined;
  }
  const document = eventDocument(data, tap.parse);
  if (document === undefined) {
    tap.failure = brokenReply('upstream_bad_stream');
    return undefined;
  }
  const { members } = document;
  const type = typeOf(members, name);
  // An error may be glued to an event.
  tap.failure = eventFailure(type, members) ?? unframedFailure(event.unframedText);
  if (tap.failure !== undefined) {
    recordUsage(record, members);
    return undefined;
  }
  if (type === undefined || !type.startsWith('response.')) return undefined;
  recordEvent(record, type, { ...document, data });
  const framed = relayedEvent(event, type);
  if (!isTerminal(type, members)) {
    // What matches the template is passed on unchanged, so it must be in the form of this one.
    if (framed === event.raw && type.endsWith('.delta')) tap.template.learn(text, members);
    return framed;
  }
  tap.done = true;
  tap.held = framed;
  return undefined;
}

/** Older clients of OpenAI take any event of this name for an error, whatever its data say. */
function typeOf(members: JsonObject, name: string | undefined): string | undefined {
  if (name === 'error') return name;
  const type = member(members, 'type');
  return typeof type === 'string' ? type : name;
}

/** OpenAI states the usage of a failed response after the error that ends its stream. */
function readUsageAfter({ record, parse }: TapState, rest: Uint8Array): void {
  for (const { data } of parseEvents(rest)) {
    const members = data === undefined ? undefined : eventDocument(data, parse)?.members;
    if (members !== undefined && isJsonObject(member(members, 'response')))
      recordUsage(record, members);
  }
}

/**
 * Handles a last event without its blank line, which most clients would not read. It counts if it
 * is whole and ends the stream; anything else would be followed by an error.
 */
function passLastEvent(tap: TapState, rest: Uint8Array): void {
  const [event] = parseEvents(rest);
  if (event !== undefined) {
    const isWhole = event.data === undefined || eventDocument(event.data, tap.parse) !== undefined;
    const { nextNumber } = tap.record;
    if (isWhole) acceptEvent(tap, { ...event, isDataOnly: false, raw: emptyBytes }, '');
    // The caller does not get it, so the error that follows has its number.
    tap.record.nextNumber = nextNumber;
  }
  checkUnframed(tap);
}

/** Reads a document that was sent over several lines instead of events. */
function checkUnframed(tap: TapState): void {
  const text = tap.unframed.take();
  if (isOver(tap) || tap.record.begun || text.trim() === '') return;
  tap.failure = unframedFailure(text) ?? brokenReply('upstream_bad_stream');
}
