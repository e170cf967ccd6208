/**
 * The door to PostgreSQL: one statement, its deadline, and every failure said as a store may say
 * it.
 */
import { z } from 'zod';
import { systemClock } from '../../clock.ts';
import { type CallOptions, StoreCorrupt, StoreUnavailable } from '../../ports/call-options.ts';
import { methods } from '../../ports/set-up.ts';
import { within } from '../../ports/within.ts';

/**
 * What runs SQL: a `Pool` of pg, a PGlite, or three lines around postgres.js. Each call is a
 * transaction of its own, so no `Client` that is inside one.
 */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** Where the tables are. */
export interface PostgresLocation {
  readonly client: PostgresClient;
  /** The schema of the tables; `tollgate` where left out. */
  readonly schema?: string;
}

/** The members of {@link PostgresLocation}, for the check of a maker's options. */
export const locationMembers: Readonly<Record<keyof PostgresLocation, z.ZodType>> = {
  client: methods('query'),
  schema: z
    .string('must be the name of a schema')
    .regex(/^[A-Za-z_]\w{0,62}$/, 'must match /^[A-Za-z_]\\w{0,62}$/')
    .optional(),
};

/** What to do about {@link locationMembers}. */
export const locationRemedies: Readonly<Record<string, string>> = {
  client: 'Give it a Pool of pg, or what has its query(text, values)',
};

/** Runs the statements of one store. */
export interface Statements {
  /**
   * The rows of a statement. One that lost a race in the database (40001, 40P01) is sent again: the
   * ids in it make that harmless.
   *
   * @throws StoreUnavailable; RangeError where the statement found its input illegal
   */
  rows(text: string, values: unknown[], options?: CallOptions): Promise<readonly unknown[]>;
}

/** The schema that the constants of this folder name. */
const written = '"tollgate"';

/** How often a statement is sent: a race is lost to one that was won, so some get through. */
const maxRaces = 10;

/** Statements in the schema of a place; in their text it is called `"tollgate"`. */
export function statements({ client, schema = 'tollgate' }: PostgresLocation): Statements {
  // A name can't be a bound parameter; this one has been checked, and is quoted.
  const inSchema = (text: string): string => text.replaceAll(written, ['"', schema, '"'].join(''));

  const run = async (text: string, values: unknown[], isOver: () => boolean) => {
    for (let races = 1; ; races += 1) {
      if (isOver()) throw given('not_done');
      try {
        return rowsOf(await client.query(text, values));
      } catch (error) {
        if (races === maxRaces || !isLostRace(error)) throw failureOf(error);
      }
    }
  };

  return {
    rows: async (text, values, options = {}) => {
      let isOver = options.signal?.aborted === true;
      try {
        return await inTime(
          run(inSchema(text), values, () => isOver),
          options,
        );
      } finally {
        // Nobody waits any more: a race that is lost later is not run again.
        isOver = true;
      }
    },
  };
}

/** What it answers is a host's to choose. */
function rowsOf(answer: unknown): readonly unknown[] {
  const rows: unknown =
    typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'rows') : undefined;
  if (!Array.isArray(rows)) throw new StoreCorrupt('the client answered without rows');
  return rows;
}

/** The outcome of a statement, or a rejection once nobody waits for it any more. */
async function inTime<T>(promise: Promise<T>, { signal, timeoutMs }: CallOptions): Promise<T> {
  // Whoever gave up has no use for what comes later.
  promise.catch(() => {});
  const timed = timeoutMs === undefined ? promise : within(promise, timeoutMs, systemClock());
  if (signal === undefined) return timed;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(given('unknown'));
    signal.addEventListener('abort', abort, { once: true });
    timed.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function given(outcome: StoreUnavailable['outcome']): StoreUnavailable {
  return new StoreUnavailable('the call was given up', { outcome });
}

function isLostRace(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error));
}

/** What our functions raise where an input is illegal. */
const illegalInput = 'TG001';

/** Codes after which a statement may have been committed, its answer lost. */
const mayBeDone = /^(?:08(?!001|004)|40003|57P0[12]|58|F0|XX)/;

/** Node's codes of five letters have no digit in them. */
const sqlState = /^(?=.*\d)[0-9A-Z]{5}$/;

function failureOf(error: unknown): Error {
  if (error instanceof StoreCorrupt || error instanceof StoreUnavailable) return error;
  const code = codeOf(error);
  if (code === illegalInput && error instanceof Error) return new RangeError(error.message);
  // The code alone: a message of the server may quote what was sent.
  return new StoreUnavailable(['PostgreSQL is unavailable', code].join(' ').trimEnd(), {
    outcome: isNotDone(error, code) ? 'not_done' : 'unknown',
    cause: error,
  });
}

/** An error of the server has rolled its statement back; one of dialling has sent nothing. */
function isNotDone(error: unknown, code: string): boolean {
  if (sqlState.test(code)) return !mayBeDone.test(code);
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND') return true;
  return typeof error === 'object' && error !== null && Reflect.get(error, 'syscall') === 'connect';
}

/** The SQLSTATE of an error, or Node's code; empty where there is none. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : '';
}
