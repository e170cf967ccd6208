/** Reads a request body into memory, within a size limit, a deadline and the memory budget. */
import type { Readable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { GatewayError } from '../../errors.ts';
import { isBodyConsumedError } from '../../host/streams.ts';
import type { GatewayRequest } from '../../http.ts';
import { ChunkBuffer } from '../chunk-buffer.ts';
import type { Body } from './body.ts';
import { bodyFromChunks } from './elide.ts';
import type { ByteBudget } from './fair-shares.ts';
import { checkContentEncoding, checkContentType } from './headers.ts';

const baseMs = 10_000;
const maxMs = 60_000;
/** Each this many bytes received extend the deadline by one second. */
const bytesPerSecond = 65_536;
const checkIntervalMs = 1_000;

export interface ReadBodyLimits {
  readonly maxBytes: number;
  readonly announcedBytes: number | undefined;
  /** The caller of `readBody` returns the body's size to it after the call. */
  readonly budget: ByteBudget;
  readonly clock: Clock;
}

/**
 * The whole body; returned synchronously if it has already arrived. On failure its share of the
 * budget is returned; the rest of a refused body stays unread and paused, so that the adapter can
 * close the connection.
 *
 * @throws GatewayError `body_too_large`; `unsupported_media_type`; `overloaded` if the budget is
 * exhausted; `invalid_request` with the reason `body_timeout` for a body slower than 10 s plus 1 s
 * per 64 KiB (60 s at most), or `caller_left`; `internal_error` with `body_consumed` if the host
 * has already read the body
 */
export function readBody(
  request: Pick<GatewayRequest, 'headers' | 'body' | 'onClose'>,
  limits: ReadBodyLimits,
): Body | Promise<Body> {
  const { body, headers } = request;
  if (body === undefined) throw bodyConsumed();
  checkContentType(headers);
  // A body that the host read was also decompressed by it, so content-encoding and content-length
  // don't apply to these bytes.
  if (ArrayBuffer.isView(body)) return takeWhole(body, limits);

  if (wasAborted(body)) throw incompleteBody();
  if (body.readableEnded) throw bodyConsumed();
  checkContentEncoding(headers);
  const { announcedBytes = 0, maxBytes } = limits;
  if (announcedBytes > maxBytes) throw tooLarge(maxBytes);
  // With both transfer-encoding and content-length, neither can be trusted (RFC 9112 §6.3).
  const isFramedOnce = headers['transfer-encoding'] === undefined;
  return isFramedOnce && hasArrived(body, announcedBytes)
    ? takeArrived(body, limits)
    : collect(body, request, limits);
}

/** A cancelled HTTP/2 request ends as if complete; only `aborted` tells the difference. */
function wasAborted(stream: Readable): boolean {
  if ('aborted' in stream && stream.aborted === true) return true;
  return stream.destroyed && !stream.readableEnded;
}

/**
 * Whether the stream is a `node:http` request that holds the whole body unread: a small body
 * arrives with its head, and is there when the key has been looked up.
 */
function hasArrived(stream: Readable, announced: number): boolean {
  if (!('complete' in stream)) return false;
  const isUntouched = stream.readableEncoding === null && stream.readableFlowing !== true;
  return isUntouched && announced > 0 && stream.readableLength === announced;
}

/** Listeners, timers and a turn of the loop cost more than the scan of a small body. */
function takeArrived(stream: Readable, { budget }: ReadBodyLimits): Body {
  const length = stream.readableLength;
  if (!budget.take(length)) throw bodiesOverloaded();
  let body: Uint8Array;
  try {
    body = stream.read();
  } catch (error) {
    // Reading emits events to the host's listeners, which may throw.
    budget.give(length);
    throw error;
  }
  // The end event may be pending, and must be consumed, because Node releases a request only after
  // it has ended.
  stream.resume();
  return bodyFromChunks([body], length);
}

function takeWhole(body: Uint8Array, { maxBytes, budget }: ReadBodyLimits): Body {
  const { byteLength } = body;
  if (byteLength > maxBytes) throw tooLarge(maxBytes);
  if (!budget.take(byteLength)) throw bodiesOverloaded();
  return bodyFromChunks([body], byteLength);
}

function collect(
  stream: Readable,
  request: Pick<GatewayRequest, 'onClose'>,
  { maxBytes, budget, clock }: ReadBodyLimits,
): Promise<Body> {
  return new Promise((resolve, reject) => {
    const collected = new ChunkBuffer();
    const stopDeadline = watchDeadline(clock, collected, () => fail(timedOut()));
    let settled = false;

    const onData = (chunk: Uint8Array | string) => {
      // Strings, if the host set an encoding on the stream.
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      if (collected.byteLength() + piece.byteLength > maxBytes) {
        fail(tooLarge(maxBytes));
      } else if (budget.take(piece.byteLength)) {
        collected.add(piece);
      } else {
        fail(bodiesOverloaded());
      }
    };
    const onEnd = () => {
      settle();
      resolve(bodyFromChunks(collected.take(), collected.byteLength()));
    };
    const onDisconnect = (error?: unknown) =>
      fail(isBodyConsumedError(error) ? bodyConsumed() : incompleteBody());

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
      stream
        .off('data', onData)
        .off('end', onEnd)
        .off('error', onDisconnect)
        .off('close', onDisconnect);
    }

    stream.on('data', onData).on('end', onEnd).on('error', onDisconnect).on('close', onDisconnect);
    request.onClose(onDisconnect);
    // Resumed explicitly, because the host may have paused it; adding a listener does not resume it
    // then.
    stream.resume();
  });
}

function watchDeadline(clock: Clock, collected: ChunkBuffer, onLate: () => void): () => void {
  const startedMs = clock.monotonicMs();
  let stop = () => clearImmediate(nextTurn);
  // Most bodies are complete within this turn, and need no timer.
  const nextTurn = setImmediate(() => {
    stop = clock.every(checkIntervalMs, () => {
      const earnedMs = Math.floor(collected.byteLength() / bytesPerSecond) * 1000;
      const deadlineMs = startedMs + Math.min(baseMs + earnedMs, maxMs);
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

export function bodiesOverloaded(): GatewayError {
  return new GatewayError(
    'overloaded',
    'Too many large requests are in progress. Retry in a second.',
    { reason: 'byte_budget', retryAfterMs: 1000 },
  );
}

function timedOut(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'The request body arrived too slowly. Retry over a faster connection.',
    { reason: 'body_timeout' },
  );
}

function incompleteBody(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'The connection closed before the request body was complete. Send the request again.',
    {
      reason: 'caller_left',
    },
  );
}

function bodyConsumed(): GatewayError {
  return new GatewayError('internal_error', 'The request body could not be read.', {
    reason: 'body_consumed',
  });
}
