/**
 * Maps each status of an upstream to its meaning: what the caller is told, whether another channel
 * may be tried, whether the call may have run, and how it affects the channel's health.
 */

import { namesCallerResource } from '../../dialects/failure-meaning.ts';
import type { FailureReport } from '../../dialects/taps/tap.ts';
import type { ErrorCode } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { HealthScope } from '../../upstream/record-health.ts';

/**
 * The rule for trying another channel. `elsewhere`: allowed, because the call certainly did not
 * run. `once`: it may have run; calls for content are tried once more on another channel, images
 * never. `never`: another channel would not help, or the caller might pay twice.
 */
export type Retry = 'elsewhere' | 'once' | 'never';

export interface FailureRow {
  readonly code: ErrorCode;
  readonly reason: FailureReason;
  readonly retry: Retry;
  readonly mayHaveRun: boolean;
  readonly health: HealthEffect;
  /** The upstream's own message is forwarded, because it helps the caller fix the request. */
  readonly forwardsMessage?: boolean;
  /** For a failure that will repeat until the host changes something. */
  readonly persistentMessage?: string;
  /** A channel may declare that it does no work before this status (`rejectsBeforeWork`). */
  readonly isBeforeWork?: boolean;
}

export type HealthEffect =
  | 'none'
  /** Five in a row open the circuit breaker of the model on the account. */
  | 'counts'
  /** Two in a row open the circuit breaker; after the first the channel is chosen last. */
  | 'timed_out'
  /** The upstream rejected the credential. */
  | 'refused'
  /**
   * The upstream refused the model on this account; once it has refused a second model in a row, it
   * has refused the account.
   */
  | 'forbidden'
  | {
      readonly cooldownScope: HealthScope;
      /** Replaces the wait that the upstream states. */
      readonly forMs?: number;
      /** The channel still gets calls if no other is left. */
      readonly isLastResort: boolean;
    };

const badRequest: FailureRow = {
  code: 'invalid_request',
  reason: 'upstream_refused',
  retry: 'never',
  mayHaveRun: false,
  health: 'none',
  forwardsMessage: true,
};
const tooLarge: FailureRow = { ...badRequest, code: 'body_too_large' };
/** A file, an item or a prompt that the caller named. */
const itemNotFound: FailureRow = { ...badRequest, code: 'item_not_found' };
/** A 403 that does not say what it refuses: the account, its right to the model, or the request. */
const forbidden: FailureRow = {
  code: 'upstream_failed',
  reason: 'upstream_forbidden',
  retry: 'elsewhere',
  mayHaveRun: false,
  health: 'forbidden',
  persistentMessage:
    'The upstream refused this call. ' +
    'Use another model, or ask whoever runs the gateway to check the account.',
};
/** What the upstream says of the account lasts until the host changes something. */
const accountRefusedMessage =
  'The upstream refused the account that this call would use. ' +
  'Use another model, or ask whoever runs the gateway to check the account.';
const accountForbidden: FailureRow = {
  ...forbidden,
  persistentMessage: accountRefusedMessage,
  health: { cooldownScope: 'account', forMs: 600_000, isLastResort: false },
};
/** Not 502, which clients send again for a minute and more. */
export const unknownModelMessage: string =
  'The upstream does not serve this model to this gateway. ' +
  'Use another model, or ask whoever runs the gateway to check its configuration.';
/** The channel's `upstreamModel` is wrong, or the account lacks the model; the host must fix it. */
const modelNotFound: FailureRow = {
  ...forbidden,
  code: 'model_not_found',
  reason: 'upstream_model_not_found',
  health: { cooldownScope: 'model', forMs: 60_000, isLastResort: true },
  persistentMessage: unknownModelMessage,
};
const credentialRefused: FailureRow = {
  ...forbidden,
  reason: 'upstream_auth_error',
  health: 'refused',
  persistentMessage: accountRefusedMessage,
};
/** The account is out of money or quota. It cools down for an hour, whatever wait is stated. */
const exhausted = { cooldownScope: 'account', forMs: 3_600_000, isLastResort: false } as const;
const paymentRequired: FailureRow = {
  ...accountForbidden,
  reason: 'upstream_unpaid',
  health: exhausted,
};
const limited: FailureRow = {
  code: 'upstream_rate_limited',
  reason: 'upstream_rate_limited',
  retry: 'elsewhere',
  mayHaveRun: false,
  health: { cooldownScope: 'model', isLastResort: true },
};
const timeout: FailureRow = {
  code: 'upstream_timeout',
  reason: 'upstream_timeout',
  retry: 'never',
  mayHaveRun: true,
  health: 'timed_out',
};
const overloaded: FailureRow = {
  code: 'no_channel',
  reason: 'upstream_overloaded',
  retry: 'once',
  mayHaveRun: true,
  health: { cooldownScope: 'model', isLastResort: true },
  isBeforeWork: true,
};
const serverError: FailureRow = {
  code: 'upstream_failed',
  reason: 'upstream_error',
  retry: 'once',
  mayHaveRun: true,
  health: 'counts',
};
const protocolError: FailureRow = {
  code: 'upstream_failed',
  reason: 'upstream_protocol_error',
  retry: 'never',
  mayHaveRun: true,
  health: 'counts',
};
/** A status without a known meaning; five in a row open the circuit breaker. */
const unexpected: FailureRow = { ...protocolError, retry: 'once' };
/** The status says that the call was not run there: a redirect, a wrong method, a conflict. */
const notRunThere: FailureRow = { ...protocolError, mayHaveRun: false, retry: 'elsewhere' };
const notRunStatuses: ReadonlySet<number> = new Set([405, 406, 407, 409, 410, 421, 425, 426, 451]);

const byStatus: Readonly<Record<number, FailureRow>> = {
  400: badRequest,
  401: credentialRefused,
  402: paymentRequired,
  403: forbidden,
  404: modelNotFound,
  408: timeout,
  413: tooLarge,
  422: badRequest,
  429: limited,
  503: overloaded,
  504: timeout,
  524: timeout,
  529: overloaded,
};

export function rowOf(report: FailureReport): FailureRow {
  const { status } = report;
  if (report.isBilled === true) return protocolError;
  switch (report.fault) {
    case 'credential':
      return credentialRefused;
    case 'account':
      return accountRow(status);
    case 'request':
      return requestRow(report);
    case 'model':
      return modelNotFound;
    default:
      return isOfParam(report) ? requestRow(report) : rowOfStatus(status);
  }
}

function requestRow(report: FailureReport): FailureRow {
  if (report.status === 413) return tooLarge;
  const isMissing =
    report.status === 404 && (isOfParam(report) || namesCallerResource(report.message));
  return isMissing ? itemNotFound : badRequest;
}

function rowOfStatus(status: number): FailureRow {
  const row = byStatus[status];
  if (row !== undefined) return row;
  if ((status >= 300 && status < 400) || notRunStatuses.has(status)) return notRunThere;
  return status >= 500 && status < 600 ? serverError : unexpected;
}

/** A 403 or 404 about a file or a prompt that the caller named is the caller's to fix. */
function isOfParam({ status, param }: FailureReport): boolean {
  return (status === 403 || status === 404) && param !== undefined && param !== 'model';
}

/** The upstream blames the account itself, with any status. */
function accountRow(status: number): FailureRow {
  if (status === 429) return { ...limited, health: exhausted };
  return status === 402 ? paymentRequired : accountForbidden;
}
