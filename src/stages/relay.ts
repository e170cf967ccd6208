/**
 * Hands an opened reply to the caller, byte for byte but for what ARCHITECTURE B names, and settles
 * at its end.
 */
import { type Closing, pushedReply, type ReplyPipe } from '../bytes/reply-body.ts';
import type { Call } from '../call.ts';
import type { Ending } from '../charge-policy.ts';
import { type GatewayError, isUpstreamError, UpstreamError } from '../errors.ts';
import type { GatewayResponse, HeaderMap } from '../http.ts';
import type { Model } from '../ports/catalog.ts';
import type { OpenedReply } from './call-upstream.ts';
import {
  type CallFailure,
  type Disclosure,
  failedTransport,
  isOurCut,
  refusedByUpstream,
} from './failure.ts';
import type { Hold } from './hold.ts';
import type { StreamedReply } from './open-reply.ts';
import { type AnswerContext, replyHeaders, wholeReply } from './respond.ts';
import type { RunningCall } from './running.ts';
import type { CallEnd, Settlement } from './settle.ts';

/** What the relay of a reply needs to know of its call. */
export interface RelayContext {
  readonly call: Call;
  readonly model: Model;
  readonly hold: Hold;
  readonly settlement: Settlement;
  readonly running: RunningCall;
  readonly answer: AnswerContext;
  readonly disclosure: Disclosure;
  /** Headers that tell the caller about a translated call. */
  readonly notes: HeaderMap;
}

/** The answer. The settlement closes when the reply does, and the call is done. */
export function relay(reply: OpenedReply, context: RelayContext): GatewayResponse {
  const { settlement, answer, call } = context;
  settlement.answered();
  if (reply.kind === 'whole') {
    finish(context, {
      ending: reply.ending ?? 'complete',
      status: 200,
      usage: reply.usage,
      countedTokens: Math.ceil(reply.bytes.length / 3),
    });
    return wholeReply(answer, reply.bytes, call.framing, context.notes);
  }
  const { begun, rest, tap } = reply;
  // A bounded call can't outgrow its hold, and a document has been made when it begins to arrive.
  if (!context.hold.isBounded && call.framing !== 'json') {
    context.running.observe(() => settlement.observedNanos(tap.usage(), tap.countedTokens()));
  }
  return {
    status: 200,
    headers: { ...replyHeaders(answer, call.framing), ...context.notes },
    body: pushedReply(rest, relayPipe(reply, context), begun),
  };
}

/**
 * Settles in the background: the caller has its answer, and the outbox sees to a store that is
 * down.
 */
function finish({ settlement, running }: RelayContext, end: CallEnd): void {
  settlement.close(end).then(running.done, running.done);
}

function relayPipe({ tap }: StreamedReply, context: RelayContext): ReplyPipe {
  const { call, model } = context;

  const settled = (ending: Ending, reason?: string): void =>
    finish(context, {
      ending,
      status: ending === 'left' ? 499 : 200,
      reason,
      usage: tap.usage(),
      countedTokens: tap.countedTokens(),
    });

  const complete = (last: Uint8Array): Closing => {
    settled('complete');
    return { writes: last.length === 0 ? [] : [last], cut: false };
  };

  /** Says the error where the framing has words for it; cuts the connection where it has none. */
  const broken = (
    error: GatewayError,
    ending: Ending,
    reason: string,
    last?: Uint8Array,
  ): Closing => {
    settled(ending, reason);
    const before = last === undefined || last.length === 0 ? [] : [last];
    const said = tap.breakOff(error);
    return { writes: [...before, ...(said ?? [])], cut: said === undefined };
  };

  const failed = (failure: CallFailure, last?: Uint8Array): Closing =>
    broken(failure.error, isOurCut(failure.reason) ? 'cut' : 'broken', failure.reason, last);

  const inBandFailure = (): CallFailure | undefined => {
    const report = tap.failure();
    return report === undefined
      ? undefined
      : refusedByUpstream(report, call, model, context.disclosure);
  };

  /** The reply is over, by its own word or by the connection's. */
  const ended = (): Closing => {
    const last = tap.end();
    const failure = inBandFailure();
    if (failure !== undefined) return failed(failure, last);
    if (tap.complete()) return complete(last);
    return failed(
      failedTransport(new UpstreamError('body', 'upstream_stream_truncated'), call, model),
      last,
    );
  };

  return {
    write: tap.write,
    over: () => {
      const failure = inBandFailure();
      if (failure !== undefined) return failed(failure);
      return tap.finished() ? ended() : undefined;
    },
    end: ended,
    fail: (error) => {
      const cause = isUpstreamError(error)
        ? error
        : new UpstreamError('body', 'failed', { cause: error });
      return failed(failedTransport(cause, call, model));
    },
    left: () => {
      // An image that was bought is finished and charged; nothing else is worth reading for nobody.
      if (call.operation === 'images') return 'drain';
      settled('left', 'caller_left');
      return 'abort';
    },
  };
}
