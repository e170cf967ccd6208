/**
 * What every port shares: a direct answer or a promise, a deadline, and the two errors a store may
 * throw.
 */

/** A memory store answers at once, a remote one by promise; `await` serves both. */
export type MaybePromise<T> = T | Promise<T>;

/** The patience of the asker. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/**
 * A store can't be reached or did not answer in time. Known by its `name`, not by `instanceof`: a
 * host may load the package twice.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** `unknown`: the operation may have taken effect. */
  readonly outcome: 'not_done' | 'unknown';

  constructor(
    message: string,
    details: { readonly outcome?: 'not_done' | 'unknown'; readonly cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.outcome = details.outcome ?? 'unknown';
  }
}

/**
 * A store answered with what its contract does not allow. Treated as unavailable: we fail closed.
 */
export class StoreCorrupt extends Error {
  override readonly name = 'StoreCorrupt';
}

/** Any thenable: a host's store may come with promises of its own. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
