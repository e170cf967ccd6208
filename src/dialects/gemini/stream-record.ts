/**
 * Records what a native stream has contained so far: content, the finishes of candidates, and usage.
 * Events are searched for a few marks, and parsed only if they hold more than text.
 */
import { parseBounded } from '../../bounded-json.ts';
import { parseEvents } from '../../bytes/sse.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import { noUsage, type Usage } from '../../money.ts';
import { type ContentCount, contentCount } from '../content-count.ts';
import {
  type CandidateFinishes,
  candidateFinishes,
  recordContent,
  type StreamRecord,
  streamRecord,
} from '../event-tap.ts';
import { lastValueOf } from '../last-value.ts';
import { hasContentOrFinish } from './event.ts';
import { type PlainTexts, plainTexts } from './plain-events.ts';
import { isLastUsageComplete, newUsageTracker, type UsageTracker } from './usage-tracker.ts';

// Marks of rare events. Names quoted in the text of a reply are escaped and don't match.
const blockMark = /"blockReason"\s*:\s*"[^"]/;
const endMark = /"(?:finish|block)Reason"\s*:\s*"[^"]/;
const endName = 'Reason"';
const usageMember = '"usageMetadata"';
const usageName = Buffer.from(usageMember);
const dataMark = 'data: {';

/** What a stream has contained so far. */
export interface NativeRecord extends StreamRecord {
  readonly counted: ContentCount;
  readonly usage: UsageTracker;
  readonly textsOf: PlainTexts;
  /** The finishes of several candidates. The end of a single one ends the reply. */
  readonly finishes: CandidateFinishes | undefined;
  isOver: boolean;
  /** The prompt was blocked before any content. */
  isBlocked: boolean;
}

/** Starts empty. */
export function nativeRecord(candidates: number): NativeRecord {
  return {
    textsOf: plainTexts(),
    finishes: candidates > 1 ? candidateFinishes() : undefined,
    isOver: false,
    isBlocked: false,
    ...streamRecord(contentCount(), newUsageTracker()),
  };
}

/** Whether the content shows that the reply is complete. */
export function isComplete({ isOver, finishes }: NativeRecord): boolean {
  return isOver || finishes?.allFinished() === true;
}

/** The usage so far. A blocked prompt without stated usage costs nothing. */
export function usageSoFar(record: NativeRecord): Usage | undefined {
  const { usage, counted, isBlocked } = record;
  return usage.soFar(counted.tokens()) ?? (isBlocked ? noUsage : undefined);
}

/**
 * Records an event, a single line of data, and returns whether it has content. `document` is what
 * it holds, if it was parsed.
 */
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

/**
 * Records regular events together, each with text and usage; nearly all blocks consist of these.
 * Returns false if the block has other events.
 */
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
