/** What the host's thread and the worker of a database send each other. */
import { isError } from '../../../errors.ts';
import { isStoreUnavailable, StoreCorrupt, StoreUnavailable } from '../../../ports/call-options.ts';
import type { InputOf, OperationName } from '../operations.ts';

/** What a worker opens. */
export interface Opening {
  /** The driver's module: a path, or `node:sqlite`. */
  readonly driver: string;
  readonly path: string;
  /** It only reads. */
  readonly isReader: boolean;
}

/** An operation that the worker is asked for. */
export interface Requested<Name extends OperationName = OperationName> {
  readonly name: Name;
  readonly input: InputOf<Name>;
  readonly nowMs: number;
  readonly bytes: Uint8Array | undefined;
  /** By {@link monotonicMs}; it does not begin after that. */
  readonly deadlineMs: number | undefined;
}

/** All operations that go into one transaction if they can, or the end of the worker. */
export type ToWorker = readonly Requested[] | 'close';

export type Answer = { readonly value: unknown } | { readonly error: SentError };

export type FromWorker =
  | { readonly opened: { readonly isInFile: boolean } }
  | { readonly failed: SentError }
  | { readonly answers: readonly Answer[] };

/** An error as plain data, because a clone would lose its class and members. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly code: unknown;
  readonly outcome: 'not_done' | 'unknown' | undefined;
  /** SQLite's number for the failure, as drivers have it. */
  readonly rawCode: unknown;
  readonly errcode: unknown;
  readonly cause: SentError | undefined;
}

export function sentError(error: unknown): SentError {
  const { name, message, cause } = isError(error)
    ? error
    : { name: 'Error', message: 'a value that is no error was thrown', cause: undefined };
  const member = (key: string): unknown =>
    isError(error) ? plain(Reflect.get(error, key)) : undefined;
  return {
    name,
    message,
    code: member('code'),
    outcome: isStoreUnavailable(error) ? error.outcome : undefined,
    rawCode: member('rawCode'),
    errcode: member('errcode'),
    cause: isError(cause) ? sentError(cause) : undefined,
  };
}

/** Functions and objects of a driver may not be cloned. */
function plain(value: unknown): unknown {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

export function receivedError(sent: SentError): Error {
  const cause = sent.cause === undefined ? undefined : receivedError(sent.cause);
  const { name, message, code, outcome = 'unknown' } = sent;
  if (name === 'StoreUnavailable') {
    return new StoreUnavailable(message, { outcome, code: textOf(code), cause });
  }
  if (name === 'StoreCorrupt') return new StoreCorrupt(message, { cause });
  const error = name === 'RangeError' ? new RangeError(message) : new Error(message, { cause });
  const { rawCode, errcode } = sent;
  return Object.assign(error, { name, ...stated({ code, rawCode, errcode }) });
}

function textOf(code: unknown): string | undefined {
  return typeof code === 'string' ? code : undefined;
}

function stated(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** The same clock in all threads of a process, which the wall clock's changes do not move. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}
