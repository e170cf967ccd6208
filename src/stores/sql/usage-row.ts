/**
 * The row of a usage record: members that reports filter by or sum up are columns, the rest is
 * JSON. Reading a row checks it and returns the original record.
 */

import { protocolNames } from '../../apis.ts';
import { storedReason } from '../../failure-reasons.ts';
import { jsonWithBigints } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { isNanos } from '../../ports/quota-input.ts';
import { callOutcomes, type UsageRecord } from '../../ports/usage-sink.ts';
import { priceFromJson, priceToJson } from '../../prices/codec.ts';
import {
  corrupt,
  flagAt,
  integerAt,
  integerOrNoneAt,
  jsonAt,
  literalAt,
  nanosAt,
  nanosOrNoneAt,
  numberAt,
  numberOrNoneAt,
  type SqlValue,
  textAt,
  textOrNoneAt,
} from './columns.ts';
import type { SqlColumn } from './engine.ts';
import { attemptsFrom, linesFrom, stringsFrom, toolCallsFrom } from './usage-json.ts';

/** The columns of a usage row, in the order of {@link usageValuesOf}. */
export const usageColumns: readonly SqlColumn[] = [
  { name: 'request_id', type: 'text' },
  { name: 'reservation_id', type: 'text' },
  { name: 'quota_partition', type: 'text' },
  { name: 'key_id', type: 'text' },
  { name: 'key_group', type: 'text' },
  { name: 'protocol', type: 'text' },
  { name: 'streamed', type: 'boolean' },
  { name: 'model_id', type: 'text' },
  { name: 'channel_id', type: 'text' },
  { name: 'upstream_model', type: 'text' },
  { name: 'started_at_ms', type: 'bigint' },
  { name: 'duration_ms', type: 'double precision' },
  { name: 'first_byte_ms', type: 'double precision' },
  { name: 'status', type: 'integer' },
  { name: 'outcome', type: 'text' },
  { name: 'reason', type: 'text' },
  { name: 'basis', type: 'text' },
  { name: 'input_tokens', type: 'bigint' },
  { name: 'cached_input_tokens', type: 'bigint' },
  { name: 'output_tokens', type: 'bigint' },
  { name: 'images', type: 'bigint' },
  { name: 'cache_write_5m_tokens', type: 'bigint' },
  { name: 'cache_write_1h_tokens', type: 'bigint' },
  { name: 'reasoning_tokens', type: 'bigint' },
  { name: 'audio_input_tokens', type: 'bigint' },
  { name: 'audio_output_tokens', type: 'bigint' },
  { name: 'image_input_tokens', type: 'bigint' },
  { name: 'image_output_tokens', type: 'bigint' },
  { name: 'video_input_tokens', type: 'bigint' },
  { name: 'largest_pass_input_tokens', type: 'bigint' },
  { name: 'tool_calls', type: 'json' },
  { name: 'held_nanos', type: 'bigint' },
  { name: 'charge_nanos', type: 'bigint' },
  { name: 'cost_nanos', type: 'bigint' },
  { name: 'price', type: 'json' },
  { name: 'metadata', type: 'json' },
  { name: 'lines', type: 'json' },
  { name: 'attempts', type: 'json' },
  { name: 'booked', type: 'boolean' },
  { name: 'revision', type: 'integer' },
];

/** The columns that a report sums up, besides amounts. */
export const countColumns: readonly string[] = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'audio_input_tokens',
  'image_input_tokens',
  'video_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_output_tokens',
  'image_output_tokens',
  'images',
];

/**
 * The values for {@link usageColumns}. Whole numbers are bigints, JSON is text.
 *
 * @throws RangeError where a record made by the host is not valid
 */
export function usageValuesOf(record: UsageRecord): readonly SqlValue[] {
  const { usage } = record;
  return [
    record.requestId,
    record.reservationId,
    record.partition,
    record.keyId,
    record.group,
    record.protocol,
    record.streamed,
    record.modelId,
    record.channelId ?? null,
    record.upstreamModel ?? null,
    count(record.startedAtMs),
    record.durationMs,
    record.firstByteMs ?? null,
    count(record.status),
    record.outcome,
    record.reason ?? null,
    record.basis,
    ...countsOf(usage).map(count),
    usage?.toolCalls === undefined ? null : jsonWithBigints(usage.toolCalls),
    record.heldNanos,
    record.chargeNanos,
    record.costNanos ?? null,
    jsonWithBigints(priceToJson(record.price)),
    record.metadata === undefined ? null : jsonWithBigints(record.metadata),
    jsonWithBigints(record.lines),
    jsonWithBigints(record.attempts),
    record.booked,
    count(record.revision),
  ].map(storable);
}

/** In the order of the columns. */
function countsOf(usage: Usage | undefined): readonly (number | undefined)[] {
  return [
    usage?.inputTokens,
    usage?.cachedInputTokens,
    usage?.outputTokens,
    usage?.images,
    usage?.cacheWrite5mTokens,
    usage?.cacheWrite1hTokens,
    usage?.reasoningTokens,
    usage?.audioInputTokens,
    usage?.audioOutputTokens,
    usage?.imageInputTokens,
    usage?.imageOutputTokens,
    usage?.videoInputTokens,
    usage?.largestPassInputTokens,
  ];
}

function count(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(Math.round(value));
}

/**
 * The record of a row.
 *
 * @throws StoreCorrupt that names the column
 */
export function usageRecordFrom(row: unknown): UsageRecord {
  const metadata = jsonAt(row, 'metadata');
  return {
    booked: flagAt(row, 'booked'),
    revision: integerAt(row, 'revision'),
    requestId: textAt(row, 'request_id'),
    reservationId: textAt(row, 'reservation_id'),
    partition: textAt(row, 'quota_partition'),
    lines: linesFrom(jsonAt(row, 'lines')) ?? corrupt('lines'),
    keyId: textAt(row, 'key_id'),
    group: textAt(row, 'key_group'),
    metadata: metadata === undefined ? undefined : (stringsFrom(metadata) ?? corrupt('metadata')),
    protocol: literalAt(row, 'protocol', protocolNames),
    streamed: flagAt(row, 'streamed'),
    modelId: textAt(row, 'model_id'),
    channelId: textOrNoneAt(row, 'channel_id'),
    upstreamModel: textOrNoneAt(row, 'upstream_model'),
    attempts: attemptsFrom(jsonAt(row, 'attempts')) ?? corrupt('attempts'),
    startedAtMs: integerAt(row, 'started_at_ms'),
    durationMs: numberAt(row, 'duration_ms'),
    firstByteMs: numberOrNoneAt(row, 'first_byte_ms'),
    status: integerAt(row, 'status'),
    outcome: literalAt(row, 'outcome', callOutcomes),
    reason: storedReason(textOrNoneAt(row, 'reason')),
    usage: usageOf(row),
    basis: literalAt(row, 'basis', ['usage', 'counted', 'estimate', 'policy']),
    heldNanos: nanosAt(row, 'held_nanos'),
    chargeNanos: nanosAt(row, 'charge_nanos'),
    costNanos: nanosOrNoneAt(row, 'cost_nanos'),
    price: priceFromJson(jsonAt(row, 'price')) ?? corrupt('price'),
  };
}

/**
 * Replaces characters that a database can't store: NUL, which ends C strings, and lone surrogates.
 * Values that a table would refuse are refused here, where that affects one record and not a batch.
 */
function storable(value: SqlValue | undefined): SqlValue {
  if (typeof value === 'string') return value.replaceAll('\u0000', '\ufffd').toWellFormed();
  const isRefused =
    value === undefined ||
    (typeof value === 'object' && value !== null) ||
    (typeof value === 'number' && !Number.isFinite(value)) ||
    (typeof value === 'bigint' && !isNanos(value));
  if (isRefused)
    throw new RangeError('Usage record refused: a member is missing or is not a valid amount.');
  return value;
}

function usageOf(row: unknown): Usage | undefined {
  const inputTokens = integerOrNoneAt(row, 'input_tokens');
  if (inputTokens === undefined) return undefined;
  const toolCalls = jsonAt(row, 'tool_calls');
  return {
    inputTokens,
    cachedInputTokens: integerAt(row, 'cached_input_tokens'),
    outputTokens: integerAt(row, 'output_tokens'),
    images: integerAt(row, 'images'),
    cacheWrite5mTokens: integerOrNoneAt(row, 'cache_write_5m_tokens'),
    cacheWrite1hTokens: integerOrNoneAt(row, 'cache_write_1h_tokens'),
    reasoningTokens: integerOrNoneAt(row, 'reasoning_tokens'),
    audioInputTokens: integerOrNoneAt(row, 'audio_input_tokens'),
    audioOutputTokens: integerOrNoneAt(row, 'audio_output_tokens'),
    imageInputTokens: integerOrNoneAt(row, 'image_input_tokens'),
    imageOutputTokens: integerOrNoneAt(row, 'image_output_tokens'),
    videoInputTokens: integerOrNoneAt(row, 'video_input_tokens'),
    largestPassInputTokens: integerOrNoneAt(row, 'largest_pass_input_tokens'),
    toolCalls:
      toolCalls === undefined ? undefined : (toolCallsFrom(toolCalls) ?? corrupt('tool_calls')),
  };
}
