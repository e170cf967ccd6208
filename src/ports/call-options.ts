/**
 * Types that all ports share: a direct answer or a promise, a deadline, and the two errors that a
 * store may throw.
 */
import { errorName } from '../errors.ts';

/** A memory store answers directly and a remote one with a promise; `await` handles both. */
export type MaybePromise<T> = T | Promise<T>;

/** A port whose methods always return promises. */
export type Promised<Port> = {
  readonly [Name in keyof Port]: Port[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : Port[Name];
};

/** Deadline and abort signal of a port call. */
export interface CallOptions {
  /** Aborts when the answer is no longer needed. */
  readonly signal?: AbortSignal;
  /** How long the caller waits for the answer, in ms. */
  readonly timeoutMs?: number;
}

/**
 * A store can't be reached or did not answer in time. The gateway recognises this error by its
 * `name` and not by `instanceof`, because a host may load the package twice.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** `unknown`: the operation may have taken effect. */
  readonly outcome: 'not_done' | 'unknown';
  /** The database's code, for the event `port_failed`: an SQLSTATE, an errno, `SQLITE_FULL`. */
  readonly code: string | undefined;

  constructor(
    message: string,
    details: {
      /** Whether the operation may have taken effect. Default: `unknown`. */
      readonly outcome?: 'not_done' | 'unknown';
      /** The database's code: an SQLSTATE, an errno. */
      readonly code?: string | undefined;
      /** What the database's client threw. */
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.outcome = details.outcome ?? 'unknown';
    this.code = details.code;
  }
}

/**
 * A store's answer violates its contract. The gateway treats the store as unavailable, so that
 * calls fail closed.
 */
export class StoreCorrupt extends Error {
  override readonly name = 'StoreCorrupt';
}

/** Whether the value is a {@link StoreUnavailable}, by its shape: see there. */
export function isStoreUnavailable(error: unknown): error is StoreUnavailable {
  return errorName(error) === 'StoreUnavailable';
}

/** Whether the value is a {@link StoreCorrupt}, by its shape, as {@link isStoreUnavailable}. */
export function isStoreCorrupt(error: unknown): error is StoreCorrupt {
  return errorName(error) === 'StoreCorrupt';
}

/** Accepts any thenable: a host's store may have its own promise class, or be an RPC stub. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  if (typeof value === 'function') return 'then' in value;
  return typeof value === 'object' && value !== null && 'then' in value;
}
