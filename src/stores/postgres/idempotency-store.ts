/**
 * An idempotency store in PostgreSQL, exact over any number of processes, by the server's clock.
 */
import { z } from 'zod';
import { type JsonValue, jsonWithBigints, member } from '../../json.ts';
import { type CallOptions, StoreCorrupt } from '../../ports/call-options.ts';
import type {
  AbandonResult,
  ClaimRecord,
  ClaimResult,
  FinishResult,
  IdempotencyStore,
} from '../../ports/idempotency-store.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { type PostgresLocation, statements } from './client.ts';
import { locationMembers, locationRemedies } from './location.ts';
import { resultOf } from './quota-replies.ts';

/** An {@link IdempotencyStore} whose methods always return promises. */
export interface PostgresIdempotencyStore extends IdempotencyStore {
  claim(...args: Parameters<IdempotencyStore['claim']>): Promise<ClaimResult>;
  finish(...args: Parameters<IdempotencyStore['finish']>): Promise<FinishResult>;
  abandon(...args: Parameters<IdempotencyStore['abandon']>): Promise<AbandonResult>;
}

const optionsSchema = z.strictObject(
  { ...locationMembers } satisfies Record<keyof PostgresLocation, z.ZodType>,
  'must be an object',
);

const claimSql = 'SELECT "tollgate".claim($1::text::jsonb)::text AS result';
const finishSql = `
UPDATE "tollgate".claims
SET state = $3, http_status = $4::text::integer, ended_ms = t.at_ms,
  forget_ms = t.at_ms + $5::text::bigint
FROM (SELECT "tollgate".now_ms() AS at_ms) t
WHERE name = $1 AND claim_id = $2 AND state = 'running' AND forget_ms > t.at_ms
RETURNING name`;
const abandonSql = `
DELETE FROM "tollgate".claims
WHERE name = $1 AND claim_id = $2 AND state = 'running' AND forget_ms > "tollgate".now_ms()
RETURNING name`;

/**
 * An idempotency store over a migrated database. Each claim deletes a few expired records, so no
 * sweep is needed.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresIdempotencyStore(options: PostgresLocation): PostgresIdempotencyStore {
  checkMakerOptions('postgresIdempotencyStore', optionsSchema, options, locationRemedies);
  const { rows } = statements(options);
  const changed = async (
    sql: string,
    values: unknown[],
    callOptions: CallOptions | undefined,
  ): Promise<boolean> => (await rows(sql, values, callOptions)).length > 0;

  return {
    claim: async (input, callOptions) =>
      claimResult(resultOf(await rows(claimSql, [jsonWithBigints(input)], callOptions))),
    finish: async ({ name, claimId, state, httpStatus, keepMs }, callOptions) => {
      const values = [name, claimId, state, String(httpStatus), String(keepMs)];
      return { status: (await changed(finishSql, values, callOptions)) ? 'finished' : 'gone' };
    },
    abandon: async ({ name, claimId }, callOptions) => ({
      status: (await changed(abandonSql, [name, claimId], callOptions)) ? 'abandoned' : 'gone',
    }),
  };
}

function claimResult(reply: JsonValue | undefined): ClaimResult {
  const status = member(reply, 'status');
  if (status === 'claimed') return { status };
  if (status !== 'taken') corrupt('status');
  return { status, record: recordFrom(reply) };
}

function recordFrom(reply: JsonValue | undefined): ClaimRecord {
  const text = (name: string): string => {
    const value = member(reply, name);
    return typeof value === 'string' ? value : corrupt(name);
  };
  const number = (name: string): number | undefined => {
    const value = member(reply, name) ?? undefined;
    return value === undefined || typeof value === 'number' ? value : corrupt(name);
  };
  const state = states.find((known) => known === text('state')) ?? corrupt('state');
  return {
    state,
    fingerprint: text('fingerprint'),
    claimId: text('claimId'),
    requestId: text('requestId'),
    status: number('httpStatus'),
    claimedAtMs: number('claimedAtMs') ?? corrupt('claimedAtMs'),
    endedAtMs: number('endedAtMs'),
  };
}

const states: readonly ClaimRecord['state'][] = ['running', 'done', 'unknown'];

function corrupt(name: string): never {
  throw new StoreCorrupt(['PostgreSQL returned an invalid ', name].join(''));
}
