/** Records what a relayed Messages stream has contained so far: content, usage and its end. */
import { type JsonObject, type JsonValue, member } from '../../json.ts';
import { type ContentCount, contentCount } from '../content-count.ts';
import { type StreamUsage, streamUsage } from '../stream-usage.ts';
import { type ByteBounds, byteBounds } from '../tap.ts';
import { anthropicUsageReader } from './reply-usage.ts';

/** What a stream has contained so far. */
export interface MessageRecord {
  readonly counted: ContentCount;
  readonly bounds: ByteBounds;
  readonly usage: StreamUsage;
  begun: boolean;
  /** A reason to stop has come; what follows is usage only. */
  hasStopReason: boolean;
  /** Grows with every event but pings. */
  contentBlocks: number;
}

/** Starts empty. */
export function messageRecord(): MessageRecord {
  return {
    counted: contentCount(),
    bounds: byteBounds(),
    usage: streamUsage(anthropicUsageReader),
    begun: false,
    hasStopReason: false,
    contentBlocks: 0,
  };
}

/** Records an event. */
export function recordEvent(record: MessageRecord, type: string, document: JsonObject): void {
  if (type === 'ping') return;
  record.contentBlocks += 1;
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

/** Records deltas whose content was counted without parsing them. */
export function recordDeltas(record: MessageRecord, events: number): void {
  record.begun = true;
  record.contentBlocks += events;
}

/** The results of the provider's tools come in blocks too, but no model wrote them. */
function recordBlock(record: MessageRecord, document: JsonObject): void {
  const type = member(member(document, 'content_block'), 'type');
  if (typeof type === 'string' && type.endsWith('_tool_result')) return;
  const isCall = typeof type === 'string' && type.endsWith('tool_use');
  if (record.counted.add(document) || isCall) record.begun = true;
}

/** Records the usage that an event states: the first of a stream, or one of its last. */
export function recordUsage(
  { usage, counted, hasStopReason }: MessageRecord,
  document: JsonValue,
): void {
  const stated = member(document, 'usage') ?? member(member(document, 'message'), 'usage');
  usage.add(stated, counted.tokens(), hasStopReason);
}
