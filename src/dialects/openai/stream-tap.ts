/**
 * Watches a relayed chat stream: removes the usage frame that only the gateway requested, rebuilds
 * in-band errors, reads the usage, and knows whether the stream was complete. Only chunks are
 * passed on: anything else from an upstream does not reach a caller.
 */
import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import {
  concatBytes,
  emptyBytes,
  eventCutter,
  eventStart,
  parseEvents,
  type SseEvent,
} from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { brokenReply, type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { type UnframedText, unframedText } from '../unframed-text.ts';
import { openaiErrorText, openaiEventFailure } from './errors.ts';
import { type EventTemplate, eventTemplate } from './event-template.ts';
import { plainEnd } from './plain-events.ts';
import {
  recordChunk,
  recordContent,
  recordUsage,
  type StreamRecord,
  streamRecord,
} from './stream-record.ts';

/**
 * Patterns of the few events that need inspection: errors in all forms, usage, the end of a
 * candidate, the end of the stream. Names inside a reply's text are escaped and do not match. Three
 * patterns are faster than one with all alternatives, and parsing each event costs thirty times as
 * much. The alternatives of the first pattern have five letters and check the text before them by
 * lookbehind: V8 can then skip five bytes at a time, a third of the time of
 * `[{,]\s*"(?:message|detail)` alone.
 */
const inspectedPatterns: readonly RegExp[] = [
  /(?:error|Error|usage|ssage(?<=[{,]\s*"message)|etail(?<=[{,]\s*"detail))["\r\n](?!\s*:\s*null)/,
  /finish_reason"\s*:\s*"/,
  /\[DONE\]/,
];

/** The properties of a call that the tap depends on. */
export interface OpenaiStreamOptions {
  /** The caller did not request the usage frame, so it must not receive one. */
  readonly stripUsage: boolean;
  /**
   * With several candidates every event is parsed, because the end of one says nothing about the
   * others.
   */
  readonly candidates: number;
  /** The vendor does not count reasoning as part of the completion. */
  readonly reasoningOutside: boolean;
  /** Parses the events that are inspected. */
  readonly parse: typeof parseBounded;
}

/** The state of the tap of one reply. */
interface TapState extends Pick<OpenaiStreamOptions, 'stripUsage' | 'parse'> {
  readonly record: StreamRecord;
  readonly template: EventTemplate;
  /** Text outside of any event. What it is can be decided only at the end. */
  readonly unframed: UnframedText;
  failure: FailureReport | undefined;
  done: boolean;
}

/** Creates the tap of one reply. */
export function openaiStreamTap(options: OpenaiStreamOptions): StreamTap {
  const { stripUsage, candidates, reasoningOutside, parse } = options;
  const cutter = eventCutter(maxEventBytes);
  const record = streamRecord(candidates, reasoningOutside);
  const { counted, usage } = record;
  const tap: TapState = {
    stripUsage,
    parse,
    record,
    template: eventTemplate(),
    unframed: unframedText(),
    failure: undefined,
    done: false,
  };
  return {
    write: (chunk) => (tap.done ? emptyBytes : pass(tap, cutter.push(chunk))),
    end: () => (tap.done ? emptyBytes : passLastEvent(tap, cutter.rest())),
    hasBegun: () => record.begun,
    finished: () => tap.done,
    // A terminator alone completes nothing: a reply has content or a finish.
    complete: () => record.finished || (tap.done && record.begun),
    failure: () => tap.failure,
    usage: () => usage.soFar(counted.tokens()),
    countedTokens: counted.tokens,
    progress: () => record.contentBlocks,
    breakOff: (error: GatewayError) => [Buffer.from(`data: ${openaiErrorText(error)}\n\n`)],
  };
}

/** Passes whole events on. Plain ones, as nearly all are, are not inspected one by one. */
function pass(tap: TapState, block: Uint8Array): Uint8Array {
  const { record, template } = tap;
  if (block.length === 0) return block;
  if (record.ends !== undefined) return inspect(tap, block, 0);
  const text = asBuffer(block).toString('latin1');
  const matched = passMatching(tap, text);
  if (matched === text.length) return block;
  const plain = plainEnd(text, matched);
  const unmatched = text.slice(matched, plain);
  const firstMatch = firstInspected(unmatched);
  const start = firstMatch === -1 ? plain : eventStart(block, matched + firstMatch);
  if (start > matched) {
    const plainEvents = unmatched.slice(0, start - matched);
    const documents = objectsIn(asBuffer(block).toString('utf8', matched, start));
    // A role chunk looks like a plain event, too.
    if (documents === undefined || !record.counted.addContent(documents)) {
      return inspect(tap, block, matched);
    }
    template.learn(plainEvents, documents.at(-1));
    recordContent(record);
    record.bounds.add(start - matched, true);
  }
  return start === block.length ? block : inspect(tap, block, start);
}

/** Counts the events that match the template; returns the end of the last one. */
function passMatching({ record, template }: TapState, text: string): number {
  const { counted } = record;
  let at = 0;
  for (let end = template.match(text, at); end !== -1; end = template.match(text, at)) {
    counted.addString(text, template.start, template.contentEnd, template.reasoning);
    at = end;
  }
  if (at > 0) {
    recordContent(record);
    record.bounds.add(at, true);
  }
  return at;
}

/**
 * Inspects every event from `start` on; returns the bytes of the block that are passed on,
 * including everything before `start`.
 */
function inspect(tap: TapState, block: Uint8Array, start: number): Uint8Array {
  const { record } = tap;
  const kept: Uint8Array[] = [];
  // Usually the whole block is passed on and not copied.
  let from = 0;
  let at = start;
  for (const event of parseEvents(block.subarray(start))) {
    const before = record.contentBlocks;
    const bytes = acceptEvent(tap, event);
    record.bounds.add(event.raw.length, record.contentBlocks !== before);
    const end = at + event.raw.length;
    if (bytes !== event.raw) {
      if (from < at) kept.push(block.subarray(from, at));
      if (bytes !== undefined) kept.push(bytes);
      from = end;
    }
    at = end;
    if (tap.done || tap.failure !== undefined) break;
  }
  if (from < at) kept.push(block.subarray(from, at));
  return concatBytes(kept);
}

/** Records an event; returns the bytes that are passed on to the caller, undefined for none. */
function acceptEvent(tap: TapState, event: SseEvent): Uint8Array | undefined {
  const document = documentOf(tap, event);
  if (isOtherObject(event, document)) return undefined;
  tap.failure = openaiEventFailure(event, document) ?? badDataFailure(event, document);
  if (tap.failure !== undefined) {
    recordUsage(tap.record, document);
    return undefined;
  }
  tap.done = isDone(event);
  if (tap.done) return framed(event);
  if (event.unframedText !== '') tap.unframed.add(`${event.unframedText}\n`);
  if (event.data === undefined || !isJsonObject(document)) return undefined;
  recordChunk(tap.record, document);
  if (isUsageFrame(document)) return tap.stripUsage ? undefined : framed(event);
  // Events without `choices` are not part of a chat stream and have not been checked.
  return Array.isArray(member(document, 'choices')) ? framed(event) : undefined;
}

/**
 * Handles a last event without its blank line, which counts if it is whole. It is passed on only
 * if nothing has to follow: a client would read an error after it as part of the same event.
 */
function passLastEvent(tap: TapState, rest: Uint8Array): Uint8Array {
  const [event] = parseEvents(rest);
  if (event !== undefined && (documentOf(tap, event) !== undefined || event.data === undefined)) {
    const bytes = acceptEvent(tap, event);
    if (bytes !== undefined && tap.failure === undefined) {
      return tap.done || tap.record.finished ? bytes : emptyBytes;
    }
  } else if (event !== undefined && isDone(event)) {
    tap.done = true;
    return rest;
  }
  checkUnframed(tap);
  return emptyBytes;
}

/** Reads a document that was sent over several lines instead of events. */
function checkUnframed(tap: TapState): void {
  const unframedText = tap.unframed.take();
  if (tap.failure !== undefined || tap.record.begun || unframedText.trim() === '') return;
  const event = { name: undefined, unframedText };
  tap.failure = openaiEventFailure(event, undefined) ?? brokenReply('upstream_bad_stream');
}

function isUsageFrame(chunk: JsonObject): boolean {
  return items(member(chunk, 'choices')).length === 0 && isJsonObject(member(chunk, 'usage'));
}

/**
 * Returns an event as it is passed on. Version 4 of OpenAI's clients takes a line with `event:` for
 * another kind of stream, and comments and ids are not content, so only the data is passed on.
 */
function framed({ raw, data = '', isDataOnly }: SseEvent): Uint8Array {
  if (isDataOnly) return raw;
  const lines = data.split('\n').map((line) => `data: ${line}`);
  return Buffer.from(`${lines.join('\n')}\n\n`);
}

/**
 * Returns whether the document states a different `object` and is neither a chunk nor an error,
 * such as a status message.
 */
function isOtherObject({ name }: SseEvent, document: JsonValue | undefined): boolean {
  const kind = member(document, 'object');
  const isChunk = ['choices', 'error', 'usage'].some((one) => member(document, one) !== undefined);
  return typeof kind === 'string' && kind !== 'error' && !isChunk && name !== 'error';
}

/** Reports data that is not an object: plain text, half a document, a bare string or array. */
function badDataFailure(
  event: SseEvent,
  document: JsonValue | undefined,
): FailureReport | undefined {
  const { data } = event;
  if (data === undefined || data.trim() === '' || isDone(event)) return undefined;
  return isJsonObject(document) ? undefined : brokenReply('upstream_bad_stream');
}

/** Returns the documents of these plain events; undefined if one is not an object. */
function objectsIn(events: string): readonly JsonObject[] | undefined {
  const objects: JsonObject[] = [];
  for (const line of events.split('\n')) {
    if (line.length <= 1) continue;
    const document = parseBounded(line.slice('data:'.length));
    if (!isJsonObject(document)) return undefined;
    objects.push(document);
  }
  return objects;
}

/** Returns the start of the first match in the text, -1 if there is none. */
function firstInspected(text: string): number {
  let first = -1;
  for (const pattern of inspectedPatterns) {
    const at = text.search(pattern);
    if (at !== -1 && (first === -1 || at < first)) first = at;
  }
  return first;
}

/**
 * Empty data and `[DONE]` are not given to the parser: a thrown error costs as much as ten events.
 */
function documentOf({ parse }: TapState, event: SseEvent): JsonValue | undefined {
  const text = event.data ?? event.unframedText;
  return text === '' || isDone(event) ? undefined : parse(text);
}

function isDone({ data }: SseEvent): boolean {
  return data?.trim() === '[DONE]';
}
