/**
 * Watches a relayed Responses stream: rebuilds errors, reads the usage, and knows whether the
 * stream was complete. Events are passed on as they came. The last one is held back until `end`, so
 * that what must be stored before a caller can refer to the reply is stored in time.
 */
import { parseBounded } from '../../../bounded-json.ts';
import { emptyBytes, parseEvents, type SseEvent } from '../../../bytes/sse.ts';
import type { GatewayError } from '../../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { stringEnd, unescapedBytes } from '../../../json-strings.ts';
import {
  type DeltaPart,
  type DeltaParts,
  DeltaTemplate,
  padding,
  partIn,
} from '../../taps/delta-template.ts';
import { checkUnframed, dataLines, eventTap, framedEvent } from '../../taps/event-tap.ts';
import { brokenReply, type StreamTap } from '../../taps/tap.ts';
import { bareFailure, eventFailure, failureEvents, unframedFailure } from './errors.ts';
import { eventDocument } from './event-document.ts';
import {
  failingResponse,
  isTerminal,
  type ResponseRecord,
  recordDeltas,
  recordEvent,
  recordKnown,
  recordUsage,
  responseRecord,
} from './stream-record.ts';
import { withToolCalls } from './tool-calls.ts';

interface TapState {
  readonly parse: typeof parseBounded;
  readonly record: ResponseRecord;
  readonly template: DeltaTemplate;
  /** The last event, until `end` returns it. */
  held: Uint8Array;
}

export function responsesStreamTap(parse: typeof parseBounded = parseBounded): StreamTap {
  const record = responseRecord();
  const { counted, tools, usage } = record;
  const template = new DeltaTemplate(deltaParts);
  const tap: TapState = { parse, record, template, held: emptyBytes };
  return {
    ...eventTap({
      record,
      passKnown: (text, start) => passKnown(tap, text, start),
      accept: (event, text) => acceptEvent(tap, event, text),
      afterFailure: (rest) => readUsageAfter(tap, rest),
      end: (rest) => {
        if (!record.done) passLastEvent(tap, rest);
        const last = tap.held;
        tap.held = emptyBytes;
        return last;
      },
      complete: () => record.done,
      usage: () => withToolCalls(usage.soFar(counted.tokens()), tools.calls()),
      breakOff: (error: GatewayError) =>
        failureEvents(error, failingResponse(record)).map((text) => Buffer.from(text)),
    }),
    referable: () => ({ replyId: record.id, items: record.items }),
  };
}

const delta = /[{,]"delta":"/;
const sequenceNumber = /[{,]"sequence_number":(\d{1,15})[,}]/;

/** Finds what differs between deltas whose content is one string. */
function deltaParts(event: string, document: JsonObject): DeltaParts | undefined {
  const content = contentIn(event, member(document, 'delta'));
  if (content === undefined) return undefined;
  const number = partIn(event, 'number', sequenceNumber);
  return { parts: [content, ...number, ...partIn(event, 'padding', padding)], reasoning: '' };
}

/** Finds the content by its name, and checks that it is the one that was parsed. */
function contentIn(event: string, content: JsonValue | undefined): DeltaPart | undefined {
  const match = delta.exec(event);
  if (match === null || typeof content !== 'string' || !content.isWellFormed()) return undefined;
  const start = match.index + match[0].length;
  const end = stringEnd(event, start);
  const isSame = unescapedBytes(event, start, end) === Buffer.byteLength(content);
  return isSame ? { kind: 'content', start, end } : undefined;
}

/**
 * Records the events from `start` on that need not be parsed: deltas that match the template, and
 * those that are known by their names. Returns the end of the last one.
 */
function passKnown(tap: TapState, text: string, start: number): number {
  const { record, template } = tap;
  let at = start;
  while (at < text.length) {
    const deltasEnd = template.pass(text, at, record.counted);
    if (deltasEnd > at) recordDeltas(record, template, text);
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

/** `text` is latin1. Comments, empty data and events of other APIs are not content. */
function acceptEvent(tap: TapState, event: SseEvent, text: string): Uint8Array | undefined {
  const { record } = tap;
  const { data, name } = event;
  if (data === undefined || data.trim() === '' || data.trim() === '[DONE]') {
    record.failure =
      unframedFailure(event.unframedText) ??
      (name === 'error' ? brokenReply('upstream_error') : undefined);
    if (event.unframedText !== '') record.unframed.add(`${event.unframedText}\n`);
    return undefined;
  }
  const document = eventDocument(data, tap.parse);
  if (document === undefined) {
    record.failure = brokenReply('upstream_bad_stream');
    return undefined;
  }
  const { members } = document;
  const type = typeOf(members, name);
  // An error may be glued to an event.
  record.failure = eventFailure(type, members) ?? unframedFailure(event.unframedText);
  if (record.failure !== undefined) {
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
  record.done = true;
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
  checkUnframed(tap.record, bareFailure);
}

/**
 * An event as it is passed on: unchanged if it consists of its name and one line of data, else with
 * nothing but these.
 */
function relayedEvent(event: SseEvent, type: string): Uint8Array {
  const { raw, name, data = '', isDataOnly } = event;
  if (isDataOnly) return raw;
  return name === undefined ? Buffer.from(`${dataLines(data)}\n`) : framedEvent(event, type);
}

/** Events before the content of the reply or of a part. A new item may hold encrypted reasoning. */
const announcements: readonly string[] = [
  'response.in_progress',
  'response.content_part.added',
  'response.reasoning_summary_part.added',
];
/** Events after the deltas of a text, which they repeat. */
const repetitions: readonly string[] = [
  ...['response.output_text.done', 'response.refusal.done', 'response.reasoning_text.done'],
  ...['response.reasoning_summary_text.done', 'response.reasoning_summary_part.done'],
  ...['response.content_part.done', 'response.function_call_arguments.done'],
  ...['response.custom_tool_call_input.done'],
];

const announced: ReadonlySet<string> = new Set(announcements);
const announcedOrRepeated: ReadonlySet<string> = new Set([...announcements, ...repetitions]);

const nameMark = 'event: response.';
const nameStart = 'event: '.length;
const lineFeed = 0x0a;
const closeBrace = 0x7d;

/**
 * Returns the end of the event that starts at `at`, given whole events as latin1; -1 if it must be
 * parsed. `hasDeltas`: an event that repeats deltas need not be parsed.
 */
function knownEventEnd(text: string, at: number, hasDeltas: boolean): number {
  if (!text.startsWith(nameMark, at)) return -1;
  const nameEnd = text.indexOf('\n', at);
  const type = text.slice(at + nameStart, nameEnd);
  if (!(hasDeltas ? announcedOrRepeated : announced).has(type)) return -1;
  const dataEnd = text.indexOf('\n', nameEnd + 1);
  const isWhole =
    text.charCodeAt(dataEnd - 1) === closeBrace && text.charCodeAt(dataEnd + 1) === lineFeed;
  return isWhole && text.startsWith(`data: {"type":"${type}",`, nameEnd + 1) ? dataEnd + 2 : -1;
}

function isStillRunning(text: string, at: number): boolean {
  return text.startsWith('in_progress', at + nameMark.length);
}
