/**
 * What a status of an upstream means, as one table: what the caller is told, whether another
 * channel may be asked, whether the call may have run, and what it says of the account (FAULTS
 * §3.2, §4).
 */
import type { FailureReport } from '../dialects/tap.ts';
import type { ErrorCode } from '../errors.ts';
import type { HealthScope } from '../upstream/channel-health.ts';

/**
 * `elsewhere`: it surely did not run, so another channel may be asked. `once`: it may have run;
 * chat and native are asked once more elsewhere, an image never. `never`: no other channel would do
 * better, or the caller would pay twice.
 */
export type Retry = 'elsewhere' | 'once' | 'never';

/** What a status means. */
export interface FailureRow {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly retry: Retry;
  readonly ran: boolean;
  readonly health: HealthEffect;
  /** The upstream's own words may help the caller mend the request (ARCHITECTURE T). */
  readonly tells?: boolean;
  /** In place of the sentence for the code, where the same call will fail until the host acts. */
  readonly lasting?: string;
  /** A channel may declare that it says this before it does any work. */
  readonly isBeforeWork?: boolean;
}

/** What a failure does to the channel it came from. */
export type HealthEffect =
  | 'none'
  /** Five in a row open the circuit of the model on the account. */
  | 'counts'
  /** Two in a row do, and it is drawn last after the first. */
  | 'timed_out'
  /** The credential is not accepted. */
  | 'refused'
  /** The model on this account, or the account itself once a second model was refused in a row. */
  | 'forbidden'
  | {
      readonly rests: HealthScope;
      /** In place of what the upstream names. */
      readonly forMs?: number;
      /** Takes calls all the same where no other channel is left. */
      readonly yields: boolean;
    };

const badRequest: FailureRow = {
  code: 'invalid_request',
  reason: 'upstream_refused',
  retry: 'never',
  ran: false,
  health: 'none',
  tells: true,
};
const tooLarge: FailureRow = { ...badRequest, code: 'body_too_large' };
/** A 403 that does not say whom it blames: the account, its right to the model, or the request. */
const forbidden: FailureRow = {
  code: 'upstream_failed',
  reason: 'upstream_forbidden',
  retry: 'elsewhere',
  ran: false,
  health: 'forbidden',
};
const accountForbidden: FailureRow = {
  ...forbidden,
  health: { rests: 'account', forMs: 600_000, yields: false },
};
/** The channel's upstreamModel is wrong, or the account lacks it: the host's to fix. */
const modelNotFound: FailureRow = {
  ...forbidden,
  reason: 'upstream_model_not_found',
  health: { rests: 'model', forMs: 60_000, yields: true },
  lasting:
    'The upstream does not serve this model to this gateway. ' +
    'Use another model, or ask whoever runs the gateway to check its configuration.',
};
const refused: FailureRow = { ...forbidden, reason: 'upstream_auth_error', health: 'refused' };
/** No money, or no quota, on our own account there: an hour, whatever it says itself. */
const exhausted = { rests: 'account', forMs: 3_600_000, yields: false } as const;
const unpaid: FailureRow = { ...forbidden, reason: 'upstream_unpaid', health: exhausted };
const limited: FailureRow = {
  code: 'upstream_rate_limited',
  reason: 'upstream_rate_limited',
  retry: 'elsewhere',
  ran: false,
  health: { rests: 'model', yields: true },
};
const timeout: FailureRow = {
  code: 'upstream_timeout',
  reason: 'upstream_timeout',
  retry: 'never',
  ran: true,
  health: 'timed_out',
};
const overloaded: FailureRow = {
  code: 'no_channel',
  reason: 'upstream_overloaded',
  retry: 'once',
  ran: true,
  health: { rests: 'model', yields: true },
  isBeforeWork: true,
};
const serverError: FailureRow = {
  code: 'upstream_failed',
  reason: 'upstream_error',
  retry: 'once',
  ran: true,
  health: 'counts',
};
const protocolError: FailureRow = {
  code: 'upstream_failed',
  reason: 'upstream_protocol_error',
  retry: 'never',
  ran: true,
  health: 'counts',
};
/** A status that no dialect has a meaning for; five in a row open the circuit. */
const unexpected: FailureRow = { ...protocolError, retry: 'once' };
/** Another address, another method, another call's state: this call was not run there. */
const elsewhere: FailureRow = { ...protocolError, ran: false, retry: 'elsewhere' };
const notRunStatuses: ReadonlySet<number> = new Set([405, 406, 407, 409, 410, 421, 425, 426, 451]);

const byStatus: Readonly<Record<number, FailureRow>> = {
  400: badRequest,
  401: refused,
  402: unpaid,
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

/** What a refusal means: by its status, or by the one that an in-band error names. */
export function rowOf(report: FailureReport): FailureRow {
  const { status } = report;
  if (report.isBilled === true) return protocolError;
  switch (report.fault) {
    case 'credential':
      return refused;
    case 'account':
      return accountRow(status);
    case 'request':
      return status === 413 ? tooLarge : badRequest;
    case 'model':
      return modelNotFound;
    default:
      return isOfParam(report) ? badRequest : rowOfStatus(status);
  }
}

function rowOfStatus(status: number): FailureRow {
  const row = byStatus[status];
  if (row !== undefined) return row;
  if ((status >= 300 && status < 400) || notRunStatuses.has(status)) return elsewhere;
  return status >= 500 && status < 600 ? serverError : unexpected;
}

/** A 403 or 404 of a file or a prompt that the caller named is the caller's to fix. */
function isOfParam({ status, param }: FailureReport): boolean {
  return (status === 403 || status === 404) && param !== undefined && param !== 'model';
}

/** The upstream blames the account itself, with whatever status. */
function accountRow(status: number): FailureRow {
  if (status === 429) return { ...limited, health: exhausted };
  return status === 402 ? unpaid : accountForbidden;
}
