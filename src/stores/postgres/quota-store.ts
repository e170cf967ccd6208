/**
 * A quota store in PostgreSQL, shared by any number of processes. Each statement is run by a
 * function in the database. The operations of calls on a busy subject share a statement.
 */
import { z } from 'zod';
import { type JsonValue, jsonWithBigints } from '../../json.ts';
import { type CallOptions, isStoreUnavailable, type Promised } from '../../ports/call-options.ts';
import {
  checkAdjust,
  checkEnding,
  checkExtend,
  checkReserve,
  checkRow,
  checkSweep,
} from '../../ports/limits/quota-input.ts';
import type {
  ExtendInput,
  ExtendResult,
  QuotaStore,
  ReserveInput,
} from '../../ports/limits/quota-store.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { flagAt, integerAt, textAt } from '../sql/columns.ts';
import { type PostgresLocation, type Statements, statements } from './client.ts';
import { locationMembers, locationRemedies } from './location.ts';
import { versionProblem } from './migrations.ts';
import { type BatchedOperation, QuotaBatches, withOutcome } from './quota-batches.ts';
import {
  adjustResult,
  extendResult,
  extendResults,
  quotaState,
  releaseResult,
  reserveResult,
  resultOf,
  settleResult,
  sweepResult,
} from './quota-replies.ts';

/** Where the tables are, and how long ended reservations are remembered. */
export interface PostgresQuotaStoreOptions extends PostgresLocation {
  /**
   * How long an ended reservation is remembered to answer repeats. Default: an hour. At least 15
   * minutes, since a gateway retries a settle for that long, and one that was forgotten would be
   * charged twice.
   */
  readonly endedTtlMs?: number;
}

/** A {@link QuotaStore} whose methods always return promises. */
export interface PostgresQuotaStore extends Promised<QuotaStore> {
  readonly durability: 'durable';
}

/** A gateway retries a settle or release for this long. */
const minEndedTtlMs = 900_000;
const minEndedTtl = 'must be an integer of at least 900000 ms';

const optionsSchema = strict('must be an object', {
  ...locationMembers,
  endedTtlMs: z.int(minEndedTtl).min(minEndedTtlMs, minEndedTtl).optional(),
} satisfies Record<keyof PostgresQuotaStoreOptions, z.ZodType>);

/** Of one operation: a second commit costs more than it gains where nobody else waits. */
const singleSql = 'SELECT "tollgate".quota_batch($1::text::jsonb)::text AS result';
const batchSql = 'CALL "tollgate".quota_run_batch($1)';
const extendSql = 'SELECT "tollgate".quota_extend($1::text::jsonb)::text AS result';
const sweepSql = 'SELECT "tollgate".quota_sweep($1::text::jsonb)::text AS result';
const readSql = 'SELECT "tollgate".quota_read($1::text::jsonb)::text AS result';
const adjustSql = 'SELECT "tollgate".quota_adjust($1::text::jsonb)::text AS result';

/** How many leases one statement renews or expires: the server's lock table is limited. */
const maxBatch = 100;

/** How many holds have their extends in batches; those of older ones go alone. */
const maxKnownHolds = 100_000;

type CallFunction = (
  sql: string,
  input: unknown,
  options: CallOptions,
) => Promise<JsonValue | undefined>;

/**
 * A quota store over a migrated database. Leases end by the server's clock.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresQuotaStore(options: PostgresQuotaStoreOptions): PostgresQuotaStore {
  checkMakerOptions('postgresQuotaStore', optionsSchema, options, locationRemedies);
  const { endedTtlMs = 3_600_000 } = options;
  const db = statements(options);
  const call = functionCaller(db);

  return {
    durability: 'durable',
    ...operationsOfCalls(call),
    sweep: async ({ max, partition, ...callOptions }) => {
      checkSweep({ max, ...(partition === undefined ? {} : { partition }) });
      const callBatch = inBatches(call);
      let expired = 0;
      for (;;) {
        const batch = { max: Math.min(max - expired, maxBatch), partition, keepMs: endedTtlMs };
        const swept = sweepResult(await callBatch(sweepSql, batch, callOptions));
        expired += swept.expired;
        // Where nothing could be expired, others have locked the remaining subjects.
        if (!swept.more || swept.expired === 0 || expired >= max) {
          return { expired, more: swept.more };
        }
      }
    },
    read: async (subject, period, partition, callOptions = {}) => {
      checkRow(subject, period, partition);
      const reply = await call(readSql, { subject, period, partition }, callOptions);
      return reply === undefined ? undefined : quotaState(reply);
    },
    adjust: async (input, callOptions = {}) => {
      checkAdjust(input);
      return adjustResult(await call(adjustSql, input, callOptions));
    },
    check: async (callOptions = {}) => {
      const problems = await quotaProblems(db, callOptions);
      return problems.length === 0 ? { ok: true } : { ok: false, problems };
    },
    // The host closes its client.
    close: async () => {},
  };
}

function operationsOfCalls(
  call: CallFunction,
): Pick<PostgresQuotaStore, 'reserve' | 'extend' | 'settle' | 'release'> {
  const batches = new QuotaBatches((partition, items) => sendBatch(call, { partition, items }));
  /** The subjects of the holds that this process made, for extends, which don't state them. */
  const subjectsOfHolds = new Map<string, readonly string[]>();

  return {
    reserve: async (input, callOptions = {}) => {
      checkReserve(input);
      const { id, partition } = input;
      const subjects = subjectsOf(input);
      const reply = await batches.run(reserveJson(input), { partition, subjects }, callOptions);
      const result = reserveResult(reply, input.lines.length);
      if (result.status !== 'held') return result;
      subjectsOfHolds.set(id, subjects);
      if (subjectsOfHolds.size > maxKnownHolds) {
        // A hold that another process has ended, or nobody.
        const [oldest = ''] = subjectsOfHolds.keys();
        subjectsOfHolds.delete(oldest);
      }
      return result;
    },
    extend: async (inputs, callOptions = {}) => {
      checkExtend(inputs);
      const [input, ...others] = inputs;
      const subjects = subjectsOfHolds.get(input?.id ?? '');
      if (input === undefined || others.length > 0 || subjects === undefined) {
        return extendAll(inBatches(call), inputs, callOptions);
      }
      const { partition, ...rest } = input;
      const operation = { op: 'extend', ...rest } as const;
      return [extendResult(await batches.run(operation, { partition, subjects }, callOptions))];
    },
    settle: async ({ id, partition, lines }, callOptions = {}) => {
      checkEnding({ id, partition, lines });
      subjectsOfHolds.delete(id);
      const of = { partition, subjects: subjectsOf({ lines }) };
      const reply = await batches.run({ op: 'settle', id, lines }, of, callOptions);
      return settleResult(reply, lines.length);
    },
    release: async ({ id, partition, lines }, callOptions = {}) => {
      checkEnding({ id, partition, lines });
      subjectsOfHolds.delete(id);
      const of = { partition, subjects: subjectsOf({ lines }) };
      return releaseResult(await batches.run({ op: 'release', id, lines }, of, callOptions));
    },
  };
}

function functionCaller({ rows }: Statements): CallFunction {
  return async (sql, input, options) =>
    resultOf(await rows(sql, [jsonWithBigints(input)], options));
}

/** SQLSTATEs of a statement that was cancelled, which may happen between two commits. */
const cancelled: ReadonlySet<string | undefined> = new Set(['57014', '25P04']);

async function sendBatch(
  call: CallFunction,
  batch: { readonly partition: string; readonly items: readonly BatchedOperation[] },
): Promise<JsonValue | undefined> {
  if (batch.items.length === 1) return call(singleSql, batch, {});
  try {
    return await call(batchSql, batch, {});
  } catch (error) {
    const mayBeDone = isStoreUnavailable(error) && cancelled.has(error.code);
    throw mayBeDone ? withOutcome(error, 'unknown') : error;
  }
}

/** For a call of several transactions: once the first has succeeded, no failure is `not_done`. */
function inBatches(call: CallFunction): CallFunction {
  let hasBegun = false;
  return async (...args) => {
    try {
      const reply = await call(...args);
      hasBegun = true;
      return reply;
    } catch (error) {
      throw hasBegun ? withOutcome(error, 'unknown') : error;
    }
  };
}

function subjectsOf({ lines }: Pick<ReserveInput, 'lines'>): readonly string[] {
  return lines.map(({ subject }) => subject);
}

/** Moves the charge on expiry and the cap of each line into the line. */
function reserveJson({
  lines,
  onExpire,
  maxConcurrentCalls,
  id,
  ttlMs,
}: ReserveInput): BatchedOperation {
  return {
    op: 'reserve',
    id,
    ttlMs,
    lines: lines.map((line, index) => ({
      ...line,
      charge: onExpire === 'release' ? 0n : onExpire.charge[index],
      cap: maxConcurrentCalls?.[index],
    })),
  };
}

/** Renews in batches of one partition each, one after the other; results in order of the inputs. */
async function extendAll(
  call: CallFunction,
  inputs: readonly ExtendInput[],
  options: CallOptions,
): Promise<readonly ExtendResult[]> {
  const results = new Map<ExtendInput, ExtendResult>();
  for (const partition of new Set(inputs.map((input) => input.partition))) {
    const all = inputs.filter((input) => input.partition === partition);
    for (let first = 0; first < all.length; first += maxBatch) {
      const batch = all.slice(first, first + maxBatch);
      const reply = await call(extendSql, { partition, items: batch }, options);
      for (const [index, result] of extendResults(reply, batch.length).entries()) {
        const input = batch[index];
        if (input !== undefined) results.set(input, result);
      }
    }
  }
  return inputs.flatMap((input) => results.get(input) ?? []);
}

const readSettings = `
SELECT current_setting('server_version_num')::integer AS server_version,
  pg_is_in_recovery() AS is_replica,
  current_setting('default_transaction_isolation') AS isolation,
  current_setting('default_transaction_read_only') AS read_only,
  current_setting('synchronous_commit') AS synchronous_commit`;

/** The oldest release that still gets fixes. */
const oldestServer = 130_000;

/**
 * The problems, each a sentence with its remedy; empty where there is none.
 *
 * @throws StoreUnavailable where the server can't be reached
 */
async function quotaProblems(db: Statements, options: CallOptions): Promise<readonly string[]> {
  const [row] = await db.rows(readSettings, [], options);
  const problems: readonly (readonly [boolean, string])[] = [
    [
      integerAt(row, 'server_version') < oldestServer,
      'PostgreSQL is older than 13. Use a release that is still maintained.',
    ],
    [
      flagAt(row, 'is_replica') || textAt(row, 'read_only') === 'on',
      'The server is read-only. Connect to the primary.',
    ],
    [
      textAt(row, 'isolation') !== 'read committed',
      "default_transaction_isolation must be 'read committed'. Set it for the gateway's role.",
    ],
    [
      textAt(row, 'synchronous_commit') === 'off',
      'synchronous_commit is off: a crash loses the last charges. Switch it on for the role.',
    ],
  ];
  const version = await versionProblem(db, options);
  const found = problems.flatMap(([isPresent, sentence]) => (isPresent ? [sentence] : []));
  return version === undefined ? found : [...found, version];
}
