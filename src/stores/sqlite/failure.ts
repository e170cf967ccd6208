/** Maps a driver's errors to the errors of a store. */
import { isError } from '../../errors.ts';
import { StoreCorrupt, StoreUnavailable } from '../../ports/call-options.ts';

/** SQLite's primary result codes (sqlite.org/rescode.html) that are named or distinguished here. */
const codes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  notADatabase: 26,
} as const;

const names: ReadonlyMap<string, number> = new Map([
  ['SQLITE_BUSY', codes.busy],
  ['SQLITE_LOCKED', codes.locked],
  ['SQLITE_READONLY', codes.readOnly],
  ['SQLITE_IOERR', codes.io],
  ['SQLITE_CORRUPT', codes.corrupt],
  ['SQLITE_FULL', codes.full],
  ['SQLITE_CANTOPEN', codes.cannotOpen],
  ['SQLITE_TOOBIG', codes.tooBig],
  ['SQLITE_CONSTRAINT', codes.constraint],
  ['SQLITE_MISMATCH', codes.mismatch],
  ['SQLITE_NOTADB', codes.notADatabase],
]);

/** The file has content that the stores can't have written, or a write would break an invariant. */
const corruptions: readonly (number | undefined)[] = [
  codes.corrupt,
  codes.constraint,
  codes.mismatch,
  codes.notADatabase,
];

/** After these nothing is written, even if they occur at a commit. */
const surelyNotDone: readonly (number | undefined)[] = [codes.busy, codes.locked, codes.full];

/** Codes with which the values of a single row are refused. */
const refusals: readonly (number | undefined)[] = [codes.tooBig, codes.constraint, codes.mismatch];

/** Whether a row was refused for its content, so that a retry is useless. */
export function isRefused(error: unknown): boolean {
  return refusals.includes(codeOf(error));
}

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.busy || code === codes.locked;
}

/**
 * The error to throw: errors of the stores are kept; all others become StoreCorrupt, or
 * StoreUnavailable with the known outcome.
 */
export function failureOf(error: unknown, outcome: 'not_done' | 'unknown'): Error {
  if (isOurs(error)) return error;
  const code = codeOf(error);
  const name = code === undefined ? undefined : nameOf(code);
  if (corruptions.includes(code)) {
    return new StoreCorrupt(`SQLite refused with ${name}`, { cause: error });
  }
  const known = surelyNotDone.includes(code) ? 'not_done' : outcome;
  const problem = name === undefined ? 'failed' : `failed with ${name}`;
  return new StoreUnavailable(`SQLite ${problem}`, { outcome: known, code: name, cause: error });
}

/** The name of SQLite's documentation; the number of a code that is not distinguished here. */
function nameOf(code: number): string {
  const [name] = [...names].find(([, known]) => known === code) ?? [];
  return name ?? `code ${code}`;
}

function isOurs(error: unknown): error is Error {
  return (
    isError(error) &&
    ['StoreUnavailable', 'StoreCorrupt', 'RangeError', 'ConfigurationError'].includes(error.name)
  );
}

/**
 * The primary code, which is the low byte of an extended code. libsql (`rawCode`) and node:sqlite
 * (`errcode`) give a number, better-sqlite3 a name (`SQLITE_BUSY_SNAPSHOT`).
 */
function codeOf(error: unknown): number | undefined {
  if (!isError(error)) return undefined;
  for (const member of ['rawCode', 'errcode']) {
    const code: unknown = Reflect.get(error, member);
    if (typeof code === 'number') return code & 0xff;
  }
  const name: unknown = Reflect.get(error, 'code');
  const primary = typeof name === 'string' ? /^SQLITE_[A-Z]+/.exec(name)?.[0] : undefined;
  return primary === undefined ? undefined : names.get(primary);
}
