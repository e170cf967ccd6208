/** Passes an opened reply on to the caller through its tap, and settles the call at its end. */
import { type Closing, pushedReply, type ReplyPipe } from '../bytes/body/reply.ts';
import type { CallEnding } from '../charge-policy.ts';
import { documentTokens } from '../dialects/content-count.ts';
import type { StreamTap } from '../dialects/tap.ts';
import { GatewayError, isUpstreamError, UpstreamError } from '../errors.ts';
import type { GatewayResponse } from '../http.ts';
import type { Model } from '../ports/catalog.ts';
import type { ChannelLease, HealthSignal } from '../upstream/channel-health.ts';
import type { Held } from './call-record.ts';
import {
  type CallFailure,
  errorText,
  failedTransport,
  isGatewayCut,
  refusedByUpstream,
} from './failure.ts';
import { type GrowingStream, growingStream } from './grow-hold.ts';
import type { StreamedReply } from './open-reply.ts';
import { replyHeaders, wholeReply } from './respond.ts';
import type { CallEnd } from './settlement.ts';
import type { UpstreamReply, Upstreams } from './try-channel.ts';
import { onQuiet, onStall } from './watch-attempt.ts';

/**
 * Returns the response to the caller. When its body ends, the settlement is closed and the call is
 * done.
 */
export function relay(
  outcome: UpstreamReply,
  held: Held,
  freeDisconnects: Upstreams['freeDisconnects'],
): GatewayResponse {
  const { reply, notes } = outcome;
  const { settlement, copy, admitted } = held;
  const { call, hold, running, received } = admitted;
  settlement.recordFirstByte();
  copy?.begin({ 'content-type': 'application/json', ...notes });
  if (reply.kind === 'whole') {
    copy?.add(reply.bytes);
    settleInBackground(held, outcome.lease, served, {
      ending: reply.ending ?? 'complete',
      status: 200,
      usage: reply.usage,
      // The content is counted only if the upstream does not report output tokens.
      countedTokens: reply.usage?.outputTokens
        ? undefined
        : (reply.countedTokens ?? documentTokens(reply.bytes)),
    });
    return wholeReply(received.responseContext, reply.bytes, call.framing, notes);
  }
  const { firstOutput, rest, tap } = reply;
  copy?.add(firstOutput);
  // A bounded call can't outgrow its hold, and a document is complete upstream before it begins to
  // arrive.
  const growing =
    hold.isBounded || call.framing === 'json'
      ? undefined
      : growingStream(rest, { settlement, keeper: running.hold, tap });
  const pipe = relayPipe(reply, outcome, held, freeDisconnects);
  return {
    status: 200,
    headers: { ...replyHeaders(received.responseContext, call.framing), ...notes },
    body:
      growing === undefined
        ? pushedReply(rest, pipe, firstOutput)
        : pushedReply(growing.body, checkedPipe(pipe, growing), firstOutput),
  };
}

/** Checks the hold after each chunk. */
function checkedPipe(pipe: ReplyPipe, { check }: GrowingStream): ReplyPipe {
  return {
    ...pipe,
    write: (chunk) => {
      const bytes = pipe.write(chunk);
      check();
      return bytes;
    },
  };
}

/**
 * Settles in the background: the caller has its reply, and the outbox handles a store that is down.
 */
function settleInBackground(
  { settlement, admitted: { running } }: Held,
  lease: ChannelLease | undefined,
  healthSignal: HealthSignal,
  end: CallEnd,
): void {
  lease?.end(healthSignal);
  running.stopCounting();
  settlement.close(end).then(running.done, running.done);
}

/**
 * Rewrites `no_channel` for the middle of a stream: the reply had a channel, so only that one is
 * overloaded.
 */
function asMidStreamError(error: GatewayError, model: Model): GatewayError {
  if (error.code !== 'no_channel') return error;
  const { reason = 'upstream_overloaded', retryAfterMs } = error;
  const code = 'upstream_overloaded';
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new GatewayError(code, errorText(code, model), { reason, ...wait });
}

const served: HealthSignal = { kind: 'served' };

const noSignal: HealthSignal = { kind: 'neutral' };

/**
 * How a reply that broke off ended for its charge. The reason is `caller_left` if the caller
 * disconnected before the pipe could notice it. A reply without content costs nothing, whatever
 * usage it reported, unless its failure says that it was billed.
 */
function endingOfBreak(reason: string, tap: StreamTap): CallEnding {
  if (reason === 'caller_left') return 'left';
  if (!tap.hasBegun() && tap.failure()?.isBilled !== true) return 'failed';
  return isGatewayCut(reason) ? 'cut' : 'broken';
}

function relayPipe(
  { tap }: StreamedReply,
  { lease, redaction }: UpstreamReply,
  held: Held,
  freeDisconnects: Upstreams['freeDisconnects'],
): ReplyPipe {
  const { copy, admitted } = held;
  const { call, model, key, running, route } = admitted;
  /** Set once the caller has disconnected; the stream may then be read on for its usage. */
  let disconnectReason: string | undefined;

  const settle = (healthSignal: HealthSignal, ending: CallEnding, reason?: string): void =>
    settleInBackground(held, lease, healthSignal, {
      ending,
      status: reason !== undefined && reason === disconnectReason ? 499 : 200,
      reason,
      usage: tap.usage(),
      countedTokens: tap.countedTokens(),
    });

  /** Settles a reply whose caller has disconnected. */
  const settleDisconnected = (healthSignal: HealthSignal): void => {
    const isFree = !tap.hasBegun() && freeDisconnects.isFree(key.id, running);
    settle(healthSignal, isFree ? 'failed' : 'left', disconnectReason);
  };

  const writeCopied = (chunk: Uint8Array): Uint8Array => {
    const bytes = tap.write(chunk);
    copy?.add(bytes);
    return bytes;
  };

  const completeReply = (last: Uint8Array): Closing => {
    copy?.add(last);
    if (disconnectReason === undefined) settle(served, 'complete');
    else settleDisconnected(served);
    return { writes: last.length === 0 ? [] : [last], cut: false };
  };

  /**
   * Sends the error as an event if the framing has one for errors; otherwise cuts the connection.
   */
  const failReply = ({ error, reason, healthSignal }: CallFailure, last?: Uint8Array): Closing => {
    if (disconnectReason === undefined) settle(healthSignal, endingOfBreak(reason, tap), reason);
    else settleDisconnected(noSignal);
    const leading = last === undefined || last.length === 0 ? [] : [last];
    const errorEvent = tap.breakOff(asMidStreamError(error, model));
    return { writes: [...leading, ...(errorEvent ?? [])], cut: errorEvent === undefined };
  };

  const inBandFailure = (): CallFailure | undefined => {
    const report = tap.failure();
    return report === undefined ? undefined : refusedByUpstream(report, call, model, redaction);
  };

  /** The reply is over, by its own final event or because the connection ended. */
  const endReply = (): Closing => {
    const last = tap.end();
    const failure = inBandFailure();
    if (failure !== undefined) return failReply(failure, last);
    if (tap.complete()) return completeReply(last);
    return failReply(
      failedTransport(new UpstreamError('body', 'upstream_stream_truncated'), call, model),
      last,
    );
  };

  return {
    write: copy === undefined ? tap.write : writeCopied,
    closingIfOver: () => {
      const failure = inBandFailure();
      if (failure !== undefined) return failReply(failure);
      return tap.finished() ? endReply() : undefined;
    },
    end: endReply,
    fail: (error) => {
      // The reply is complete; only the connection broke before its regular end.
      if (tap.hasBegun() && tap.complete() && tap.usage() !== undefined) return endReply();
      const cause = isUpstreamError(error)
        ? error
        : new UpstreamError('body', 'failed', { cause: error });
      return failReply(failedTransport(cause, call, model));
    },
    onQuiet: (endQuiet) => {
      const { watch } = running;
      if (watch !== undefined) onQuiet(watch, endQuiet);
    },
    keepAlive: (isFirst) => {
      const text = route.protocol.keepAlive(call.framing, isFirst);
      return text === undefined ? undefined : Buffer.from(text);
    },
    onStall: (giveUp) => {
      const { watch } = running;
      if (watch !== undefined) onStall(watch, giveUp);
    },
    disconnected: (reason) => {
      // An image that was bought is finished and charged, and a reply that may be repeated is kept.
      // Other replies are not worth reading to their end without a caller.
      if (held.continuesAfterDisconnect) return 'drain';
      disconnectReason = reason;
      if (call.framing !== 'json') return 'read_on';
      settleDisconnected(noSignal);
      return 'abort';
    },
    abandoned: () => settleDisconnected(noSignal),
  };
}
