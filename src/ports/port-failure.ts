/** What is known of a port call that failed. */

/** A port threw, timed out, or returned a value that its contract does not allow. */
export interface PortFailure {
  /** The `x-request-id` of the reply; undefined outside of a request. */
  readonly requestId: string | undefined;
  /** The option of `createGateway` that holds the port. */
  readonly port: PortName;
  /** The method of the port that was called. */
  readonly operation: string;
  /**
   * The name of what was thrown, if it is one of this package, JavaScript or Node, and else
   * `Error`; `circuit_open`, if the port was not called because three calls in a row had timed out;
   * or the sentences of a store's self-test that failed.
   */
  readonly reason: string;
  /**
   * With the reason `StoreCorrupt`: the member that is wrong in the record of a key or a model, or
   * in the answer of a guard, such as `quota[0].limitNanos`, which must be a bigint.
   */
  readonly member?: string;
  /** What that member must be, as the end of a sentence, and what to do. Never its value. */
  readonly problem?: string;
  /** The code of what was thrown, or of its cause: an SQLSTATE, an errno, `SQLITE_FULL`. */
  readonly code?: string;
  /**
   * What the port threw. Not enumerable, so that JSON and telemetry never have it; `logEvents`
   * writes its message and stack. An error that quotes the caller's secret is replaced.
   */
  readonly error?: unknown;
}

const ports = [
  'keys',
  'sessions',
  'failed_key_limit',
  'quota',
  'catalog',
  'guard',
  'rate_limiter',
  'usage',
  'refusals',
  'idempotency',
  'results',
  'response_index',
  'items',
  'cluster',
] as const;

/** The name of a port in events. */
export type PortName = (typeof ports)[number];

/** All of them. */
export const portNames: readonly PortName[] = ports;
