/**
 * What becomes of an upstream's failure: what the caller is told, whether another channel may be
 * tried, and how the call ends for money. One table, after FAULTS §3.2 and §4.
 */
import type { Call } from '../call.ts';
import type { Ending } from '../charge-policy.ts';
import { redact } from '../dialects/redact.ts';
import type { FailureReport } from '../dialects/tap.ts';
import { type ErrorCode, GatewayError, type UpstreamError } from '../errors.ts';
import type { Usage } from '../money.ts';
import type { Model } from '../ports/catalog.ts';
import type { BadReply } from './exchange.ts';

/**
 * `elsewhere`: it surely did not run, so another channel may be asked. `once`: it may have run;
 * chat and native are asked once more elsewhere, an image never. `never`: no other channel would do
 * better, or the caller would pay twice.
 */
export type Retry = 'elsewhere' | 'once' | 'never';

/** A failed try. */
export interface CallFailure {
  readonly error: GatewayError;
  readonly ending: Ending;
  readonly retry: Retry;
  /** For events and records. */
  readonly reason: string;
  readonly status: number | undefined;
  /** What had come of the reply, in tokens. */
  readonly countedTokens?: number | undefined;
  /** What the upstream billed for it. */
  readonly usage?: Usage | undefined;
  /** The upstream's head had come. */
  readonly hasAnswered?: boolean;
}

/** What of an upstream's words about a bad request may reach the caller. */
export interface Disclosure {
  readonly hideErrors: boolean;
  /** The account's secret and address, removed by exact match. */
  readonly secrets: readonly string[];
}

/** What a status of an upstream means. */
interface Row {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly retry: Retry;
  readonly ran: boolean;
  /** The upstream's own words may help the caller mend the request (ARCHITECTURE T). */
  readonly tells?: boolean;
}

const badRequest: Row = {
  code: 'invalid_request',
  reason: 'upstream_refused',
  retry: 'never',
  ran: false,
  tells: true,
};
const account: Row = {
  code: 'upstream_failed',
  reason: 'upstream_auth_error',
  retry: 'elsewhere',
  ran: false,
};
const timeout: Row = {
  code: 'upstream_timeout',
  reason: 'upstream_timeout',
  retry: 'never',
  ran: true,
};
const overloaded: Row = {
  code: 'no_channel',
  reason: 'upstream_overloaded',
  retry: 'once',
  ran: true,
};

const byStatus: Readonly<Record<number, Row>> = {
  400: badRequest,
  401: account,
  402: account,
  403: { ...account, reason: 'upstream_forbidden' },
  // The channel's upstreamModel is wrong, or the account lacks it: the host's mistake.
  404: { ...account, reason: 'upstream_model_not_found' },
  408: timeout,
  413: { ...badRequest, code: 'body_too_large' },
  422: badRequest,
  429: {
    code: 'upstream_rate_limited',
    reason: 'upstream_rate_limited',
    retry: 'elsewhere',
    ran: false,
  },
  503: overloaded,
  504: timeout,
  524: timeout,
  529: overloaded,
};
const serverError: Row = {
  code: 'upstream_failed',
  reason: 'upstream_error',
  retry: 'once',
  ran: true,
};
const protocolError: Row = {
  code: 'upstream_failed',
  reason: 'upstream_protocol_error',
  retry: 'never',
  ran: true,
};

/** Callers are told to wait at least a second, and at most what SDKs obey. */
const shortestWaitMs = 1_000;
const longestWaitMs = 60_000;

/** A refusal of the upstream: by its status, or by the one that an in-band error names. */
export function refusedByUpstream(
  report: FailureReport,
  call: Call,
  model: Model,
  told: Disclosure,
): CallFailure {
  const row = rowOf(report);
  const reason = report.reason ?? row.reason;
  const words =
    row.tells === true && !told.hideErrors && report.message !== undefined
      ? redact(report.message, told.secrets)
      : undefined;
  const image = call.operation === 'images';
  // An image that may have run is no lack of accounts: the caller must look before it tries again.
  const code = image && row.ran && row.code === 'no_channel' ? 'upstream_failed' : row.code;
  const waits = code === 'upstream_rate_limited' || code === 'no_channel';
  return {
    error: new GatewayError(code, words ?? toldOf(code, row.ran, call, model), {
      reason,
      ...(words === undefined ? {} : plainParam(report, told)),
      ...(waits ? { retryAfterMs: clamped(report.retryAfterMs) } : {}),
    }),
    ending: row.ran ? 'failed' : 'not_run',
    retry: image && row.retry === 'once' ? 'never' : row.retry,
    reason,
    status: report.status,
  };
}

/** The transport broke, or we cut it: nothing, or only half of an answer, came. */
export function failedTransport(error: UpstreamError, call: Call, model: Model): CallFailure {
  const { stage, reason } = error;
  const ran = stage !== 'connect';
  const code = transportCode(error);
  const half = stage === 'body' && call.framing === 'json';
  return {
    error: new GatewayError(code, toldOf(code, ran, call, model), {
      reason,
      cause: error,
      ...(code === 'draining' ? { retryAfterMs: shortestWaitMs } : {}),
    }),
    ending: half ? 'truncated' : ran ? 'failed' : 'not_run',
    retry: retryAfterBreak(error, call),
    reason,
    status: undefined,
    hasAnswered: stage === 'body',
  };
}

function transportCode({ stage, reason, timedOut }: UpstreamError): ErrorCode {
  if (reason === 'hold_used_up') return 'insufficient_quota';
  if (reason === 'draining') return 'draining';
  return timedOut && stage !== 'connect' ? 'upstream_timeout' : 'upstream_failed';
}

/** Whether we ended the call ourselves, at a limit of ours: no other channel could help it. */
export function isOurCut(reason: string): boolean {
  return reason === 'total_timeout' || reason === 'hold_used_up' || reason === 'draining';
}

function retryAfterBreak({ stage, reason, timedOut }: UpstreamError, call: Call): Retry {
  if (isOurCut(reason)) return 'never';
  if (stage === 'connect') return 'elsewhere';
  return stage === 'body' || timedOut || call.operation === 'images' ? 'never' : 'once';
}

/** A 2xx whose body is not what was asked for: what was billed for it is charged. */
export function badReply(bad: BadReply, call: Call, model: Model, status: number): CallFailure {
  const { reason, countedTokens, usage } = bad;
  const code = 'upstream_failed';
  return {
    error: new GatewayError(code, toldOf(code, true, call, model), { reason }),
    ending: reason === 'upstream_truncated' || usage !== undefined ? 'truncated' : 'failed',
    countedTokens,
    usage,
    retry: 'never',
    reason,
    status,
  };
}

/** An image that may have run is not to be bought again blindly (spec §7). */
function toldOf(code: ErrorCode, ran: boolean, call: Call, model: Model): string {
  return ran && call.operation === 'images'
    ? 'The upstream failed, but the image may have been made. Check the usage log before retrying.'
    : sentence(code, model);
}

/** What a caller is told of each failure; nothing of it comes from the upstream. */
export function sentence(code: ErrorCode, model: Pick<Model, 'vendor'>): string {
  switch (code) {
    case 'no_channel':
      return `No available ${model.vendor} accounts`;
    case 'upstream_rate_limited':
      return 'The upstream is receiving too many requests. Reduce concurrency and retry later.';
    case 'upstream_timeout':
      return 'The upstream did not answer in time. Retry later.';
    case 'insufficient_quota':
      return 'The quota of this key ran out while the answer was running.';
    case 'draining':
      return 'The gateway is shutting down and cut the answer. Try again shortly.';
    case 'body_too_large':
      return 'The request is too large for this model.';
    case 'invalid_request':
      return (
        'The upstream refused the request as invalid. ' +
        'Check its fields against the model’s documentation.'
      );
    default:
      return 'The upstream failed to answer this request. Retry later.';
  }
}

function rowOf(report: FailureReport): Row {
  const { status } = report;
  if (report.isBilled === true) return protocolError;
  const row = byStatus[status];
  if (report.accountFault && status < 500) return status === 429 && row ? row : account;
  // OpenAI says 404 of a parameter too, a file or a prompt it does not find: the caller's to mend.
  if (status === 404 && report.param !== undefined && report.param !== 'model') return badRequest;
  if (row !== undefined) return row;
  return status >= 500 && status < 600 ? serverError : protocolError;
}

function clamped(waitMs: number | undefined): number {
  return Math.min(Math.max(waitMs ?? shortestWaitMs, shortestWaitMs), longestWaitMs);
}

/** A member's name as an upstream gave it, if it is one and holds nothing that is to be hidden. */
function plainParam(
  { param = '' }: FailureReport,
  { secrets }: Disclosure,
): { readonly param?: string } {
  const isName = /^[\w.[\]-]{1,64}$/.test(param) && redact(param, secrets) === param;
  return isName ? { param } : {};
}
