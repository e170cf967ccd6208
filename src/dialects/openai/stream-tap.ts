/**
 * Watches a relayed chat stream: removes the usage frame that only the gateway requested, rebuilds
 * in-band errors, reads the usage, and knows whether the stream was complete. Only chunks are
 * passed on: anything else from an upstream does not reach a caller.
 */
import type { parseBounded } from '../../bounded-json.ts';
import { emptyBytes, parseEvents, type SseEvent } from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { type ContentCount, contentCount } from '../taps/content-count.ts';
import {
  type DeltaParts,
  DeltaTemplate,
  onlyContent,
  padding,
  partIn,
} from '../taps/delta-template.ts';
import {
  type CandidateFinishes,
  candidateFinishes,
  checkUnframed,
  eventTap,
  recordContent,
  type StreamRecord,
  streamRecord,
} from '../taps/event-tap.ts';
import { isFilled } from '../taps/reply-content.ts';
import { brokenReply, type FailureReport, type StreamTap } from '../taps/tap.ts';
import { openaiUsageReader, type StreamUsage, streamUsage } from '../usage/stream-usage.ts';
import { openaiErrorText, openaiEventFailure, openaiInBandFailure } from './errors.ts';
import { openaiUsageObject } from './usage.ts';

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
  readonly parse: typeof parseBounded;
}

interface ChatRecord extends StreamRecord, Pick<OpenaiStreamOptions, 'stripUsage' | 'parse'> {
  readonly counted: ContentCount;
  readonly usage: StreamUsage;
  readonly template: DeltaTemplate;
  /** The finishes of several candidates; undefined if there is only one. */
  readonly finishes: CandidateFinishes | undefined;
  finished: boolean;
}

export function openaiStreamTap(options: OpenaiStreamOptions): StreamTap {
  const { stripUsage, candidates, reasoningOutside, parse } = options;
  const record: ChatRecord = {
    stripUsage,
    parse,
    template: new DeltaTemplate(deltaParts),
    finishes: candidates > 1 ? candidateFinishes() : undefined,
    finished: false,
    ...streamRecord(contentCount(), streamUsage(openaiUsageReader(reasoningOutside))),
  };
  return eventTap({
    record,
    passKnown: (text, start) => passKnown(record, text, start),
    accept: (event, text) => acceptEvent(record, event, text),
    end: (rest) => passLastEvent(record, rest),
    // A terminator alone completes nothing: a reply has content or a finish.
    complete: () => record.finished || (record.done && record.begun),
    usage: () => record.usage.soFar(record.counted.tokens()),
    breakOff: (error: GatewayError) => [Buffer.from(`data: ${openaiErrorText(error)}\n\n`)],
  });
}

/** Finds the content and the padding of a chunk that has nothing else of a model. */
function deltaParts(event: string, document: JsonObject): DeltaParts | undefined {
  const content = event.startsWith('data:') ? onlyContent(event, document) : undefined;
  if (content === undefined) return undefined;
  const { reasoning } = content;
  return { parts: [content, ...partIn(event, 'padding', padding)], reasoning };
}

/** Counts the chunks from `start` on that match the template; returns the end of the last one. */
function passKnown(record: ChatRecord, text: string, start: number): number {
  const { template, counted, bounds, finishes } = record;
  if (finishes !== undefined) return start;
  const end = template.pass(text, start, counted);
  if (end > start) {
    recordContent(record, template.events);
    bounds.add(end - start, true);
  }
  return end;
}

/** Records an event; returns the bytes that are passed on to the caller, undefined for none. */
function acceptEvent(record: ChatRecord, event: SseEvent, text: string): Uint8Array | undefined {
  const document = documentOf(record, event);
  if (isOtherObject(event, document)) return undefined;
  record.failure = openaiEventFailure(event, document) ?? badDataFailure(event, document);
  if (record.failure !== undefined) {
    recordUsage(record, document);
    return undefined;
  }
  record.done = isDone(event);
  if (record.done) return framed(event);
  if (event.unframedText !== '') record.unframed.add(`${event.unframedText}\n`);
  if (event.data === undefined || !isJsonObject(document)) return undefined;
  const hasContent = record.counted.add(document);
  recordFinish(record, items(member(document, 'choices')));
  if (hasContent || hasContentOrFinish(document)) recordContent(record);
  const hasUsage = recordUsage(record, document);
  if (isUsageFrame(document)) return record.stripUsage ? undefined : framed(event);
  // Events without `choices` are not part of a chat stream.
  if (!Array.isArray(member(document, 'choices'))) return undefined;
  // What matches the template is passed on unchanged, so it must be in the form of this one.
  if (event.isDataOnly && hasContent && !hasUsage) record.template.learn(text, document);
  return framed(event);
}

/**
 * Handles a last event without its blank line, which counts if it is whole. It is passed on only
 * if nothing has to follow: a client would read an error after it as part of the same event.
 */
function passLastEvent(record: ChatRecord, rest: Uint8Array): Uint8Array {
  const [event] = parseEvents(rest);
  if (
    event !== undefined &&
    (documentOf(record, event) !== undefined || event.data === undefined)
  ) {
    const bytes = acceptEvent(record, event, '');
    if (bytes !== undefined) return record.done || record.finished ? bytes : emptyBytes;
  } else if (event !== undefined && isDone(event)) {
    record.done = true;
    return rest;
  }
  checkUnframed(record, openaiInBandFailure);
  return emptyBytes;
}

function recordUsage(
  { usage, counted, finished }: ChatRecord,
  document: JsonValue = null,
): boolean {
  const stated = openaiUsageObject(document);
  if (stated === undefined) return false;
  usage.add(stated, counted.tokens(), finished);
  return true;
}

function recordFinish(record: ChatRecord, choices: readonly JsonValue[]): void {
  const { finishes } = record;
  if (finishes === undefined) record.finished ||= choices.some(hasFinished);
  else {
    for (const choice of choices) finishes.note(indexOf(choice), hasFinished(choice));
    record.finished = finishes.allFinished();
  }
}

/** A vendor that leaves out the index has only one choice. */
function indexOf(choice: JsonValue): number {
  const index = member(choice, 'index');
  return typeof index === 'number' ? index : 0;
}

/**
 * Whether the chunk holds content or a finish, and not only a role, a filter's report or usage.
 */
function hasContentOrFinish(chunk: JsonValue): boolean {
  return items(member(chunk, 'choices')).some(
    (choice) =>
      hasFinished(choice) ||
      ['delta', 'message', 'text'].some((name) => isFilled(member(choice, name) ?? null)),
  );
}

function hasFinished(choice: JsonValue): boolean {
  const reason = member(choice, 'finish_reason');
  return typeof reason === 'string' && reason !== '';
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
  if (typeof kind !== 'string' || kind === 'error' || name === 'error') return false;
  return ['choices', 'error', 'usage'].every((one) => member(document, one) === undefined);
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

/**
 * Empty data and `[DONE]` are not given to the parser: a thrown error costs as much as ten events.
 */
function documentOf({ parse }: ChatRecord, event: SseEvent): JsonValue | undefined {
  const text = event.data ?? event.unframedText;
  return text === '' || isDone(event) ? undefined : parse(text);
}

function isDone({ data }: SseEvent): boolean {
  return data?.trim() === '[DONE]';
}
