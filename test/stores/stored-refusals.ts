/** Reads the rows of a table of refusals, in the forms of all drivers. */

import { protocolNames } from '../../src/apis.ts';
import { type ErrorCode, isErrorCode } from '../../src/errors.ts';
import { storedReason } from '../../src/failure-reasons.ts';
import type { RecordedRefusals } from '../../src/ports/refusal-log.ts';
import { integerAt, textAt, textOrNoneAt } from '../../src/stores/sql/columns.ts';

/** The counts in these rows. */
export function storedRefusals(rows: unknown): readonly RecordedRefusals[] {
  if (!Array.isArray(rows)) throw new TypeError('the driver returned no rows');
  return rows.map((row: unknown) => ({
    id: textAt(row, 'id'),
    atMs: integerAt(row, 'refused_at_ms'),
    keyId: textOrNoneAt(row, 'key_id'),
    group: textOrNoneAt(row, 'key_group'),
    protocol: protocolNames.find((name) => name === textOrNoneAt(row, 'protocol')),
    modelId: textOrNoneAt(row, 'model_id'),
    code: codeNamed(textAt(row, 'code')),
    reason: storedReason(textOrNoneAt(row, 'reason')),
    detail: textOrNoneAt(row, 'detail'),
    refusals: integerAt(row, 'refusals'),
  }));
}

function codeNamed(name: string): ErrorCode {
  if (!isErrorCode(name)) throw new TypeError('the row has no code of ours');
  return name;
}
