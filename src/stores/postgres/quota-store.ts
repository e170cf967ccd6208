/**
 * Quota in PostgreSQL: each operation is one statement and one transaction, made by a function of
 * the schema. It survives what the database survives, and serves any number of processes.
 */
import { z } from 'zod';
import type { JsonValue } from '../../json.ts';
import { type CallOptions, StoreUnavailable } from '../../ports/call-options.ts';
import {
  checkAdjust,
  checkEnding,
  checkExtend,
  checkReserve,
  checkRow,
  checkSweep,
} from '../../ports/quota-input.ts';
import type {
  ExtendInput,
  ExtendResult,
  QuotaState,
  QuotaStore,
  ReleaseResult,
  ReserveInput,
  ReserveResult,
  SettleResult,
} from '../../ports/quota-store.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { jsonText } from '../sql/columns.ts';
import {
  locationMembers,
  locationRemedies,
  type PostgresLocation,
  type Statements,
  statements,
} from './client.ts';
import {
  extendResults,
  quotaState,
  releaseResult,
  reserveResult,
  resultOf,
  settleResult,
  sweepResult,
} from './quota-answers.ts';
import { quotaProblems } from './quota-check.ts';

/** Where the tables are, and how long is remembered what has ended. */
export interface PostgresQuotaStoreOptions extends PostgresLocation {
  /**
   * How long an ended reservation is remembered for repeats, in ms; an hour where left out. Not
   * under 15 minutes: so long a gateway tries to settle, and one forgotten would be charged twice.
   */
  readonly endedTtlMs?: number;
}

/** A {@link QuotaStore} that answers by promise. */
export interface PostgresQuotaStore extends QuotaStore {
  readonly durability: 'durable';
  reserve(input: ReserveInput, options?: CallOptions): Promise<ReserveResult>;
  extend(inputs: readonly ExtendInput[], options?: CallOptions): Promise<readonly ExtendResult[]>;
  settle(...asked: Parameters<QuotaStore['settle']>): Promise<SettleResult>;
  release(...asked: Parameters<QuotaStore['release']>): Promise<ReleaseResult>;
  sweep(
    ...asked: Parameters<QuotaStore['sweep']>
  ): Promise<{ readonly expired: number; readonly more: boolean }>;
  read(...asked: Parameters<QuotaStore['read']>): Promise<QuotaState | undefined>;
  adjust(...asked: Parameters<QuotaStore['adjust']>): Promise<QuotaState>;
}

/** As long as a gateway goes on telling how a call ended. */
const shortestEndedTtlMs = 900_000;
const longEnough = 'must be an integer of at least 900000 ms';

const optionsSchema = z.strictObject(
  {
    ...locationMembers,
    endedTtlMs: z.int(longEnough).min(shortestEndedTtlMs, longEnough).optional(),
  } satisfies Record<keyof PostgresQuotaStoreOptions, z.ZodType>,
  'must be an object',
);

const reserveSql = 'SELECT "tollgate".quota_reserve($1::text::jsonb)::text AS result';
const extendSql = 'SELECT "tollgate".quota_extend($1::text::jsonb)::text AS result';
const settleSql = 'SELECT "tollgate".quota_settle($1::text::jsonb)::text AS result';
const releaseSql = 'SELECT "tollgate".quota_release($1::text::jsonb)::text AS result';
const sweepSql = 'SELECT "tollgate".quota_sweep($1::text::jsonb)::text AS result';
const readSql = 'SELECT "tollgate".quota_read($1::text::jsonb)::text AS result';
const adjustSql = 'SELECT "tollgate".quota_adjust($1::text::jsonb)::text AS result';

/** How many leases one statement renews or expires: a server has room for so many locks at once. */
const leasesAtOnce = 100;

/** Asks a function of the schema: JSON in, JSON out. */
type Ask = (sql: string, input: unknown, options: CallOptions) => Promise<JsonValue | undefined>;

/**
 * A quota store in PostgreSQL; `migratePostgres` has made its tables. Leases end by the server's
 * clock.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function postgresQuotaStore(options: PostgresQuotaStoreOptions): PostgresQuotaStore {
  checkMakerOptions('postgresQuotaStore', optionsSchema, options, locationRemedies);
  const { endedTtlMs = 3_600_000 } = options;
  const place = statements(options);
  const ask = asking(place);

  return {
    durability: 'durable',
    reserve: async (input, patience = {}) => {
      checkReserve(input);
      const answer = await ask(reserveSql, reserveJson(input), patience);
      return reserveResult(answer, input.lines.length);
    },
    extend: async (inputs, patience = {}) => {
      checkExtend(inputs);
      return extendAll(inParts(ask), inputs, patience);
    },
    settle: async ({ id, partition, lines }, patience = {}) => {
      checkEnding({ id, partition, lines });
      return settleResult(await ask(settleSql, { id, partition, lines }, patience));
    },
    release: async ({ id, partition, lines }, patience = {}) => {
      checkEnding({ id, partition, lines });
      return releaseResult(await ask(releaseSql, { id, partition, lines }, patience));
    },
    sweep: async ({ max, partition, ...patience }) => {
      checkSweep({ max, ...(partition === undefined ? {} : { partition }) });
      const askPart = inParts(ask);
      let expired = 0;
      for (;;) {
        const part = { max: Math.min(max - expired, leasesAtOnce), partition, keepMs: endedTtlMs };
        const swept = sweepResult(await askPart(sweepSql, part, patience));
        expired += swept.expired;
        // Where nothing could be expired, the rest is in other hands.
        if (!swept.more || swept.expired === 0 || expired >= max) {
          return { expired, more: swept.more };
        }
      }
    },
    read: async (subject, period, partition, patience = {}) => {
      checkRow(subject, period, partition);
      const answer = await ask(readSql, { subject, period, partition }, patience);
      return answer === undefined ? undefined : quotaState(answer);
    },
    adjust: async (input, patience = {}) => {
      checkAdjust(input);
      return quotaState(await ask(adjustSql, input, patience));
    },
    check: async (patience = {}) => {
      const problems = await quotaProblems(place, patience);
      return problems.length === 0 ? { ok: true } : { ok: false, problems };
    },
    // The client is the host's to close.
    close: () => {},
  };
}

function asking({ rows }: Statements): Ask {
  return async (sql, input, options) => resultOf(await rows(sql, [jsonText(input)], options));
}

/** For one call in several transactions: once one was answered, no failure undoes the whole. */
function inParts(ask: Ask): Ask {
  let isBegun = false;
  return async (...asked) => {
    try {
      const answer = await ask(...asked);
      isBegun = true;
      return answer;
    } catch (error) {
      if (!isBegun || !(error instanceof StoreUnavailable)) throw error;
      throw new StoreUnavailable(error.message, { outcome: 'unknown', cause: error.cause });
    }
  };
}

/** Each line with what the reserve says of it elsewhere. */
function reserveJson({
  lines,
  onExpire,
  maxConcurrentCalls,
  id,
  partition,
  ttlMs,
}: ReserveInput): object {
  return {
    id,
    partition,
    ttlMs,
    lines: lines.map((line, index) => ({
      ...line,
      charge: onExpire === 'release' ? 0n : onExpire.charge[index],
      cap: maxConcurrentCalls?.[index],
    })),
  };
}

/** In batches of one partition each, one after the other; answers in the order asked. */
async function extendAll(
  ask: Ask,
  inputs: readonly ExtendInput[],
  options: CallOptions,
): Promise<readonly ExtendResult[]> {
  const results = new Map<ExtendInput, ExtendResult>();
  for (const partition of new Set(inputs.map((input) => input.partition))) {
    const all = inputs.filter((input) => input.partition === partition);
    for (let first = 0; first < all.length; first += leasesAtOnce) {
      const batch = all.slice(first, first + leasesAtOnce);
      const answer = await ask(extendSql, { partition, items: batch }, options);
      for (const [index, result] of extendResults(answer, batch.length).entries()) {
        const input = batch[index];
        if (input !== undefined) results.set(input, result);
      }
    }
  }
  return inputs.flatMap((input) => results.get(input) ?? []);
}
