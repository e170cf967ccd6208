/**
 * How the gateway and its adapters treat a host's requests and responses: no error of theirs ends
 * the process, and a reply that was cut never looks complete.
 */
import { ServerResponse } from 'node:http';
import type { Readable, Writable } from 'node:stream';

/**
 * Keeps an `error` listener on the stream for as long as it exists. Node ends the process on an
 * `error` event without a listener, and requests and responses may emit one at any time: Node 24
 * emits it for a request that is queued behind another one on its connection, after that response
 * has closed.
 */
export function ignoreErrors(stream: Readable | Writable): void {
  stream.on('error', ignore);
}

function ignore(): void {}

/** The error with which an adapter ends a request body that the host turns out to have read. */
export function bodyConsumedError(): Error {
  return Object.assign(new Error('The host has read the request body.'), { code: consumedCode });
}

/** Whether it is a {@link bodyConsumedError}, by its code: each entry point has its own copy. */
export function isBodyConsumedError(error: unknown): error is Error {
  if (typeof error !== 'object' || error === null) return false;
  return 'code' in error && error.code === consumedCode;
}

const consumedCode = 'TOLLGATE_BODY_CONSUMED';

/** Ends a response so that no caller can take it for complete. */
export function cutOff(response: Writable): void {
  if ('stream' in response && response.stream !== undefined) {
    // Without an error, HTTP/2 would send NO_ERROR, which means a complete reply.
    response.destroy(new Error('The reply was cut.'));
    return;
  }
  if (response instanceof ServerResponse && isUnframed(response)) resetSocket(response);
  response.destroy();
}

/**
 * Whether a reply has begun that is complete wherever its connection ends, except by a reset: one
 * without chunked encoding (HTTP/1.0).
 */
function isUnframed({ headersSent, chunkedEncoding }: ServerResponse): boolean {
  return headersSent && !chunkedEncoding;
}

function resetSocket({ socket }: ServerResponse): void {
  try {
    socket?.resetAndDestroy();
  } catch {
    // Not possible over TLS, where a connection that ends without close_notify is an error anyway.
  }
}
