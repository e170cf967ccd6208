/** Watches a relayed stream of events: what the taps of all wires have in common. */
import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import {
  concatBytes,
  emptyBytes,
  eventCutter,
  parseEvent,
  type SseEvent,
} from '../../bytes/sse.ts';
import type { JsonValue } from '../../json.ts';
import type { StreamUsage } from '../usage/stream-usage.ts';
import type { ContentCount } from './content-count.ts';
import {
  type ByteBounds,
  brokenReply,
  byteBounds,
  type FailureReport,
  maxEventBytes,
  type StreamTap,
} from './tap.ts';
import { type UnframedText, unframedText } from './unframed-text.ts';

export interface StreamRecord {
  readonly counted: Pick<ContentCount, 'tokens'>;
  readonly usage: Pick<StreamUsage, 'soFar'>;
  readonly bounds: ByteBounds;
  /** Text outside of any event. What it is can be decided only at the end. */
  readonly unframed: UnframedText;
  failure: FailureReport | undefined;
  /** Nothing that follows belongs to the reply. */
  done: boolean;
  begun: boolean;
  /** Grows with every event that has content. */
  contentEvents: number;
}

/** Starts empty. Spread it last into a literal: V8 allocates less than for members after it. */
export function streamRecord<Count, Reported>(
  counted: Count,
  usage: Reported,
): Omit<StreamRecord, 'counted' | 'usage'> & { readonly counted: Count; readonly usage: Reported } {
  return {
    counted,
    usage,
    bounds: byteBounds(),
    unframed: unframedText(),
    failure: undefined,
    done: false,
    begun: false,
    contentEvents: 0,
  };
}

export function recordContent(record: StreamRecord, events = 1): void {
  record.begun = true;
  record.contentEvents += events;
}

export interface EventHandler extends Pick<StreamTap, 'complete' | 'usage' | 'breakOff'> {
  readonly record: StreamRecord;
  /**
   * Records the events from `start` on that need not be parsed, given whole events as latin1;
   * returns the end of the last.
   */
  passKnown(text: string, start: number, block: Uint8Array): number;
  /** Records any other event; returns the bytes that are passed on, undefined for none. */
  accept(event: SseEvent, text: string): Uint8Array | undefined;
  /** Whether `passKnown` can look for events in this block. Absent if it always can. */
  canBeSearched?(block: Uint8Array): boolean;
  /** Handles the bytes after the last whole event; returns those that are passed on. */
  end(rest: Uint8Array): Uint8Array;
  /** Reads what follows an error in the same block. */
  afterFailure?(rest: Uint8Array): void;
}

/** Creates the tap of one reply. Deltas, as nearly all events are, are not parsed one by one. */
export function eventTap(handler: EventHandler): StreamTap {
  const { record } = handler;
  const { counted } = record;
  const cutter = eventCutter(maxEventBytes);
  return {
    write: (chunk) => {
      if (record.done || record.failure !== undefined) return emptyBytes;
      return passEvents(cutter.push(chunk), handler);
    },
    end: () => handler.end(isOver(record) ? emptyBytes : cutter.rest()),
    hasBegun: () => record.begun,
    finished: () => record.done,
    complete: handler.complete,
    failure: () => record.failure,
    usage: handler.usage,
    countedTokens: counted.tokens,
    progress: () => record.contentEvents,
    breakOff: handler.breakOff,
  };
}

function isOver({ done, failure }: StreamRecord): boolean {
  return done || failure !== undefined;
}

/** Passes whole events on. Usually the block itself is returned, uncopied. */
export function passEvents(block: Uint8Array, handler: EventHandler): Uint8Array {
  if (block.length === 0) return block;
  const { record } = handler;
  const canBeSearched = handler.canBeSearched?.(block) !== false;
  const text = canBeSearched ? asBuffer(block).toString('latin1') : '';
  let at = handler.passKnown(text, 0, block);
  if (at === block.length) return block;
  const kept: Uint8Array[] = [];
  let from = 0;
  while (at < block.length && !isOver(record)) {
    const event = parseEvent(block, at);
    const end = at + event.raw.length;
    const before = record.contentEvents;
    const bytes = handler.accept(event, text.slice(at, end));
    record.bounds.add(event.raw.length, record.contentEvents !== before);
    if (bytes !== event.raw) {
      if (from < at) kept.push(block.subarray(from, at));
      if (bytes !== undefined) kept.push(bytes);
      from = end;
    }
    at = isOver(record) ? end : handler.passKnown(text, end, block);
  }
  if (record.failure !== undefined) handler.afterFailure?.(block.subarray(at));
  if (from === 0 && at === block.length) return block;
  if (from < at) kept.push(block.subarray(from, at));
  return concatBytes(kept);
}

/** Reads a document that was sent in place of events, possibly over several lines. */
export function checkUnframed(
  record: StreamRecord,
  failureIn: (document: JsonValue) => FailureReport | undefined,
): void {
  const text = record.unframed.take();
  if (isOver(record) || record.begun || text.trim() === '') return;
  record.failure = failureIn(parseBounded(text) ?? null) ?? brokenReply('upstream_bad_stream');
}

/** The most that the lines around one line of data may take: both names and their line ends. */
const maxFramingBytes = 'event: data: '.length + 6;
/** The first byte of a byte order mark. */
const byteOrderMark = 0xef;

/**
 * The event as clients read it that need the names of events: unchanged if it consists of its name
 * and one line of data, else with nothing but these. Clients drop events without a name, and differ
 * in what they do with other fields.
 */
export function framedEvent(event: SseEvent, type: string): Uint8Array {
  const { raw, name, data = '' } = event;
  if (name === type) {
    const framing = raw.length - Buffer.byteLength(data) - Buffer.byteLength(name);
    const isOneLine = framing <= maxFramingBytes && !data.includes('\n');
    if (isOneLine && raw.length > 0 && raw[0] !== byteOrderMark) return raw;
  }
  return Buffer.from(`event: ${type}\n${dataLines(data)}\n`);
}

export function dataLines(data: string): string {
  return data
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('');
}

export interface CandidateFinishes {
  note(index: number, isLast: boolean): void;
  /** True if at least one candidate has ended and none is unfinished. */
  allFinished(): boolean;
}

/** Events after a candidate's end, such as filter results or usage, do not reopen it. */
export function candidateFinishes(): CandidateFinishes {
  const open = new Set<number>();
  const ended = new Set<number>();
  return {
    note: (index, isLast) => {
      if (isLast) {
        ended.add(index);
        open.delete(index);
      } else if (!ended.has(index)) {
        open.add(index);
      }
    },
    allFinished: () => ended.size > 0 && open.size === 0,
  };
}
