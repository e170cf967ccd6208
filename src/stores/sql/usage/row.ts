/**
 * The row of a usage record: members that reports filter by or sum up are columns, the rest is
 * JSON. Reading a row checks it and returns the original record.
 */

import { protocolNames } from '../../../apis.ts';
import { storedReason } from '../../../failure-reasons.ts';
import { jsonWithBigints } from '../../../json.ts';
import type { Usage } from '../../../money.ts';
import { isNanos } from '../../../ports/limits/quota-input.ts';
import { callOutcomes, type UsageRecord } from '../../../ports/usage-sink.ts';
import { priceFromJson, priceToJson } from '../../../prices/codec.ts';
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
  valueAt,
} from '../columns.ts';
import type { SqlColumn, SqlRow } from '../engine.ts';
import { columnOf, countColumns, type UsageCount, usageCounts } from './counts.ts';
import { attemptsFrom, linesFrom, stringsFrom, toolCallsFrom } from './json.ts';

/** The members of a record and its usage that have a column; its name is theirs in snake case. */
const members: readonly (readonly [
  member: Exclude<keyof UsageRecord, 'usage'> | UsageCount | 'largestPassInputTokens' | 'toolCalls',
  type: SqlColumn['type'],
  presence?: 'optional',
])[] = [
  ['requestId', 'text'],
  ['reservationId', 'text'],
  ['partition', 'text'],
  ['keyId', 'text'],
  ['group', 'text'],
  ['protocol', 'text'],
  ['streamed', 'boolean'],
  ['modelId', 'text'],
  ['channelId', 'text', 'optional'],
  ['upstreamModel', 'text', 'optional'],
  ['startedAtMs', 'bigint'],
  ['durationMs', 'double precision'],
  ['firstByteMs', 'double precision', 'optional'],
  ['status', 'integer'],
  ['outcome', 'text'],
  ['reason', 'text', 'optional'],
  ['basis', 'text'],
  ...usageCounts.map((count) => [count, 'bigint', 'optional'] as const),
  ['largestPassInputTokens', 'bigint', 'optional'],
  ['toolCalls', 'json', 'optional'],
  ['heldNanos', 'bigint'],
  ['chargeNanos', 'bigint'],
  ['costNanos', 'bigint', 'optional'],
  ['price', 'json'],
  ['metadata', 'json', 'optional'],
  ['lines', 'json'],
  ['attempts', 'json'],
  ['booked', 'boolean'],
  ['revision', 'integer'],
];

const columns = members.map(([member, type, presence]) => {
  return { name: columnOf(member), type, member, isOptional: presence === 'optional' };
});

/** The columns of a usage row. */
export const usageColumns: readonly SqlColumn[] = columns;

/**
 * The row of a record. Whole numbers are bigints, JSON is text.
 *
 * @throws RangeError where a record made by the host is not valid
 */
export function usageRowOf({ usage, ...record }: UsageRecord): SqlRow {
  const given = { ...usage, ...record, price: priceToJson(record.price) };
  return Object.fromEntries(
    columns.map(({ name, type, member, isOptional }) => {
      const value = given[member];
      const isNone = value === undefined && isOptional;
      return [name, isNone ? null : storable(inColumn(value, type))];
    }),
  );
}

function inColumn(value: unknown, type: SqlColumn['type']): unknown {
  if (type === 'json') return jsonWithBigints(value);
  const isWhole = typeof value === 'number' && (type === 'bigint' || type === 'integer');
  return isWhole ? BigInt(Math.round(value)) : value;
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
function storable(value: unknown): SqlValue {
  if (typeof value === 'string') return value.replaceAll('\u0000', '\ufffd').toWellFormed();
  if (typeof value === 'boolean' || isNanos(value)) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new RangeError('Usage record refused: a member is missing or is not a valid amount.');
}

function usageOf(row: unknown): Usage | undefined {
  if (valueAt(row, 'input_tokens') === undefined) return undefined;
  const toolCalls = jsonAt(row, 'tool_calls');
  const counts: { [Name in UsageCount]?: number | undefined } = {};
  for (const [count, column] of countColumns) counts[count] = integerOrNoneAt(row, column);
  return {
    ...counts,
    inputTokens: integerAt(row, 'input_tokens'),
    cachedInputTokens: integerAt(row, 'cached_input_tokens'),
    outputTokens: integerAt(row, 'output_tokens'),
    images: integerAt(row, 'images'),
    largestPassInputTokens: integerOrNoneAt(row, 'largest_pass_input_tokens'),
    toolCalls:
      toolCalls === undefined ? undefined : (toolCallsFrom(toolCalls) ?? corrupt('tool_calls')),
  };
}
