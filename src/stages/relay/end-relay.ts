/**
 * Ends a relayed stream: settles the call, and returns the last bytes for the caller. A stream ends
 * by its own final event, by an error in it, with its connection, or when its caller disconnects.
 */

import type { Closing } from '../../bytes/body/reply.ts';
import type { CallEnding } from '../../charge-policy.ts';
import type { StreamTap } from '../../dialects/taps/tap.ts';
import { GatewayError, isUpstreamError, UpstreamError } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { type HealthSignal, noSignal } from '../../upstream/record-health.ts';
import type { Held } from '../call-record.ts';
import { isPending } from '../ports/port-calls.ts';
import { rememberReply } from '../references/remember-reply.ts';
import { readableError, reportBug } from '../refuse.ts';
import type { CallEnd } from '../settle/settlement.ts';
import type { UpstreamReply, Upstreams } from '../upstream/attempt.ts';
import {
  type CallFailure,
  errorText,
  failedTransport,
  isGatewayCut,
  refusedByUpstream,
} from '../upstream/failure.ts';

export interface RelayedStream {
  readonly tap: StreamTap;
  readonly outcome: UpstreamReply;
  readonly held: Held;
  readonly freeDisconnects: Upstreams['freeDisconnects'];
  /** Set once the caller has disconnected; the stream may then be read on for its usage. */
  disconnectReason: 'caller_left' | 'caller_stalled' | undefined;
}

export const served: HealthSignal = { kind: 'served' };

export function endStream(stream: RelayedStream): Closing {
  const { tap, held } = stream;
  const last = tap.end();
  const failure = inBandFailure(stream);
  if (failure !== undefined) return failStream(stream, failure, last);
  if (tap.complete()) return completeStream(stream, last);
  const { call, model } = held.admitted;
  const truncated = new UpstreamError('body', 'upstream_stream_truncated');
  return failStream(stream, failedTransport(truncated, call, model), last);
}

function completeStream(stream: RelayedStream, last: Uint8Array): Closing {
  stream.held.copy?.add(last);
  if (stream.disconnectReason === undefined) {
    settle(stream, served, 'complete', { reason: stream.tap.remark?.() });
  } else settleDisconnected(stream, served);
  const writes = last.length === 0 ? [] : [last];
  if (stream.tap.referable === undefined) return { writes, cut: false };
  return { writes, cut: false, ready: rememberStream(stream) };
}

function rememberStream({ tap, outcome, held }: RelayedStream): Promise<unknown> | undefined {
  const referable = tap.referable?.();
  const { account } = outcome;
  if (referable === undefined || account === undefined) return undefined;
  return rememberReply({ referable, usage: tap.usage(), account }, held);
}

/** Never throws, and settles the call in any case. */
export function breakStream(stream: RelayedStream, error: unknown): Closing {
  const { tap, held } = stream;
  const { call, model } = held.admitted;
  try {
    if (!isUpstreamError(error)) {
      const { requestId, emit } = held.settlement;
      return failStream(stream, refusedByBug(readableError(error, requestId, emit)));
    }
    // The reply is complete; only the connection broke before its regular end.
    if (tap.hasBegun() && tap.complete() && tap.usage() !== undefined) return endStream(stream);
    return failStream(stream, failedTransport(error, call, model));
  } catch (bug) {
    return cutAfterBug(stream, bug);
  }
}

function refusedByBug(error: GatewayError): Pick<CallFailure, 'error' | 'reason' | 'healthSignal'> {
  return { error, reason: 'internal_error', healthSignal: noSignal };
}

/** The state of the stream is unreliable after a bug, so that not even its usage is read. */
function cutAfterBug({ held, outcome }: RelayedStream, bug: unknown): Closing {
  const { requestId, emit } = held.settlement;
  reportBug(bug, requestId, emit);
  const code = 'internal_error';
  const end = { ending: 'failed', status: 200, code, reason: code } as const;
  settleInBackground(held, outcome, noSignal, end, lastBytesSent);
  return { writes: [], cut: true };
}

/** Cuts the connection if the framing has no event for errors. */
export function failStream(
  stream: RelayedStream,
  { error, reason, healthSignal }: Pick<CallFailure, 'error' | 'reason' | 'healthSignal'>,
  last?: Uint8Array,
): Closing {
  const { tap, held, disconnectReason } = stream;
  const sent = asMidStreamError(error, held.admitted.model);
  if (disconnectReason === undefined) {
    settle(stream, healthSignal, endingOfBreak(reason, tap), { reason, code: sent.code });
  } else settleDisconnected(stream, noSignal);
  const leading = last === undefined || last.length === 0 ? [] : [last];
  const errorEvent = tap.breakOff(sent);
  const writes = [...leading, ...(errorEvent ?? [])];
  const cut = errorEvent === undefined;
  return tap.referable === undefined
    ? { writes, cut }
    : { writes, cut, ready: rememberStream(stream) };
}

export function inBandFailure({ tap, outcome, held }: RelayedStream): CallFailure | undefined {
  const report = tap.failure();
  if (report === undefined) return undefined;
  const { call, model } = held.admitted;
  return refusedByUpstream(report, call, model, outcome);
}

/** What has passed of the stream may have been stored. Never throws. */
export function abandonStream(stream: RelayedStream): void {
  try {
    settleDisconnected(stream, noSignal);
    if (stream.tap.referable !== undefined) void rememberStream(stream);
  } catch (bug) {
    cutAfterBug(stream, bug);
  }
}

function settleDisconnected(stream: RelayedStream, healthSignal: HealthSignal): void {
  const { tap, held, freeDisconnects, disconnectReason } = stream;
  const { key, running } = held.admitted;
  const isFree = !tap.hasBegun() && freeDisconnects.isFree(key.id, running);
  settle(stream, healthSignal, isFree ? 'failed' : 'left', { reason: disconnectReason });
}

function settle(
  { tap, outcome, held }: RelayedStream,
  healthSignal: HealthSignal,
  ending: CallEnding,
  { reason, code }: Pick<CallEnd, 'reason' | 'code'>,
): void {
  const isUnread = reason === 'caller_left' || reason === 'caller_stalled';
  const end = {
    ending,
    ...(isUnread ? { status: 499 } : { status: 200, code }),
    reason,
    usage: tap.usage(),
    countedTokens: tap.countedTokens(),
  };
  settleInBackground(held, outcome, healthSignal, end, lastBytesSent);
}

/**
 * Resolves after the step that settles: a host's sink and listener must not run before the last
 * bytes of a stream are written.
 */
const lastBytesSent: Promise<void> = Promise.resolve();

/** The caller has its reply, and the outbox handles a store that is down. */
export function settleInBackground(
  { settlement, admitted: { running } }: Held,
  { lease, report, status }: Pick<UpstreamReply, 'lease' | 'report' | 'status'>,
  healthSignal: HealthSignal,
  end: CallEnd,
  recordAfter?: Promise<void>,
): void {
  lease?.end(healthSignal);
  // A complete reply may have a remark as its reason.
  const reason = end.ending === 'complete' ? undefined : end.reason;
  report?.ended({ status, reason, mayHaveRun: true });
  running.stopCounting();
  const done = (): void => running.done();
  const closing = settlement.close(end, recordAfter);
  if (isPending(closing)) closing.then(done, done);
  else done();
}

/** Rewrites `no_channel`: the reply had a channel, so only that one is overloaded. */
function asMidStreamError(error: GatewayError, model: Model): GatewayError {
  if (error.code !== 'no_channel') return error;
  const { reason = 'upstream_overloaded', retryAfterMs } = error;
  const code = 'upstream_overloaded';
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new GatewayError(code, errorText(code, model), { reason, ...wait });
}

/**
 * The ending of a reply that broke off, for its charge. The reason is `caller_left` if the caller
 * disconnected before the pipe could notice it. A reply without content costs nothing, whatever
 * usage it reported, unless its failure says that it was billed.
 */
function endingOfBreak(reason: FailureReason, tap: StreamTap): CallEnding {
  if (reason === 'caller_left') return 'left';
  if (!tap.hasBegun() && tap.failure()?.isBilled !== true) return 'failed';
  return isGatewayCut(reason) ? 'cut' : 'broken';
}
