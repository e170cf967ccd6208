/**
 * A usage record as a row: a column for what is asked or summed up by, JSON for the rest. What
 * comes back is the record that went in, checked.
 */
import type { Usage } from '../../money.ts';
import { isNanos } from '../../ports/quota-input.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
import {
  corrupt,
  flagAt,
  integerAt,
  integerOrNoneAt,
  jsonAt,
  jsonText,
  nanosAt,
  numberAt,
  numberOrNoneAt,
  type SqlValue,
  textAt,
  textOrNoneAt,
  wordAt,
} from './columns.ts';
import { attemptsFrom, labelsFrom, linesFrom, priceFrom } from './usage-json.ts';

/** The columns of a usage row, in the order of {@link usageValuesOf}. */
export const usageColumns: readonly string[] = [
  'request_id',
  'reservation_id',
  'quota_partition',
  'key_id',
  'key_group',
  'protocol',
  'streamed',
  'model_id',
  'channel_id',
  'upstream_model',
  'started_at_ms',
  'duration_ms',
  'first_byte_ms',
  'status',
  'outcome',
  'reason',
  'basis',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'images',
  'held_nanos',
  'charge_nanos',
  'price',
  'metadata',
  'lines',
  'attempts',
  'booked',
  'revision',
];

/**
 * What goes into {@link usageColumns}. Whole numbers are bigints, JSON is text.
 *
 * @throws RangeError where a record of a host's own making is none
 */
export function usageValuesOf(record: UsageRecord): readonly SqlValue[] {
  const { usage } = record;
  const count = (value: number | undefined): bigint | null =>
    value === undefined ? null : BigInt(Math.round(value));
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
    count(usage?.inputTokens),
    count(usage?.cachedInputTokens),
    count(usage?.outputTokens),
    count(usage?.images),
    record.heldNanos,
    record.chargeNanos,
    jsonText(record.price),
    record.metadata === undefined ? null : jsonText(record.metadata),
    jsonText(record.lines),
    jsonText(record.attempts),
    record.booked,
    count(record.revision),
  ].map(storable);
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
    metadata: metadata === undefined ? undefined : (labelsFrom(metadata) ?? corrupt('metadata')),
    protocol: wordAt(row, 'protocol', ['chat', 'images', 'native']),
    streamed: flagAt(row, 'streamed'),
    modelId: textAt(row, 'model_id'),
    channelId: textOrNoneAt(row, 'channel_id'),
    upstreamModel: textOrNoneAt(row, 'upstream_model'),
    attempts: attemptsFrom(jsonAt(row, 'attempts')) ?? corrupt('attempts'),
    startedAtMs: integerAt(row, 'started_at_ms'),
    durationMs: numberAt(row, 'duration_ms'),
    firstByteMs: numberOrNoneAt(row, 'first_byte_ms'),
    status: integerAt(row, 'status'),
    outcome: wordAt(row, 'outcome', outcomes),
    reason: textOrNoneAt(row, 'reason'),
    usage: usageOf(row),
    basis: wordAt(row, 'basis', ['usage', 'counted', 'estimate', 'policy']),
    heldNanos: nanosAt(row, 'held_nanos'),
    chargeNanos: nanosAt(row, 'charge_nanos'),
    price: priceFrom(jsonAt(row, 'price')) ?? corrupt('price'),
  };
}

const outcomes: readonly UsageRecord['outcome'][] = [
  'complete',
  'refused',
  'not_run',
  'failed',
  'truncated',
  'broken',
  'caller_left',
  'cut',
  'unknown',
];

/**
 * PostgreSQL takes no NUL in a text, and C strings end there; a half of a pair is no Unicode. What
 * a table would refuse is refused here, where one record is at stake and not its whole batch.
 */
function storable(value: SqlValue | undefined): SqlValue {
  if (typeof value === 'string') return value.replaceAll('\u0000', '\ufffd').toWellFormed();
  const isRefused =
    value === undefined ||
    (typeof value === 'number' && !Number.isFinite(value)) ||
    (typeof value === 'bigint' && !isNanos(value));
  if (isRefused) throw new RangeError('Usage record refused: a member is missing or no amount.');
  return value;
}

function usageOf(row: unknown): Usage | undefined {
  const inputTokens = integerOrNoneAt(row, 'input_tokens');
  if (inputTokens === undefined) return undefined;
  return {
    inputTokens,
    cachedInputTokens: integerAt(row, 'cached_input_tokens'),
    outputTokens: integerAt(row, 'output_tokens'),
    images: integerAt(row, 'images'),
  };
}
