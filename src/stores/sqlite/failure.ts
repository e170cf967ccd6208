/** Maps a driver's errors to the errors of a store. */
import { isError } from '../../errors.ts';
import { StoreCorrupt, StoreUnavailable } from '../../ports/call-options.ts';

/** SQLite's primary result codes (sqlite.org/rescode.html) that are named or distinguished here. */
const names: ReadonlyMap<number, string> = new Map([
  [5, 'SQLITE_BUSY'],
  [6, 'SQLITE_LOCKED'],
  [8, 'SQLITE_READONLY'],
  [10, 'SQLITE_IOERR'],
  [11, 'SQLITE_CORRUPT'],
  [13, 'SQLITE_FULL'],
  [14, 'SQLITE_CANTOPEN'],
  [18, 'SQLITE_TOOBIG'],
  [19, 'SQLITE_CONSTRAINT'],
  [20, 'SQLITE_MISMATCH'],
  [26, 'SQLITE_NOTADB'],
]);

/** The file has content that the stores can't have written, or a write would break an invariant. */
const corruptions = 'SQLITE_CORRUPT SQLITE_CONSTRAINT SQLITE_MISMATCH SQLITE_NOTADB'.split(' ');

/** After these nothing is written, even if they occur at a commit. */
const surelyNotDone = 'SQLITE_BUSY SQLITE_LOCKED SQLITE_FULL'.split(' ');

/** With these the values of a single row are refused. */
const refusals = 'SQLITE_TOOBIG SQLITE_CONSTRAINT SQLITE_MISMATCH'.split(' ');

/** Whether a row was refused for its content, so that a retry is useless. */
export function isRefused(error: unknown): boolean {
  return refusals.includes(codeOf(error) ?? '');
}

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED';
}

/**
 * The error to throw: errors of the stores are kept; all others become StoreCorrupt, or
 * StoreUnavailable with the known outcome.
 */
export function failureOf(error: unknown, outcome: 'not_done' | 'unknown'): Error {
  if (isOurs(error)) return error;
  const code = codeOf(error);
  if (corruptions.includes(code ?? '')) {
    return new StoreCorrupt(`SQLite refused with ${code}`, { cause: error });
  }
  const known = surelyNotDone.includes(code ?? '') ? 'not_done' : outcome;
  const problem = code === undefined ? 'failed' : `failed with ${code}`;
  return new StoreUnavailable(`SQLite ${problem}`, { outcome: known, code, cause: error });
}

function isOurs(error: unknown): error is Error {
  return (
    isError(error) &&
    ['StoreUnavailable', 'StoreCorrupt', 'RangeError', 'ConfigurationError'].includes(error.name)
  );
}

/**
 * The name of the primary code, which is the low byte of an extended code; its number, if it is not
 * distinguished here. libsql (`rawCode`) and node:sqlite (`errcode`) give a number, better-sqlite3
 * a name (`SQLITE_BUSY_SNAPSHOT`).
 */
function codeOf(error: unknown): string | undefined {
  if (!isError(error)) return undefined;
  for (const member of ['rawCode', 'errcode']) {
    const code: unknown = Reflect.get(error, member);
    if (typeof code === 'number') return names.get(code & 0xff) ?? `code ${code & 0xff}`;
  }
  const name: unknown = Reflect.get(error, 'code');
  const primary = typeof name === 'string' ? /^SQLITE_[A-Z]+/.exec(name)?.[0] : undefined;
  return [...names.values()].find((known) => known === primary);
}
