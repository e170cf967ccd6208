/** The parts of a host's requests and responses that the adapters use. Not an entry point. */
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { HeaderMap, IncomingHeaders } from '../src/http.ts';

/** The properties that the host's body parsers set. */
export interface ParsedBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/**
 * A request of `node:http` or of HTTP/2's compatibility API; Express and connect add properties.
 */
export interface HostRequest extends Readable, ParsedBody {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly originalUrl?: string | undefined;
  readonly headers: IncomingHeaders;
  readonly rawHeaders: readonly string[];
  /** Whether the whole body has been received, read or not. */
  readonly complete?: boolean;
  /** The connection. With HTTP/2 this is a proxy that refuses to be written or destroyed. */
  readonly socket: Socket;
}

/** The parts of an HTTP/2 stream that the adapters use. */
export interface Http2Stream {
  readonly destroyed: boolean;
  once(event: 'finish', listener: () => void): unknown;
  close(code?: number): void;
}

/** A response of `node:http` or of HTTP/2's compatibility API. */
export interface HostResponse extends Writable {
  readonly req: { readonly method?: string | undefined };
  readonly headersSent: boolean;
  /** Only on HTTP/2, where the response itself does not show that it was destroyed. */
  readonly stream?: Http2Stream | undefined;
  getHeader(name: string): unknown;
  writeHead(statusCode: number, headers: HeaderMap): unknown;
}

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

/** Whether nothing can be written to the response any more. */
export function isGone(res: HostResponse): boolean {
  return res.destroyed || res.stream?.destroyed === true;
}

/** Ends a response so that no caller can take it for complete. Replies in `src` do the same. */
export function cutOff(res: HostResponse): void {
  if (res.stream !== undefined) {
    // Without an error, HTTP/2 would send NO_ERROR, which means a complete reply.
    res.destroy(new Error('The reply was cut.'));
    return;
  }
  // Without chunked encoding (HTTP/1.0) a reply is complete wherever the connection ends, except by
  // a reset.
  const isUnframed = res.headersSent && res instanceof ServerResponse && !res.chunkedEncoding;
  if (isUnframed) resetSocket(res.socket);
  res.destroy();
}

function resetSocket(socket: Socket | null): void {
  try {
    socket?.resetAndDestroy();
  } catch {
    // Not possible over TLS, where a connection that ends without close_notify is an error anyway.
  }
}

/** A member of a value from the host or its middleware; undefined if it has none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
