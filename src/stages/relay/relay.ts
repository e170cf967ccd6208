/** Passes an opened reply on to the caller through its tap, and settles the call at its end. */
import { setImmediate } from 'node:timers/promises';
import { maxUnpacedBytes } from '../../bytes/body/paced-reply.ts';
import { pushedReply, type ReplyPipe } from '../../bytes/body/reply.ts';
import { documentTokens } from '../../dialects/taps/document-tokens.ts';
import type { StreamTap } from '../../dialects/taps/tap.ts';
import type { GatewayResponse } from '../../http.ts';
import { onQuiet, onStall } from '../../upstream/watch-attempt.ts';
import type { Held, ReplyCopy } from '../call-record.ts';
import type { LoopTurn } from '../loop-turn.ts';
import type { MadeReply, WholeReply } from '../prepare/prepared-call.ts';
import { paced, replyHeaders, wholeReply } from '../respond.ts';
import { sendWhole } from '../running.ts';
import { GrowingStream } from '../settle/grow-hold.ts';
import type { UpstreamReply, Upstreams } from '../upstream/attempt.ts';
import type { StreamedReply } from '../upstream/open-reply.ts';
import {
  abandonStream,
  breakStream,
  endStream,
  failStream,
  inBandFailure,
  type RelayedStream,
  served,
  settleInBackground,
} from './end-relay.ts';

/**
 * Returns the response to the caller. When its body ends, the settlement is closed and the call is
 * done.
 */
export function relay(
  outcome: UpstreamReply,
  held: Held,
  { freeDisconnects, endOfStreamTurn }: Pick<Upstreams, 'freeDisconnects' | 'endOfStreamTurn'>,
): GatewayResponse {
  const { reply, notes } = outcome;
  const { settlement, copy } = held;
  settlement.recordFirstByte();
  copy?.begin({ 'content-type': 'application/json', ...notes });
  if (reply.kind === 'whole') return relayWhole(reply, outcome, held);
  if (reply.kind === 'made') return relayMade(reply, outcome, held);
  if (copy !== undefined) for (const piece of reply.firstOutput) copy.add(piece);
  const { tap } = reply;
  const stream = { tap, outcome, held, freeDisconnects, disconnectReason: undefined };
  return relayStream(reply, stream, endOfStreamTurn);
}

function relayWhole(reply: WholeReply, outcome: UpstreamReply, held: Held): GatewayResponse {
  const { call, received, running } = held.admitted;
  held.copy?.add(reply.bytes);
  const whole = wholeReply(received.responseContext, reply.bytes, call.framing, outcome.notes);
  // Created before the settlement, because the call may be done as soon as that has ended.
  const response =
    reply.bytes.length <= maxUnpacedBytes
      ? whole
      : paced(whole, (pieces) => sendWhole(running, pieces));
  settleInBackground(held, outcome, served, {
    ending: reply.ending ?? 'complete',
    status: 200,
    reason: reply.reason,
    usage: reply.usage,
    // The content is counted only if the upstream does not report output tokens.
    countedTokens: reply.usage?.outputTokens
      ? undefined
      : (reply.countedTokens ?? documentTokens(reply.bytes)),
  });
  return response;
}

/** Sends a reply that is made while it is sent. It is settled first: it is sure to be complete. */
function relayMade(reply: MadeReply, outcome: UpstreamReply, held: Held): GatewayResponse {
  const { call, received, running } = held.admitted;
  const body = sendWhole(running, reply.pieces());
  const end = { ending: 'complete', status: 200, usage: reply.usage } as const;
  settleInBackground(held, outcome, served, end);
  return {
    status: 200,
    headers: { ...replyHeaders(received.responseContext, call.framing), ...outcome.notes },
    body,
  };
}

/** Copies a reply for callers that repeat the call, one piece in each turn of the event loop. */
export async function copyMade(reply: MadeReply, copy: ReplyCopy): Promise<void> {
  const pieces = reply.pieces();
  for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) {
    copy.add(piece);
    await setImmediate();
  }
}

function relayStream(
  { firstOutput, rest, tap }: StreamedReply,
  stream: RelayedStream,
  endOfTurn: LoopTurn,
): GatewayResponse {
  const { outcome, held } = stream;
  const { settlement, admitted } = held;
  const { call, hold, running, received } = admitted;
  // A bounded call can't outgrow its hold, and a document is complete upstream before it begins to
  // arrive.
  const growing =
    hold.isBounded || call.framing === 'json'
      ? undefined
      : new GrowingStream(rest, { settlement, keeper: running.hold, tap });
  const pipe = relayPipe(stream, endOfTurn);
  return {
    status: 200,
    headers: { ...replyHeaders(received.responseContext, call.framing), ...outcome.notes },
    body:
      growing === undefined
        ? pushedReply(rest, pipe, firstOutput)
        : pushedReply(growing, checkedPipe(pipe, growing), firstOutput),
  };
}

/** Checks the hold after each chunk. */
function checkedPipe(pipe: ReplyPipe, growing: GrowingStream): ReplyPipe {
  return {
    ...pipe,
    write: (chunk) => {
      const bytes = pipe.write(chunk);
      growing.check();
      return bytes;
    },
  };
}

function relayPipe(stream: RelayedStream, endOfTurn: LoopTurn): ReplyPipe {
  const { tap, held, outcome } = stream;
  const { copy, admitted } = held;
  const { call, running, route } = admitted;
  const write = copy === undefined ? tap.write : copiedWrite(tap, copy);
  return {
    endOfTurn,
    write: outcome.report?.awaitsContent() === true ? reportedWrite(write, stream) : write,
    closingIfOver: () => {
      const failure = inBandFailure(stream);
      if (failure !== undefined) return failStream(stream, failure);
      return tap.finished() ? endStream(stream) : undefined;
    },
    end: () => endStream(stream),
    fail: (error) => breakStream(stream, error),
    onQuiet: (endQuiet, hasSent) => {
      const { watch } = running;
      if (watch !== undefined) onQuiet(watch, endQuiet, hasSent);
    },
    keepAlive: (isFirst) => {
      const text = route.protocol.keepAlive?.(call.framing, isFirst);
      return text === undefined ? undefined : Buffer.from(text);
    },
    onStall: (giveUp) => {
      const { watch } = running;
      if (watch !== undefined) onStall(watch, giveUp);
    },
    disconnected: (reason) => disconnect(stream, reason),
    abandoned: () => abandonStream(stream),
  };
}

/** Reports the first content of a stream that was passed on before it had any. */
function reportedWrite(
  write: ReplyPipe['write'],
  { tap, outcome: { report } }: RelayedStream,
): ReplyPipe['write'] {
  return (chunk) => {
    const bytes = write(chunk);
    if (tap.hasBegun()) report?.firstByte();
    return bytes;
  };
}

function copiedWrite(tap: StreamTap, copy: ReplyCopy): ReplyPipe['write'] {
  return (chunk) => {
    const bytes = tap.write(chunk);
    copy.add(bytes);
    return bytes;
  };
}

function disconnect(
  stream: RelayedStream,
  reason: 'caller_left' | 'caller_stalled',
): 'abort' | 'drain' | 'read_on' {
  const { held } = stream;
  // An image that was bought is finished and charged, and a reply that may be repeated is kept.
  // Other replies are not worth reading to their end without a caller.
  if (held.continuesAfterDisconnect) return 'drain';
  stream.disconnectReason = reason;
  if (held.admitted.call.framing !== 'json') return 'read_on';
  abandonStream(stream);
  return 'abort';
}
