/** What a driver threw, as one of the errors that a store may throw. */
import { StoreCorrupt, StoreUnavailable } from '../../ports/call-options.ts';

/** SQLite's primary result codes (sqlite.org/rescode.html) that mean something here. */
const codes = {
  busy: 5,
  locked: 6,
  corrupt: 11,
  full: 13,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  notADatabase: 26,
} as const;

const names: ReadonlyMap<string, number> = new Map([
  ['SQLITE_BUSY', codes.busy],
  ['SQLITE_LOCKED', codes.locked],
  ['SQLITE_CORRUPT', codes.corrupt],
  ['SQLITE_FULL', codes.full],
  ['SQLITE_TOOBIG', codes.tooBig],
  ['SQLITE_CONSTRAINT', codes.constraint],
  ['SQLITE_MISMATCH', codes.mismatch],
  ['SQLITE_NOTADB', codes.notADatabase],
]);

/** The file holds what the stores can't have written, or a write would break what always holds. */
const corruptions: readonly (number | undefined)[] = [
  codes.corrupt,
  codes.constraint,
  codes.mismatch,
  codes.notADatabase,
];

/** These leave nothing behind, at a commit too. */
const surelyNotDone: readonly (number | undefined)[] = [codes.busy, codes.locked, codes.full];

/** What the values of one row can be refused for. */
const refusals: readonly (number | undefined)[] = [codes.tooBig, codes.constraint, codes.mismatch];

/** Whether a row was refused for what is in it, which no other try can mend. */
export function isRefused(error: unknown): boolean {
  return refusals.includes(codeOf(error));
}

/** Whether another connection has the lock. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.busy || code === codes.locked;
}

/**
 * The error to throw: what is ours already stays, all else becomes StoreUnavailable with what is
 * known of the outcome, or StoreCorrupt.
 */
export function failureOf(error: unknown, outcome: 'not_done' | 'unknown'): Error {
  if (isOurs(error)) return error;
  const code = codeOf(error);
  if (corruptions.includes(code)) {
    return new StoreCorrupt(`SQLite refused with code ${code}`, { cause: error });
  }
  const known = surelyNotDone.includes(code) ? 'not_done' : outcome;
  const told = code === undefined ? 'failed' : `failed with code ${code}`;
  return new StoreUnavailable(`SQLite ${told}`, { outcome: known, cause: error });
}

function isOurs(error: unknown): error is Error {
  return (
    error instanceof Error &&
    ['StoreUnavailable', 'StoreCorrupt', 'RangeError', 'ConfigurationError'].includes(error.name)
  );
}

/**
 * The primary code, the low byte of an extended one. A number in libsql (`rawCode`) and node:sqlite
 * (`errcode`), a name in better-sqlite3 (`SQLITE_BUSY_SNAPSHOT`).
 */
function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  for (const member of ['rawCode', 'errcode']) {
    const code: unknown = Reflect.get(error, member);
    if (typeof code === 'number') return code & 0xff;
  }
  const name: unknown = Reflect.get(error, 'code');
  const primary = typeof name === 'string' ? /^SQLITE_[A-Z]+/.exec(name)?.[0] : undefined;
  return primary === undefined ? undefined : names.get(primary);
}
