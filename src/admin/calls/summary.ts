/** A call and a refusal as operators see them: ids, figures and reasons, never content. */
import { type ErrorCode, isErrorCode } from '../../errors.ts';
import { failureMeanings } from '../../failure-meanings.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { FailureMeaning } from '../../host/failures.ts';
import type { CallAttempt, UsageRecord } from '../../ports/usage-sink.ts';

/** A call that had reserved quota. */
export interface CallSummary
  extends Pick<
    UsageRecord,
    | 'startedAtMs'
    | 'keyId'
    | 'group'
    | 'modelId'
    | 'channelId'
    | 'streamed'
    | 'status'
    | 'outcome'
    | 'reason'
    | 'durationMs'
    | 'firstByteMs'
    | 'heldNanos'
    | 'chargeNanos'
    | 'costNanos'
    | 'booked'
  > {
  readonly kind: 'call';
  /** The `x-request-id` of the reply. Callers may choose it, so several calls may have the same. */
  readonly requestId: string;
  /** The id of the hold; unique. */
  readonly reservationId: string;
  /** The API of the call, such as `chat` or `responses`. */
  readonly protocol: string;
  /** Tokens of the prompt; undefined if nobody counted them. */
  readonly inputTokens: number | undefined;
  /** Tokens of the reply; undefined if nobody counted them. */
  readonly outputTokens: number | undefined;
  /** Images that the reply has. */
  readonly images: number | undefined;
}

/** A request that was refused before it reserved quota, with its explanation. */
export interface RefusalSummary extends SeenRefusal, Explained {}

/** A request that was refused, as this process remembers it. */
export interface SeenRefusal {
  readonly kind: 'refusal';
  /** The `x-request-id` of the reply. */
  readonly requestId: string;
  /** When it was refused, in Unix ms. */
  readonly atMs: number;
  /** The key, by its id; undefined if no key was found. */
  readonly keyId: string | undefined;
  /** The group of the key; undefined if no key was found. */
  readonly group: string | undefined;
  /** The API of the path; undefined if it is not one of a call. */
  readonly protocol: string | undefined;
  /** The model, by its id in the catalog; undefined if it is not in it. */
  readonly modelId: string | undefined;
  /** The error that the caller got, as in docs/errors.md. */
  readonly code: string;
  /** More specific than the code. */
  readonly reason: FailureReason | undefined;
  /** The HTTP status that the caller got; 499 if it had disconnected. */
  readonly status: number;
  /** The limit that was reached: `key:calls/minute`. */
  readonly limit: string | undefined;
  /** The member of the request that is wrong. */
  readonly param: string | undefined;
  /** The path, if it is not one of a call. */
  readonly path: string | undefined;
  /** The model that the caller named, which may be none. */
  readonly requestedModel: string | undefined;
}

/** An attempt on a channel, with the explanation of its reason. */
export interface AttemptDetail extends CallAttempt, Explained {}

/** Everything that is known about a call. */
export interface CallDetail
  extends CallSummary,
    Pick<UsageRecord, 'upstreamModel' | 'basis' | 'revision' | 'lines'>,
    Explained {
  /** One for each channel that was tried, in order. */
  readonly attempts: readonly AttemptDetail[];
  /** The host's labels of the key, and of a guard; empty if there are none. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Nobody knows yet whether the call ran: its money is held until `resolve`. */
  readonly isInDoubt: boolean;
}

export function refusalSummary(refusal: SeenRefusal): RefusalSummary {
  return { ...refusal, ...explainedRefusal(refusal) };
}

export function callSummary(record: UsageRecord): CallSummary {
  const { requestId, reservationId, startedAtMs, keyId, group, protocol, modelId } = record;
  const { channelId, streamed, status, outcome, reason, durationMs, firstByteMs } = record;
  const { usage, heldNanos, chargeNanos, costNanos, booked } = record;
  const ids = { requestId, reservationId, startedAtMs, keyId, group, protocol, modelId, channelId };
  const ending = { streamed, status, outcome, reason, durationMs, firstByteMs };
  const { inputTokens, outputTokens, images } = usage ?? {};
  const tokens = { inputTokens, outputTokens, images };
  const money = { heldNanos, chargeNanos, costNanos, booked };
  return { kind: 'call', ...ids, ...ending, ...tokens, ...money };
}

export function callDetail(record: UsageRecord): CallDetail {
  const { upstreamModel, metadata = {}, basis, revision } = record;
  return {
    ...callSummary(record),
    ...explained(record.reason),
    upstreamModel,
    attempts: record.attempts.map(({ channelId, status, reason, mayHaveRun, durationMs }) => {
      return { channelId, status, reason, mayHaveRun, durationMs, ...explained(reason) };
    }),
    metadata,
    basis,
    revision,
    lines: record.lines.map(({ subject, period, heldNanos }) => ({ subject, period, heldNanos })),
    isInDoubt: record.outcome === 'unknown' && !record.booked,
  };
}

export interface Explained {
  /** What it means; undefined where there is no reason. */
  readonly meaning: string | undefined;
  /** What to do; undefined where there is nothing to do. */
  readonly remedy: string | undefined;
}

export function explained(reason: FailureReason | undefined): Explained {
  if (reason === undefined) return { meaning: undefined, remedy: undefined };
  const { meaning, remedy } = failureMeanings[reason];
  return { meaning, remedy };
}

export function explainedRefusal({
  code,
  reason,
}: Pick<SeenRefusal, 'code' | 'reason'>): Explained {
  if (reason !== undefined || !isErrorCode(code)) return explained(reason);
  const { meaning, remedy } = codeMeanings[code];
  return { meaning, remedy };
}

/** Every code, in the style of docs/events.md. */
export const codeMeanings: Readonly<Record<ErrorCode, FailureMeaning>> = {
  invalid_request: {
    meaning: 'the body has a member that is not valid; the reply to the caller names it',
  },
  not_portable: {
    meaning: 'the upstream has no equivalent of a member; the reply to the caller names it',
    remedy: 'give the model a channel of the API that is called, if such calls are wanted',
  },
  too_complex: { meaning: 'the body has more values or levels than can be translated' },
  refused_by_policy: { meaning: 'the `guard` of the host refused it' },
  invalid_key: {
    meaning: 'the key is missing, unknown, expired or disabled',
    remedy: 'issue the caller a key, or enable its own',
  },
  insufficient_quota: {
    meaning: 'a subject of the key has less left than the call may cost',
    remedy: 'raise the limit or top up, if the caller is entitled to more',
  },
  model_not_allowed: {
    meaning: 'the group of the key may not use the model',
    remedy: 'add the group to `groups` of the model, or issue a key of another group',
  },
  route_not_found: { meaning: 'the gateway serves nothing at this path' },
  model_not_found: {
    meaning: 'the catalog has no model of this name for the API that was called',
    remedy: 'tell the caller which models there are, or add the model or an alias',
  },
  item_not_found: {
    meaning: 'an output item that is not stored or belongs to another key, or a file that is gone',
  },
  response_not_found: { meaning: 'no response with this id is stored for the key' },
  previous_response_not_found: {
    meaning: '`previous_response_id` names a response that is not stored for the key',
  },
  method_not_allowed: { meaning: 'the path is served, but not with this method' },
  body_too_large: {
    meaning: 'the body is larger than `maxBodyBytes`',
    remedy: 'raise `maxBodyBytes`, if such calls are wanted',
  },
  unsupported_media_type: { meaning: 'the body is not uncompressed `application/json`' },
  idempotency_in_progress: { meaning: 'the call with this `Idempotency-Key` is still running' },
  result_expired: { meaning: 'the call with this `Idempotency-Key` ran; its reply is gone' },
  idempotency_mismatch: { meaning: 'the `Idempotency-Key` was sent with another body before' },
  rate_limited: {
    meaning: 'a rate limit, or a limit of calls at the same time, is reached',
    remedy: 'raise the limit, if it is too low',
  },
  upstream_rate_limited: {
    meaning: 'every upstream answered 429',
    remedy: 'raise the limit at the provider, or add a channel',
  },
  internal_error: {
    meaning: 'a bug in the gateway or in a function of the host',
    remedy: 'look at the events `internal_error` and `body_consumed`',
  },
  not_implemented: { meaning: 'the gateway does not serve this' },
  upstream_failed: { meaning: 'no upstream gave a useful reply', remedy: 'look at the attempts' },
  no_channel: { meaning: 'no channel is left', remedy: 'look at the channels of the model' },
  upstream_overloaded: { meaning: 'the upstream is overloaded' },
  store_unavailable: {
    meaning: 'a store of the host did not answer',
    remedy: 'look at the event `port_failed`, which names the port',
  },
  overloaded: {
    meaning: 'the process is at `maxConcurrentCalls` or `maxBufferedBytes`',
    remedy: 'raise it, or add processes',
  },
  draining: { meaning: 'the process is shutting down' },
  upstream_timeout: { meaning: 'no upstream answered in time', remedy: 'look at the attempts' },
};
