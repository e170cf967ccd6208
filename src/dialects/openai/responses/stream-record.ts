/** Records what a relayed Responses stream has contained so far: content, ids and usage. */
import { parseBounded } from '../../../bounded-json.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { DeltaTemplate } from '../../taps/delta-template.ts';
import { recordContent, type StreamRecord, streamRecord } from '../../taps/event-tap.ts';
import type { ReferableItem } from '../../taps/tap.ts';
import { openaiUsageReader, type StreamUsage, streamUsage } from '../../usage/stream-usage.ts';
import { type ResponseCount, responseCount } from './content-count.ts';
import type { FailingResponse } from './errors.ts';
import type { EventDocument } from './event-document.ts';
import { type ToolCallCount, toolCallCount } from './tool-calls.ts';

export interface ResponseRecord extends StreamRecord {
  readonly counted: ResponseCount;
  readonly tools: ToolCallCount;
  readonly usage: StreamUsage;
  /** The response's id, creation time and model; undefined until its first event. */
  id: string | undefined;
  createdAt: number | undefined;
  model: string | undefined;
  /** The items that are whole, and those that the last event has under other ids. */
  readonly items: ReferableItem[];
  /** The item that is open has had deltas. */
  hasDeltas: boolean;
  nextNumber: number;
}

/** Far more items than any real reply has. */
const maxItems = 10_000;

export function responseRecord(): ResponseRecord {
  return {
    tools: toolCallCount(),
    id: undefined,
    createdAt: undefined,
    model: undefined,
    items: [],
    hasDeltas: false,
    nextNumber: 0,
    // At OpenAI and all recorded vendors of this API, `output_tokens` include reasoning.
    ...streamRecord(responseCount(), streamUsage(openaiUsageReader(false))),
  };
}

interface EventSource extends EventDocument {
  readonly data: string;
}

export function recordEvent(record: ResponseRecord, type: string, event: EventSource): void {
  const { members } = event;
  const number = member(members, 'sequence_number');
  record.nextNumber = (typeof number === 'number' ? number : record.nextNumber) + 1;
  const response = member(members, 'response');
  if (isJsonObject(response)) recordResponse(record, response);
  if (isFirst(type)) return;
  record.contentEvents += 1;
  if (isTerminal(type, members)) return recordLast(record, event);
  const isItem = type === 'response.output_item.done';
  const isDelta = type.endsWith('.delta');
  if (isItem) recordItem(record, member(members, 'item'));
  record.hasDeltas = isDelta || (record.hasDeltas && !type.startsWith('response.output_item.'));
  const hasContent = record.counted.add(wholeDocument(event, isItem || isDelta));
  record.begun ||= hasContent || isItem;
}

export function recordKnown(record: ResponseRecord, isProgress: boolean): void {
  record.nextNumber += 1;
  if (isProgress) record.contentEvents += 1;
}

/** The last event repeats all items. It is read for its content only if nothing else had any. */
function recordLast(record: ResponseRecord, event: EventSource): void {
  record.begun = true;
  const reply = member(event.members, 'response') ?? null;
  record.tools.addReply(reply);
  addIdsOf(record, reply);
  recordUsage(record, event.members);
  if (record.counted.tokens() === 0) record.counted.add(wholeDocument(event, true));
}

/** The document with its content, which a reduced one lacks. Images count by their item. */
function wholeDocument({ members, isReduced, data }: EventSource, isNeeded: boolean): JsonValue {
  if (!isReduced || !isNeeded || member(member(members, 'item'), 'result') !== undefined) {
    return members;
  }
  return parseBounded(data) ?? members;
}

/** Some vendors give items other ids at the end. A caller may refer to either. */
function addIdsOf(record: ResponseRecord, reply: JsonValue): void {
  const known = new Set(record.items.map(({ id }) => id));
  for (const item of items(member(reply, 'output'))) {
    const id = member(item, 'id');
    if (typeof id !== 'string' || known.has(id) || record.items.length >= maxItems) continue;
    known.add(id);
    record.items.push({ id });
  }
}

function recordItem(record: ResponseRecord, item: JsonValue = null): void {
  record.tools.addItem(item);
  const id = member(item, 'id');
  if (typeof id === 'string' && record.items.length < maxItems) record.items.push({ id });
}

export function recordDeltas(
  record: ResponseRecord,
  { events, numberStart }: DeltaTemplate,
  text: string,
): void {
  recordContent(record);
  record.hasDeltas = true;
  record.nextNumber =
    numberStart === -1
      ? record.nextNumber + events
      : Number.parseInt(text.slice(numberStart, numberStart + maxDigits), 10) + 1;
}

const maxDigits = 15;

function recordResponse(record: ResponseRecord, response: JsonObject): void {
  const [id, model] = ['id', 'model'].map((name) => member(response, name));
  const createdAt = member(response, 'created_at');
  if (typeof id === 'string') record.id = id;
  if (typeof model === 'string') record.model = model;
  if (typeof createdAt === 'number') record.createdAt = createdAt;
}

export function recordUsage({ usage, counted }: ResponseRecord, document: JsonValue): void {
  const stated = member(member(document, 'response'), 'usage') ?? member(document, 'usage');
  usage.add(stated, counted.tokens(), true);
}

/** Its items have been passed on and are not kept, so its `output` is empty. */
export function failingResponse(record: ResponseRecord): FailingResponse {
  const { id = 'resp_unknown', createdAt = 0, model = '', nextNumber } = record;
  return {
    sequenceNumber: nextNumber,
    response: {
      id,
      object: 'response',
      created_at: createdAt,
      status: 'failed',
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      model,
      output: [],
      parallel_tool_calls: true,
      temperature: null,
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      usage: null,
    },
  };
}

/** Events that begin a stream and repeat the request. */
const firstTypes: ReadonlySet<string> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
]);

function isFirst(type: string): boolean {
  return firstTypes.has(type);
}

/**
 * Whether an event is the last of its stream. An event of an unknown type is the last if its
 * response is no longer running, because vendors have types and status values of their own. Only
 * the first events and the last one contain the response.
 */
export function isTerminal(type: string, document: JsonObject): boolean {
  if (lastTypes.has(type)) return true;
  if (isFirst(type)) return false;
  const status = member(member(document, 'response'), 'status');
  return typeof status === 'string' && !runningStatuses.has(status);
}

const lastTypes: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);
const runningStatuses: ReadonlySet<string> = new Set(['in_progress', 'queued']);
