/** A count of refusals as a row, the same in each database. */
import type { RecordedRefusals } from '../../ports/refusal-log.ts';

/** The columns and values of a row, in the order of the columns. */
export function refusalRow(
  count: RecordedRefusals,
): Readonly<Record<string, string | bigint | null>> {
  return {
    id: count.id,
    refused_at_ms: BigInt(count.atMs),
    key_id: count.keyId ?? null,
    key_group: count.group ?? null,
    model_id: count.modelId ?? null,
    protocol: count.protocol ?? null,
    code: count.code,
    reason: count.reason ?? null,
    detail: count.detail ?? null,
    refusals: BigInt(count.refusals),
  };
}
