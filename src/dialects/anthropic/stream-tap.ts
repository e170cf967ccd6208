/**
 * Watches a relayed Messages stream: rebuilds errors, reads the usage, and knows whether the stream
 * was complete. Events are passed on as they came, with the spaces by which Anthropic hides the
 * length of their content.
 */

import { isUtf8 } from 'node:buffer';
import { parseBounded } from '../../bounded-json.ts';
import { emptyBytes, parseEvents, type SseEvent } from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import { type ContentCount, contentCount } from '../taps/content-count.ts';
import {
  type DeltaParts,
  DeltaTemplate,
  onlyContent,
  spacesAtEnd,
} from '../taps/delta-template.ts';
import {
  checkUnframed,
  eventTap,
  framedEvent,
  recordContent,
  type StreamRecord,
  streamRecord,
} from '../taps/event-tap.ts';
import { brokenReply, type FailureReport, type StreamTap } from '../taps/tap.ts';
import { type StreamUsage, streamUsage } from '../usage/stream-usage.ts';
import { anthropicInBandFailure } from './errors.ts';
import { errorEvent, pingEvent } from './stream-events.ts';
import { anthropicUsageReader } from './usage.ts';

interface MessageRecord extends StreamRecord {
  readonly counted: ContentCount;
  readonly usage: StreamUsage;
  readonly template: DeltaTemplate;
  readonly parsesAll: boolean;
  /** A reason to stop has come; what follows is usage only. */
  hasStopReason: boolean;
}

/** `parsesAll`: no event is recognised without parsing; what is recorded is the same. */
export function messagesStreamTap(
  requestId: string,
  { parsesAll = false }: { readonly parsesAll?: boolean } = {},
): StreamTap {
  const record: MessageRecord = {
    template: new DeltaTemplate(deltaParts),
    parsesAll,
    hasStopReason: false,
    ...streamRecord(contentCount(), streamUsage(anthropicUsageReader)),
  };
  return eventTap({
    record,
    // Invalid bytes become longer when they are decoded, so their events are parsed.
    canBeSearched: (block) => !parsesAll && isUtf8(block),
    passKnown: (text, start) => passKnown(record, text, start),
    accept: (event, text) => acceptEvent(record, event, text),
    end: (rest) => passLastEvent(record, rest),
    // Without `message_stop` some clients take the reply for a whole one although it is not.
    complete: () => record.done,
    usage: () => record.usage.soFar(record.counted.tokens()),
    breakOff: (error: GatewayError) => [Buffer.from(errorEvent(error, requestId))],
  });
}

function deltaParts(event: string, document: JsonObject): DeltaParts | undefined {
  const content = onlyContent(event, document);
  if (content === undefined) return undefined;
  return { parts: [content, spacesAtEnd(event)], reasoning: content.reasoning };
}

/** Records deltas that match the template, and pings; returns the end of the last one. */
function passKnown(record: MessageRecord, text: string, start: number): number {
  let at = passDeltas(record, text, start);
  while (text.startsWith(pingEvent, at)) {
    record.bounds.add(pingEvent.length, false);
    at = passDeltas(record, text, at + pingEvent.length);
  }
  return at;
}

function passDeltas(record: MessageRecord, text: string, start: number): number {
  const { template, counted, bounds } = record;
  const end = template.pass(text, start, counted);
  if (end > start) {
    recordContent(record, template.events);
    bounds.add(end - start, true);
  }
  return end;
}

/** `text` is latin1. Comments, empty data and documents without a type are not content. */
function acceptEvent(record: MessageRecord, event: SseEvent, text: string): Uint8Array | undefined {
  const { data, name, unframedText: glued } = event;
  if (glued !== '') record.unframed.add(`${glued}\n`);
  if (data === undefined || data.trim() === '' || data.trim() === '[DONE]') {
    if (name === 'error') record.failure = brokenReply('upstream_error');
    return undefined;
  }
  const document = parseBounded(data);
  record.failure = failureIn(name, document);
  if (record.failure !== undefined || !isJsonObject(document)) {
    if (isJsonObject(document)) recordUsage(record, document);
    return undefined;
  }
  const type = typeOf(document, name);
  if (type === undefined) return undefined;
  recordEvent(record, type, document);
  record.done = type === 'message_stop';
  const framed = framedEvent(event, type);
  // What matches the template is passed on unchanged, so it must be in the form of this one.
  if (framed === event.raw && type === 'content_block_delta') record.template.learn(text, document);
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
function passLastEvent(record: MessageRecord, rest: Uint8Array): Uint8Array {
  const [event] = parseEvents(rest);
  let bytes: Uint8Array | undefined;
  if (event !== undefined) {
    const { data } = event;
    const isWhole = data === undefined || parseBounded(data) !== undefined;
    if (isWhole) bytes = acceptEvent(record, { ...event, isDataOnly: false, raw: emptyBytes }, '');
  }
  checkUnframed(record, anthropicInBandFailure);
  // Anything else would be followed by an error.
  return record.done && bytes !== undefined ? bytes : emptyBytes;
}

function recordEvent(record: MessageRecord, type: string, document: JsonObject): void {
  if (type === 'ping') return;
  record.contentEvents += 1;
  switch (type) {
    case 'message_start':
      recordUsage(record, document);
      // The message is normally still empty here. If a server sends content in it, that counts.
      record.begun ||= record.counted.add(document);
      return;
    case 'message_delta':
      record.hasStopReason ||= typeof member(member(document, 'delta'), 'stop_reason') === 'string';
      record.begun ||= record.hasStopReason;
      recordUsage(record, document);
      return;
    case 'content_block_start':
      return recordBlock(record, document);
    default:
      if (record.counted.add(document)) record.begun = true;
  }
}

/** The results of the provider's tools come in blocks too, but no model wrote them. */
function recordBlock(record: MessageRecord, document: JsonObject): void {
  const type = member(member(document, 'content_block'), 'type');
  if (typeof type === 'string' && type.endsWith('_tool_result')) return;
  const isCall = typeof type === 'string' && type.endsWith('tool_use');
  if (record.counted.add(document) || isCall) record.begun = true;
}

function recordUsage({ usage, counted, hasStopReason }: MessageRecord, document: JsonValue): void {
  const stated = member(document, 'usage') ?? member(member(document, 'message'), 'usage');
  usage.add(stated, counted.tokens(), hasStopReason);
}
