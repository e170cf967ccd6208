/**
 * Everything that can go wrong, as data: one union of codes, one table code → status, and the three
 * error classes a host may meet. A new failure is a new row here, not a new class.
 */

/** What the gateway answers a caller with. Stable: hosts and callers may switch on it. */
export type ErrorCode =
  | 'invalid_request'
  | 'not_portable'
  | 'too_complex'
  | 'invalid_key'
  | 'insufficient_quota'
  | 'model_not_allowed'
  | 'route_not_found'
  | 'model_not_found'
  | 'method_not_allowed'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'idempotency_in_progress'
  | 'result_expired'
  | 'idempotency_mismatch'
  | 'rate_limited'
  | 'upstream_rate_limited'
  | 'internal_error'
  | 'not_implemented'
  | 'upstream_failed'
  | 'no_channel'
  | 'upstream_overloaded'
  | 'store_unavailable'
  | 'overloaded'
  | 'draining'
  | 'upstream_timeout';

/** The HTTP status of each code, on every protocol. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  not_portable: 400,
  too_complex: 400,
  invalid_key: 401,
  insufficient_quota: 403,
  model_not_allowed: 403,
  route_not_found: 404,
  model_not_found: 404,
  method_not_allowed: 405,
  idempotency_in_progress: 409,
  result_expired: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  rate_limited: 429,
  upstream_rate_limited: 429,
  internal_error: 500,
  not_implemented: 501,
  upstream_failed: 502,
  no_channel: 503,
  upstream_overloaded: 503,
  store_unavailable: 503,
  overloaded: 503,
  draining: 503,
  upstream_timeout: 504,
};

/** What a {@link GatewayError} may carry beside its code and its sentence. */
export interface GatewayErrorDetails {
  /**
   * The field of the request that is wrong, as the caller named it: `messages`, `n`, `contents`.
   */
  readonly param?: string;
  /**
   * A finer code that clients act on, which takes the place of the general one in what the caller
   * gets: `context_length_exceeded`, `content_filter`.
   */
  readonly clientCode?: string;
  /**
   * `false`: the caller's SDK must not send the call again by itself. `true`: surely nothing ran,
   * and it may, even where the call buys an image. Left out, the status decides.
   */
  readonly shouldRetry?: boolean;
  /** A finer name than the code, for events and the usage record; never sent to the caller. */
  readonly reason?: string;
  /** How long the caller should wait before the same call can succeed. */
  readonly retryAfterMs?: number;
  /** The methods that do work, for `method_not_allowed`: `POST`, `GET, HEAD`. */
  readonly allow?: string;
  /** The request that this one repeats, where asking again gives no other answer. */
  readonly originalRequestId?: string;
  readonly cause?: unknown;
}

/**
 * A refusal or a failure that a caller may read. The message is one sentence that says what is
 * wrong and what to send instead; it never holds a secret, a prompt or an upstream's address.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly clientCode: string | undefined;
  readonly shouldRetry: boolean | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly allow: string | undefined;
  readonly originalRequestId: string | undefined;

  constructor(code: ErrorCode, message: string, details: GatewayErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.param = details.param;
    this.clientCode = details.clientCode;
    this.shouldRetry = details.shouldRetry;
    this.reason = details.reason;
    this.retryAfterMs = details.retryAfterMs;
    this.allow = details.allow;
    this.originalRequestId = details.originalRequestId;
  }
}

/** The same error with other details beside those that it has. */
export function withDetails(error: GatewayError, details: GatewayErrorDetails): GatewayError {
  const { code, message, param, clientCode, shouldRetry, reason, retryAfterMs } = error;
  const { allow, originalRequestId, cause } = error;
  const known = { param, clientCode, shouldRetry, reason, retryAfterMs, allow, originalRequestId };
  const stated = Object.entries(known).filter(([, value]) => value !== undefined);
  return new GatewayError(code, message, { ...Object.fromEntries(stated), cause, ...details });
}

/** How far a failed upstream call had come, which decides whether it may be tried again. */
export type UpstreamStage = 'connect' | 'sent' | 'body';

/**
 * The transport to an upstream failed: no whole answer came. It stays inside the gateway, for a
 * dial error names the upstream's host; callers and events see only `reason`.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /**
   * `connect`: surely nothing ran. `sent`: it may have run. `body`: it ran, the answer broke off.
   */
  readonly stage: UpstreamStage;
  /** `connect_refused`, `connect_timeout`, `dns`, `tls`, `reset`, `headers_timeout`, … */
  readonly reason: string;
  readonly timedOut: boolean;

  constructor(
    stage: UpstreamStage,
    reason: string,
    details: { readonly timedOut?: boolean; readonly cause?: unknown } = {},
  ) {
    super(
      `upstream ${stage}: ${reason}`,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.stage = stage;
    this.reason = reason;
    this.timedOut = details.timedOut ?? false;
  }
}

/** The host set something up wrongly. Thrown at start-up; names the option and the remedy. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  /** As Node's own errors have one: the same in both builds of the package, and in adapters. */
  readonly code = 'ERR_TOLLGATE_CONFIGURATION';
}

/**
 * Tells a {@link GatewayError} by its shape: a host may load the package twice, as ESM and as CJS.
 */
export function isGatewayError(error: unknown): error is GatewayError {
  return errorName(error) === 'GatewayError' && has(error, 'code');
}

/** Tells an {@link UpstreamError} by its shape, for the reason given at {@link isGatewayError}. */
export function isUpstreamError(error: unknown): error is UpstreamError {
  return errorName(error) === 'UpstreamError' && has(error, 'stage');
}

/**
 * Tells a {@link ConfigurationError} by its shape, for the reason given at {@link isGatewayError};
 * also those that adapters throw.
 */
export function isConfigurationError(error: unknown): error is ConfigurationError {
  return errorName(error) === 'ConfigurationError' && has(error, 'code');
}

/**
 * The name of whatever was thrown. A driver's error may have members that throw when they are read,
 * and whoever handles a failure must not fail by it.
 */
export function errorName(error: unknown): string {
  try {
    return error instanceof Error ? String(error.name) : 'thrown';
  } catch {
    return 'unreadable';
  }
}

function has(error: unknown, member: string): boolean {
  return typeof error === 'object' && error !== null && member in error;
}
