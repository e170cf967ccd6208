/** An idempotency store in a table, exact over any number of processes. */
import type { JsonValue } from '../../json.ts';
import type { Promised } from '../../ports/call-options.ts';
import type {
  ClaimRecord,
  ClaimResult,
  IdempotencyStore,
} from '../../ports/replies/idempotency-store.ts';
import { integerAt, integerOrNoneAt, literalAt, textAt } from './columns.ts';
import { type SqlDialect, type SqlEngine, whole } from './engine.ts';

/** An {@link IdempotencyStore} whose methods always return promises. */
export interface SqlIdempotencyStore extends Promised<IdempotencyStore> {}

export function claimStatements({ table, claims: { ended, forget }, now }: SqlDialect) {
  const isOpen = `name = $1 AND claim_id = $2 AND state = 'running' AND ${forget} > ${now}`;
  return {
    finish: `
UPDATE ${table('claims')}
SET state = $3, http_status = ${whole('$4')}, ${ended} = ${now}, ${forget} = ${now} + ${whole('$5')}
WHERE ${isOpen}`,
    abandon: `DELETE FROM ${table('claims')} WHERE ${isOpen}`,
  };
}

/** A store over migrated tables. Each claim deletes a few expired records: no sweep is needed. */
export function sqlIdempotencyStore(engine: SqlEngine): SqlIdempotencyStore {
  const sql = claimStatements(engine.dialect);
  return {
    claim: async (input, options) => claimResult(await engine.call('claim', input, options)),
    finish: async ({ name, claimId, state, httpStatus, keepMs }, options) => {
      const values = [name, claimId, state, BigInt(httpStatus), BigInt(keepMs)];
      const finished = await engine.change(sql.finish, values, options);
      return { status: finished === 1 ? 'finished' : 'gone' };
    },
    abandon: async ({ name, claimId }, options) => {
      const abandoned = await engine.change(sql.abandon, [name, claimId], options);
      return { status: abandoned === 1 ? 'abandoned' : 'gone' };
    },
  };
}

function claimResult(reply: JsonValue | undefined): ClaimResult {
  const status = literalAt(reply, 'status', ['claimed', 'taken']);
  return status === 'claimed' ? { status } : { status, record: recordFrom(reply) };
}

function recordFrom(reply: unknown): ClaimRecord {
  return {
    state: literalAt(reply, 'state', ['running', 'done', 'unknown']),
    fingerprint: textAt(reply, 'fingerprint'),
    claimId: textAt(reply, 'claimId'),
    requestId: textAt(reply, 'requestId'),
    status: integerOrNoneAt(reply, 'httpStatus'),
    claimedAtMs: integerAt(reply, 'claimedAtMs'),
    endedAtMs: integerOrNoneAt(reply, 'endedAtMs'),
  };
}
