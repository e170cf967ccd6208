/**
 * Records what a native stream has contained so far: content, the finishes of candidates, and
 * usage. Events are searched for a few marks, and parsed only if they hold more than text.
 */
import { parseBounded } from '../../bounded-json.ts';
import { parseEvents } from '../../bytes/sse.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { stringEnd } from '../../json-strings.ts';
import { noUsage, type Usage } from '../../money.ts';
import { type ContentCount, contentCount } from '../taps/content-count.ts';
import {
  type CandidateFinishes,
  candidateFinishes,
  recordContent,
  type StreamRecord,
  streamRecord,
} from '../taps/event-tap.ts';
import { isFilled } from '../taps/reply-content.ts';
import { geminiUsageReader, streamUsage } from '../usage/stream-usage.ts';

// Marks of rare events. Names quoted in the text of a reply are escaped and don't match.
const blockMark = /"blockReason"\s*:\s*"[^"]/;
const endMark = /"(?:finish|block)Reason"\s*:\s*"[^"]/;
const endName = 'Reason"';
const usageMember = '"usageMetadata"';
const usageName = Buffer.from(usageMember);
const dataMark = 'data: {';

export interface NativeRecord extends StreamRecord {
  readonly counted: ContentCount;
  readonly usage: UsageTracker;
  readonly textsOf: PlainTexts;
  /** The finishes of several candidates. The end of a single one ends the reply. */
  readonly finishes: CandidateFinishes | undefined;
  isOver: boolean;
  isBlocked: boolean;
}

export function nativeRecord(candidates: number): NativeRecord {
  return {
    textsOf: plainTexts(),
    finishes: candidates > 1 ? candidateFinishes() : undefined,
    isOver: false,
    isBlocked: false,
    ...streamRecord(contentCount(), newUsageTracker()),
  };
}

export function isComplete({ isOver, finishes }: NativeRecord): boolean {
  return isOver || finishes?.allFinished() === true;
}

/** The usage so far. A blocked prompt without stated usage costs nothing. */
export function usageSoFar(record: NativeRecord): Usage | undefined {
  const { usage, counted, isBlocked } = record;
  return usage.soFar(counted.tokens()) ?? (isBlocked ? noUsage : undefined);
}

/** `bytes` are a single line of data. Returns whether it has content. */
export function recordEvent(
  record: NativeRecord,
  bytes: Buffer,
  document: JsonValue | undefined,
): boolean {
  const { counted, usage, finishes } = record;
  const text = bytes.toString('latin1');
  const isPlain = addPlain(record, text);
  const parsed = isPlain ? undefined : (document ?? documentsIn(bytes)[0] ?? null);
  let isContent = isPlain || (parsed !== undefined && counted.add(parsed));
  record.isOver ||= lastMark(record).test(text);
  record.isBlocked ||= record.isOver && !record.begun && !isContent && blockMark.test(text);
  if (finishes !== undefined) noteFinishes(bytes, finishes);
  isContent ||= hasContentOrFinish(parsed ?? null);
  if (isContent) recordContent(record);
  const usageAt = lastValueOf(bytes, usageName);
  if (usageAt !== undefined) {
    usage.record(text.slice(usageAt), counted.tokens(), isComplete(record));
  }
  return isContent;
}

/** Nearly all blocks consist of these. Returns false if the block has other events. */
export function recordRegularEvents(record: NativeRecord, bytes: Buffer, text: string): boolean {
  const { counted, bounds } = record;
  const usageAt = text.lastIndexOf(usageMember);
  if (usageAt === -1) return false;
  const usage = text.slice(text.indexOf('{', usageAt));
  // Content after the last usage has to be counted separately.
  if (usage.includes(dataMark) || !isLastUsageComplete(text, usage)) return false;
  if (!addPlain(record, text)) return false;
  record.isOver ||= text.includes(endName) && lastMark(record).test(text);
  recordContent(record);
  bounds.add(bytes.length, true);
  record.usage.record(usage, counted.tokens(), isComplete(record));
  return true;
}

/** An error may state the usage that the upstream has billed. */
export function recordErrorUsage(record: NativeRecord, document: JsonValue | undefined): void {
  const usage =
    member(document, 'usageMetadata') ?? member(member(document, 'error'), 'usageMetadata');
  if (!isJsonObject(usage)) return;
  record.usage.record(jsonText(usage), record.counted.tokens(), isComplete(record));
}

/** The mark of the end of the reply. With several candidates only a block ends it at once. */
function lastMark({ finishes }: NativeRecord): RegExp {
  return finishes === undefined ? endMark : blockMark;
}

/** Counts events that have nothing but text; returns false if there are others. */
function addPlain({ textsOf, counted }: NativeRecord, text: string): boolean {
  const strings = textsOf(text);
  if (strings === undefined) return false;
  for (const { start, end } of strings) counted.addString(text, start, end, '');
  return true;
}

/** Records the begin and end of each candidate. Google leaves out the index 0. */
function noteFinishes(block: Uint8Array, finishes: CandidateFinishes): void {
  for (const document of documentsIn(block)) {
    for (const candidate of items(member(document, 'candidates'))) {
      const index = member(candidate, 'index');
      const reason = member(candidate, 'finishReason');
      const isLast = typeof reason === 'string' && reason !== '';
      const hasParts = items(member(member(candidate, 'content'), 'parts')).length > 0;
      if (isLast || hasParts) finishes.note(typeof index === 'number' ? index : 0, isLast);
    }
  }
}

function documentsIn(block: Uint8Array): readonly JsonValue[] {
  return parseEvents(block).map(
    ({ data, unframedText }) => parseBounded(data ?? unframedText) ?? null,
  );
}

/** From the start of the data to the text, in each order in which Google writes the members. */
const head = new RegExp(
  [
    String.raw`data: \{\s*"candidates"\s*:\s*\[\s*\{\s*(?:"index"\s*:\s*0\s*,\s*)?`,
    String.raw`"content"\s*:\s*\{\s*(?:"role"\s*:\s*"model"\s*,\s*)?"parts"\s*:\s*\[\s*\{\s*`,
    String.raw`(?:"thought"\s*:\s*true\s*,\s*)?"text"\s*:\s*"`,
  ].join(''),
  'y',
);
/** From the text to the end of the content. */
const tail =
  /"\s*(?:,\s*"thought"\s*:\s*true\s*)?\}\s*\](?:\s*,\s*"role"\s*:\s*"model")?\s*\}\s*[,}]/y;
/** Another candidate or a repeated member. Searching for a rare first letter is faster. */
const otherContent = 'parts"';
const quote = 0x22;
/** Google's finish, usage and ids are shorter. Anything longer may hold what a model wrote. */
const maxMetadataLength = 2_048;

interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Each event is one line of latin1; undefined unless each has text and no other content. */
type PlainTexts = (events: string) => readonly TextSpan[] | undefined;

/** Creates the reader of one stream, in which nearly all events have the same frame. */
function plainTexts(): PlainTexts {
  const headEnd = frameReader(head);
  const tailEnd = frameReader(tail);
  return (events) => {
    const texts: TextSpan[] = [];
    let otherAt = -1;
    for (let at = 0; at < events.length; ) {
      const start = headEnd(events, at);
      if (start === -1 || events.charCodeAt(start) === quote) return undefined;
      const end = stringEnd(events, start);
      const contentEnd = tailEnd(events, end);
      const lineEnd = events.indexOf('\n', end);
      if (contentEnd === -1 || lineEnd === -1) return undefined;
      if (lineEnd - contentEnd > maxMetadataLength) return undefined;
      // Searched again only after it is passed; otherwise each event would be searched to the end.
      if (otherAt < end) otherAt = indexOrEnd(events, otherContent, contentEnd);
      if (otherAt < lineEnd) return undefined;
      texts.push({ start, end });
      at = indexOrEnd(events, 'data: ', lineEnd);
    }
    return texts;
  };
}

/** Returns -1 without a match. The last match is compared first: faster than the pattern. */
function frameReader(pattern: RegExp): (text: string, at: number) => number {
  let known = '';
  return (text, at) => {
    const knownEnd = at + known.length;
    if (known !== '' && text.slice(at, knownEnd) === known) return knownEnd;
    pattern.lastIndex = at;
    if (!pattern.test(text)) return -1;
    known = text.slice(at, pattern.lastIndex);
    return pattern.lastIndex;
  };
}

function indexOrEnd(text: string, searched: string, from: number): number {
  const at = text.indexOf(searched, from);
  return at === -1 ? text.length : at;
}

/** Each begins with a letter that is rare in events, because a text search skips to those. */
const countNames = ['ptTokenCount', 'UsePromptToken', 'datesToken', 'ghtsToken', 'ContentToken'];

interface UsageTracker {
  /**
   * Records a `usageMetadata` object.
   *
   * @param usage latin1 text that begins with the object; any text may follow
   * @param counted the content up to and including its event, in tokens
   * @param isComplete the reply is complete with this event
   */
  record(usage: string, counted: number, isComplete: boolean): void;
  /** A lower bound while the last usage isn't final; undefined if none was received. */
  soFar(counted: number): Usage | undefined;
}

const countAboveZero = /TokenCount"\s*:\s*[1-9]/;
/** A member that isn't a valid count: `null`, a fraction or a string. */
const invalidCount = /TokenCount"\s*:\s*(?!\d+\s*[,}])/;

/** Nearly every event repeats the usage: it is parsed on demand or if its members change. */
function newUsageTracker(): UsageTracker {
  const usage = streamUsage(geminiUsageReader);
  /** The last object, a bit mask of its members, and the tokens counted up to it. */
  let last: string | undefined;
  let lastMembers = 0;
  let countedAtLast = 0;
  let isLastFinal = false;
  const addLast = (): void => {
    if (last === undefined) return;
    usage.add(parseBounded(last.slice(0, objectEnd(last))), countedAtLast, isLastFinal);
  };
  return {
    record: (text, counted, isComplete) => {
      const members = membersIn(text);
      if (last !== undefined) {
        // Zeros after real counts are ignored.
        if (!countAboveZero.test(text)) return;
        if (members !== lastMembers) addLast();
      }
      last = text;
      lastMembers = members;
      countedAtLast = counted;
      isLastFinal = isComplete;
    },
    soFar: (counted) => {
      addLast();
      return usage.soFar(counted);
    },
  };
}

/** Whether the last usage object of these events has every count that earlier ones have. */
function isLastUsageComplete(events: string, last: string): boolean {
  if (!countAboveZero.test(last) || invalidCount.test(last)) return false;
  for (const name of countNames) {
    if (!last.includes(name) && events.includes(name)) return false;
  }
  return true;
}

/** A bit mask of the counts that affect the charge. */
function membersIn(usage: string): number {
  if (invalidCount.test(usage)) return -1;
  let members = 0;
  for (const name of countNames) members = (members << 1) | (usage.includes(name) ? 1 : 0);
  return members;
}

const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The end of the object at the start of the text. Its strings never contain braces. */
function objectEnd(text: string): number {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === openBrace) depth += 1;
    if (code === closeBrace) depth -= 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}

const colon = 0x3a;
const backslash = 0x5c;

/** Undefined if the last is null. `name` has its quotes, which a JSON string would escape. */
export function lastValueOf(bytes: Buffer, name: Uint8Array): number | undefined {
  for (let at = bytes.lastIndexOf(name); at !== -1; at = bytes.lastIndexOf(name, at - 1)) {
    const value = valueAfter(bytes, at + name.length);
    if (value !== undefined && bytes[at - 1] !== backslash) {
      return bytes[value] === 0x6e ? undefined : value;
    }
    if (at === 0) break;
  }
  return undefined;
}

function valueAfter(bytes: Buffer, end: number): number | undefined {
  const at = skipSpace(bytes, end);
  return bytes[at] === colon ? skipSpace(bytes, at + 1) : undefined;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0a || bytes[at] === 0x0d)
    at += 1;
  return at;
}

const replyMembers = [
  'candidates',
  'promptFeedback',
  'usageMetadata',
  'modelVersion',
  'responseId',
];

export function isReplyEvent(document: JsonValue | undefined): document is JsonObject {
  return (
    isJsonObject(document) && replyMembers.some((name) => member(document, name) !== undefined)
  );
}

/** A block reason counts too; usage or metadata alone doesn't. */
export function hasContentOrFinish(document: JsonValue): boolean {
  if (isNonEmptyString(member(member(document, 'promptFeedback'), 'blockReason'))) return true;
  return items(member(document, 'candidates')).some(
    (candidate) =>
      isNonEmptyString(member(candidate, 'finishReason')) ||
      items(member(member(candidate, 'content'), 'parts')).some(isFilled),
  );
}

/** Whether the event reports a blocked prompt and has no candidates. */
export function isBlockedPrompt(event: JsonValue): boolean {
  return (
    isNonEmptyString(member(member(event, 'promptFeedback'), 'blockReason')) &&
    items(member(event, 'candidates')).length === 0
  );
}

function isNonEmptyString(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}
