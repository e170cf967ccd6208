/**
 * The only file that talks to PostgreSQL: it runs a statement with its deadline and maps failures
 * to the errors of a store.
 */
import { systemClock } from '../../clock.ts';
import { isError } from '../../errors.ts';
import {
  type CallOptions,
  isStoreCorrupt,
  isStoreUnavailable,
  StoreCorrupt,
  StoreUnavailable,
} from '../../ports/call-options.ts';
import { within } from '../../ports/within.ts';

/**
 * Runs SQL: a `Pool` of pg, a PGlite, or a small wrapper around postgres.js. Each call must be a
 * separate transaction, so don't pass a `Client` that is inside one.
 */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** Where the tables are. */
export interface PostgresLocation {
  readonly client: PostgresClient;
  /** The schema of the tables. Default: `tollgate`. */
  readonly schema?: string;
}

export interface Statements {
  /**
   * The rows of a statement. After a serialization failure or deadlock (40001, 40P01) it is sent
   * again; the ids in statements make that safe.
   *
   * @throws StoreUnavailable; RangeError where the database refused the input
   */
  rows(text: string, values: unknown[], options?: CallOptions): Promise<readonly unknown[]>;
}

/** The schema name in the SQL of this folder, replaced by the configured one. */
const schemaPlaceholder = '"tollgate"';

/** How often a statement is sent; a lost race means that another statement has made progress. */
const maxTries = 10;

export function statements({ client, schema = 'tollgate' }: PostgresLocation): Statements {
  // A schema name can't be a bound parameter; this one has been validated and is quoted.
  const inSchema = (text: string): string =>
    text.replaceAll(schemaPlaceholder, ['"', schema, '"'].join(''));

  const run = async (text: string, values: unknown[], isOver: () => boolean) => {
    for (let tries = 1; ; tries += 1) {
      if (isOver()) throw abortedCall('not_done');
      try {
        return rowsOf(await client.query(text, values));
      } catch (error) {
        if (tries === maxTries || !isLostRace(error)) throw failureOf(error);
      }
    }
  };

  return {
    rows: async (text, values, options = {}) => {
      let isOver = options.signal?.aborted === true;
      try {
        return await withDeadline(
          run(inSchema(text), values, () => isOver),
          options,
        );
      } finally {
        // Nobody waits for the result any more, so a race lost from here on is not retried.
        isOver = true;
      }
    },
  };
}

/** The host chooses the client, so its result is checked. */
function rowsOf(result: unknown): readonly unknown[] {
  const rows: unknown =
    typeof result === 'object' && result !== null ? Reflect.get(result, 'rows') : undefined;
  if (!Array.isArray(rows)) throw new StoreCorrupt('the client returned a result without rows');
  return rows;
}

/** The outcome of a statement, or a rejection at the deadline or when the call is aborted. */
export async function withDeadline<T>(
  promise: Promise<T>,
  { signal, timeoutMs }: CallOptions,
): Promise<T> {
  // A failure after the deadline must not become an unhandled rejection.
  promise.catch(() => {});
  const timed = timeoutMs === undefined ? promise : within(promise, timeoutMs, systemClock());
  if (signal === undefined) return timed;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(abortedCall('unknown'));
    signal.addEventListener('abort', abort, { once: true });
    timed.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function abortedCall(outcome: StoreUnavailable['outcome']): StoreUnavailable {
  return new StoreUnavailable('the call was aborted', { outcome });
}

function isLostRace(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error));
}

/** The SQLSTATE that our functions raise where an input is not allowed. */
const invalidInput = 'TG001';

/** SQLSTATEs after which a statement may have been committed and only its reply was lost. */
const mayBeDone = /^(?:08(?!001|004)|40003|57P0[12]|58|F0|XX)/;

/** Node's error codes may also have five letters, but no digit. */
const sqlState = /^(?=.*\d)[0-9A-Z]{5}$/;

function failureOf(error: unknown): Error {
  if (isStoreCorrupt(error) || isStoreUnavailable(error)) return error;
  const code = codeOf(error);
  if (code === invalidInput && isError(error)) return new RangeError(error.message);
  // Only the code: a message of the server may quote the statement's values.
  const text = missing.has(code)
    ? `The tables are missing (${code}). ${migrationRemedy}`
    : ['PostgreSQL is unavailable', code].join(' ').trimEnd();
  return new StoreUnavailable(text, {
    outcome: isNotDone(error, code) ? 'not_done' : 'unknown',
    code: code === '' ? undefined : code,
    cause: error,
  });
}

/** What to do about missing tables. */
export const migrationRemedy = 'Run migratePostgres(client) before the gateway starts.';

/** undefined_table, invalid_schema_name and undefined_function. */
const missing: ReadonlySet<string> = new Set(['42P01', '3F000', '42883']);

/** A server error rolls the statement back; where connecting failed, nothing was sent. */
function isNotDone(error: unknown, code: string): boolean {
  if (sqlState.test(code)) return !mayBeDone.test(code);
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND') return true;
  return typeof error === 'object' && error !== null && Reflect.get(error, 'syscall') === 'connect';
}

/** The SQLSTATE of an error, or Node's error code; empty where there is none. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : '';
}
