/**
 * All errors of the gateway: one union of codes, one table from code to status, and the three error
 * classes that a host may see. A new failure is a new row, not a new class.
 */
import { types } from 'node:util';
import type { FailureReason } from './failure-reasons.ts';

const statuses = {
  invalid_request: 400,
  not_portable: 400,
  too_complex: 400,
  refused_by_policy: 400,
  previous_response_not_found: 400,
  invalid_key: 401,
  insufficient_quota: 403,
  model_not_allowed: 403,
  route_not_found: 404,
  model_not_found: 404,
  item_not_found: 404,
  response_not_found: 404,
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
} as const;

/** The codes of errors that callers receive. Stable: hosts and callers may switch on them. */
export type ErrorCode = keyof typeof statuses;

/** The HTTP status of each code, on every protocol. */
export const statusOf: Readonly<Record<ErrorCode, number>> = statuses;

export const errorCodes: readonly ErrorCode[] = Object.keys(statusOf).filter(isErrorCode);

export function isErrorCode(name: string): name is ErrorCode {
  return Object.hasOwn(statusOf, name);
}

/** The optional details of a {@link GatewayError}. */
export interface GatewayErrorDetails {
  /** The request field that is wrong, as the caller named it: `messages`, `n`, `contents`. */
  readonly param?: string;
  /**
   * A more specific code that clients act on; the caller receives it in place of the general one:
   * `context_length_exceeded`, `content_filter`.
   */
  readonly clientCode?: string;
  /**
   * `false`: the caller's SDK must not retry automatically. `true`: nothing ran, so it may retry,
   * even a call that buys an image. If undefined, the status decides.
   */
  readonly shouldRetry?: boolean;
  /** A more specific name than the code, for events and usage records; never sent to the caller. */
  readonly reason?: FailureReason;
  /** Whose limit was reached, and what it counts, for events and refusal logs. */
  readonly limit?: string | undefined;
  /** The status of an upstream that is overloaded, if no other could serve the call. */
  readonly upstreamStatus?: number;
  /** How long the caller should wait before a retry can succeed. */
  readonly retryAfterMs?: number | undefined;
  /** The allowed methods, for `method_not_allowed`: `POST`, `GET, HEAD`. */
  readonly allow?: string;
  /** The id of the request that this one repeats, if another retry would get the same answer. */
  readonly originalRequestId?: string;
  /** The byte of the request body that is wrong. */
  readonly atByte?: number;
  /** What the host can do, for the event; never sent to the caller. */
  readonly remedy?: string | undefined;
  /** What was thrown; for the host, never sent to the caller. */
  readonly cause?: unknown;
}

type Known<Details> = { readonly [Name in keyof Details]: Details[Name] | undefined };

/**
 * A refusal or failure that a caller may read. The message says what is wrong and what to send
 * instead; it never contains a secret, a prompt or an upstream's address.
 */
export class GatewayError extends Error implements Known<GatewayErrorDetails> {
  override readonly name = 'GatewayError';
  /** What kind of failure it is; docs/errors.md has the status of each. */
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly clientCode: string | undefined;
  readonly shouldRetry: boolean | undefined;
  readonly reason: FailureReason | undefined;
  readonly limit: string | undefined;
  readonly upstreamStatus: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly allow: string | undefined;
  readonly originalRequestId: string | undefined;
  readonly atByte: number | undefined;
  readonly remedy: string | undefined;

  constructor(code: ErrorCode, message: string, details: GatewayErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.param = details.param;
    this.clientCode = details.clientCode;
    this.shouldRetry = details.shouldRetry;
    this.reason = details.reason;
    this.limit = details.limit;
    this.upstreamStatus = details.upstreamStatus;
    this.retryAfterMs = details.retryAfterMs;
    this.allow = details.allow;
    this.originalRequestId = details.originalRequestId;
    this.atByte = details.atByte;
    this.remedy = details.remedy;
  }
}

export function invalidRequest(message: string, param: string): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}

export function withDetails(error: GatewayError, details: GatewayErrorDetails): GatewayError {
  const { name: _, code, ...known } = error;
  const defined = Object.entries(known).filter(([, value]) => value !== undefined);
  const { message, cause } = error;
  return new GatewayError(code, message, { ...Object.fromEntries(defined), cause, ...details });
}

/** How far a failed upstream call got, which decides whether it may be retried. */
export type UpstreamStage = 'connect' | 'sent' | 'body';

/**
 * The transport to an upstream failed: no complete response was received. It stays inside the
 * gateway, because a connection error contains the upstream's host; callers and events see only
 * `reason`.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /**
   * `connect`: nothing ran. `sent`: it may have run. `body`: it ran, and the response was
   * incomplete.
   */
  readonly stage: UpstreamStage;
  /**
   * `connect_refused`, `connect_timeout`, `dns`, `tls`, `reset`, `headers_timeout`, …. A reason
   * that the gateway does not know, from a client written in JavaScript, becomes `other`.
   */
  readonly reason: FailureReason;
  /** Whether a timeout of the gateway ended the attempt. */
  readonly timedOut: boolean;

  constructor(
    stage: UpstreamStage,
    reason: FailureReason,
    details: {
      /** Whether a timeout of the gateway ended the attempt. Default: false. */
      readonly timedOut?: boolean;
      /** What the client threw. */
      readonly cause?: unknown;
    } = {},
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

/**
 * A mistake in the host's configuration. Thrown at start-up; the message names the option and the
 * remedy.
 */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  /** A code like those of Node's errors, the same in both builds of the package and in adapters. */
  readonly code = 'ERR_TOLLGATE_CONFIGURATION';
}

/**
 * Whether the value is a {@link GatewayError}, by its shape, because a host may load the package
 * twice, as ESM and as CJS.
 */
export function isGatewayError(error: unknown): error is GatewayError {
  return errorName(error) === 'GatewayError' && has(error, 'code');
}

/** Whether the value is an {@link UpstreamError}, by its shape; see {@link isGatewayError}. */
export function isUpstreamError(error: unknown): error is UpstreamError {
  return errorName(error) === 'UpstreamError' && has(error, 'stage');
}

/**
 * Whether the value is a {@link ConfigurationError}, including those thrown by adapters, by its
 * shape; see {@link isGatewayError}.
 */
export function isConfigurationError(error: unknown): error is ConfigurationError {
  return errorName(error) === 'ConfigurationError' && has(error, 'code');
}

/**
 * The name of a thrown value. Members of a driver's error may throw when read, and handling a
 * failure must not fail because of it.
 */
export function errorName(error: unknown): string {
  try {
    return isError(error) ? String(error.name) : 'thrown';
  } catch {
    return 'unreadable';
  }
}

/** The classes of the package, of JavaScript and of Node; `errorName` adds the last two. */
const errorClasses: ReadonlySet<string> = new Set([
  ...['StoreUnavailable', 'StoreCorrupt', 'ConfigurationError', 'GatewayError', 'UpstreamError'],
  ...['Error', 'AggregateError', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError'],
  ...['TypeError', 'URIError', 'AbortError', 'TimeoutError', 'AssertionError', 'SystemError'],
  ...['thrown', 'unreadable'],
]);

/**
 * The name of a thrown value, from a fixed list: `Error` for all others, because any text may be
 * the name of a host's error, even the key of a caller.
 */
export function errorClass(error: unknown): string {
  const name = errorName(error);
  return errorClasses.has(name) ? name : 'Error';
}

export function isErrorClass(name: string): boolean {
  return errorClasses.has(name);
}

/**
 * Whether the value is an error of any realm: in Jest, and in `node:vm`, the errors of Node's own
 * modules are no instances of the global `Error`.
 */
export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value);
}

function has(error: unknown, member: string): boolean {
  return typeof error === 'object' && error !== null && member in error;
}

/** A message with the name of a wrong parameter, for error formats without a member for it. */
export function namedMessage({ message, param }: GatewayError): string {
  return param === undefined || message.includes(param) ? message : `\`${param}\`: ${message}`;
}
