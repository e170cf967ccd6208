/** Reads a caller's request body into memory, within a size, a time and the gateway's budget. */
import type { Readable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { GatewayError } from '../../errors.ts';
import type { GatewayRequest } from '../../http.ts';
import { type Pieces, pieces } from '../pieces.ts';
import type { Body } from './body.ts';
import type { ByteBudget } from './budget.ts';
import { checkContentEncoding, checkContentType, contentLengthOf } from './headers.ts';
import { bodyOf } from './shorten.ts';

const baseMs = 10_000;
const longestMs = 60_000;
/** Every so many bytes that arrive earn a body another second. */
const bytesPerSecond = 65_536;
const checkIntervalMs = 1_000;

/** What a body may cost. */
export interface ReadBodyLimits {
  readonly maxBytes: number;
  /** What all calls share. The caller of `readBody` gives the body's length back after the call. */
  readonly budget: ByteBudget;
  readonly clock: Clock;
}

/**
 * The whole body, at once where it is here already. What it took of the budget is given back if it
 * fails; the rest of a body that was refused stays unread, paused, for the adapter to close the
 * connection on.
 *
 * @throws GatewayError `body_too_large`; `unsupported_media_type`; `overloaded` when the budget is
 *   spent; `invalid_request` with the reason `body_timeout` for a body slower than 10 s and 1 s per
 *   64 KiB, 60 s at most, or `caller_left`; `internal_error` with `body_consumed` where the host
 *   left nothing to read
 */
export function readBody(
  request: Pick<GatewayRequest, 'headers' | 'body' | 'onClose'>,
  limits: ReadBodyLimits,
): Body | Promise<Body> {
  const { body, headers } = request;
  if (body === undefined) throw bodyConsumed();
  checkContentType(headers);
  // What the host read it also inflated: its content-encoding and length tell of other bytes.
  if (ArrayBuffer.isView(body)) return takeWhole(body, limits);

  if (hasBrokenOff(body)) throw callerLeft();
  if (body.readableEnded) throw bodyConsumed();
  checkContentEncoding(headers);
  const announced = contentLengthOf(headers) ?? 0;
  if (announced > limits.maxBytes) throw tooLarge(limits.maxBytes);
  // Where both say something about the length, neither is to be trusted (RFC 9112 §6.3).
  const isFramedOnce = headers['transfer-encoding'] === undefined;
  return isFramedOnce && hasArrived(body, announced)
    ? takeArrived(body, limits)
    : collect(body, request, limits);
}

/**
 * Listens for errors of the stream as long as it lives, for Node ends the process where nobody
 * does. While it is read is not long enough: Node 24 emits the error of a queued request after its
 * response has closed, when there is nothing left to read.
 */
export function ignoreErrors(body: GatewayRequest['body']): void {
  if (body !== undefined && !ArrayBuffer.isView(body)) body.on('error', ignore);
}

function ignore(): void {}

/**
 * Whether the caller has gone before its body was whole. HTTP/2 ends the stream of a request that
 * was cancelled as if its body were complete, and says only by `aborted` that it is not.
 */
function hasBrokenOff(stream: Readable): boolean {
  if ('aborted' in stream && stream.aborted === true) return true;
  return stream.destroyed && !stream.readableEnded;
}

/**
 * Whether the stream is a request of `node:http` that holds the whole body unread: a small one
 * comes with its head, and is there by the time the key has been looked up.
 */
function hasArrived(stream: Readable, announced: number): boolean {
  if (!('complete' in stream)) return false;
  const isUntouched = stream.readableEncoding === null && stream.readableFlowing !== true;
  return isUntouched && announced > 0 && stream.readableLength === announced;
}

/** Without listeners, timers and a turn of the loop, which cost more than a small body's scan. */
function takeArrived(stream: Readable, { budget }: ReadBodyLimits): Body {
  const length = stream.readableLength;
  if (!budget.take(length)) throw overloaded();
  const body = bytesIn(stream, () => budget.give(length));
  // Its end may still be to come, and must be heard: node lets go of a request that has ended.
  stream.resume();
  return bodyOf([body], length);
}

/** To read tells listeners of the host, which may throw. */
function bytesIn(stream: Readable, giveBack: () => void): Uint8Array {
  try {
    return stream.read();
  } catch (error) {
    giveBack();
    throw error;
  }
}

function takeWhole(body: Uint8Array, { maxBytes, budget }: ReadBodyLimits): Body {
  const { byteLength } = body;
  if (byteLength > maxBytes) throw tooLarge(maxBytes);
  if (!budget.take(byteLength)) throw overloaded();
  return bodyOf([body], byteLength);
}

function collect(
  stream: Readable,
  request: Pick<GatewayRequest, 'onClose'>,
  { maxBytes, budget, clock }: ReadBodyLimits,
): Promise<Body> {
  return new Promise((resolve, reject) => {
    const collected = pieces();
    const stopDeadline = watchDeadline(clock, collected, () => fail(timedOut()));
    let settled = false;

    const onData = (chunk: Uint8Array | string) => {
      // Text where the host gave its stream an encoding.
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      if (collected.byteLength() + piece.byteLength > maxBytes) {
        fail(tooLarge(maxBytes));
      } else if (budget.take(piece.byteLength)) {
        collected.add(piece);
      } else {
        fail(overloaded());
      }
    };
    const onEnd = () => {
      settle();
      resolve(bodyOf(collected.take(), collected.byteLength()));
    };
    const onGone = () => fail(callerLeft());

    function fail(error: GatewayError): void {
      if (settled) return;
      settle();
      stream.pause();
      budget.give(collected.byteLength());
      reject(error);
    }

    function settle(): void {
      settled = true;
      stopDeadline();
      stream.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    }

    stream.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
    request.onClose(onGone);
    // A host may have paused it, while it looked the caller up: listening alone wakes no such one.
    stream.resume();
  });
}

/** Calls `onLate` when the body is slower than it may be, until the returned function is called. */
function watchDeadline(clock: Clock, collected: Pieces, onLate: () => void): () => void {
  const startedMs = clock.monotonicMs();
  let stop = () => clearImmediate(nextTurn);
  // Most bodies came with their head and are whole within this turn: they need no timer.
  const nextTurn = setImmediate(() => {
    stop = clock.every(checkIntervalMs, () => {
      const earnedMs = Math.floor(collected.byteLength() / bytesPerSecond) * 1000;
      const deadlineMs = startedMs + Math.min(baseMs + earnedMs, longestMs);
      if (clock.monotonicMs() > deadlineMs) onLate();
    });
  });
  return () => stop();
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The request body is larger than ${maxBytes} bytes. Send a smaller one.`,
  );
}

function overloaded(): GatewayError {
  return new GatewayError(
    'overloaded',
    'Too many large requests are under way. Send this one again in a second.',
    { reason: 'byte_budget', retryAfterMs: 1000 },
  );
}

function timedOut(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'The request body arrived too slowly. Send it again, over a faster connection.',
    { reason: 'body_timeout' },
  );
}

function callerLeft(): GatewayError {
  return new GatewayError('invalid_request', 'The request body broke off. Send it whole.', {
    reason: 'caller_left',
  });
}

function bodyConsumed(): GatewayError {
  return new GatewayError('internal_error', 'The request body could not be read.', {
    reason: 'body_consumed',
  });
}
