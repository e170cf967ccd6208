/** What the adapters know of a host's own request and response. Not an entry point. */
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { HeaderMap, IncomingHeaders } from '../src/http.ts';

/** What a body parser of the host leaves behind. */
export interface ParsedBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** A request of `node:http` or of HTTP/2's compatibility API; Express and connect add to it. */
export interface HostRequest extends Readable, ParsedBody {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly originalUrl?: string | undefined;
  readonly headers: IncomingHeaders;
  readonly rawHeaders: readonly string[];
  /** Whether all of the body has come from the network, read or not. */
  readonly complete?: boolean;
  /** The connection. HTTP/2 gives a stand-in for it that refuses to be written or destroyed. */
  readonly socket: Socket;
}

/** What the adapters use of a stream of HTTP/2. */
export interface Http2Stream {
  readonly destroyed: boolean;
  once(event: 'finish', listener: () => void): unknown;
  close(code?: number): void;
}

/** A response of `node:http` or of HTTP/2's compatibility API. */
export interface HostResponse extends Writable {
  readonly req: { readonly method?: string | undefined };
  readonly headersSent: boolean;
  /** On HTTP/2 only, where the response itself does not say that it was destroyed. */
  readonly stream?: Http2Stream | undefined;
  getHeader(name: string): unknown;
  writeHead(statusCode: number, headers: HeaderMap): unknown;
}

/**
 * Node ends the process for an `error` event that nobody listens for, and a request or a response
 * may emit one at any time: Node 24 emits it for a request that is queued behind another on its
 * connection after that response has closed. So the listener stays as long as the object lives.
 */
export function ignoreErrors(stream: Readable | Writable): void {
  stream.on('error', ignore);
}

function ignore(): void {}

/** Whether nothing can be written any more. */
export function isGone(res: HostResponse): boolean {
  return res.destroyed || res.stream?.destroyed === true;
}

/** Ends a response so that no caller can take it for whole; replies in `src` do it alike. */
export function cutOff(res: HostResponse): void {
  if (res.stream !== undefined) {
    // HTTP/2 tells its caller NO_ERROR, a whole reply, of a stream that is destroyed without one.
    res.destroy(new Error('The reply was cut.'));
    return;
  }
  // Without chunks, for HTTP/1.0, a reply is whole wherever the connection ends; unless by a reset.
  const isUnframed = res.headersSent && res instanceof ServerResponse && !res.chunkedEncoding;
  if (isUnframed) resetSocket(res.socket);
  res.destroy();
}

function resetSocket(socket: Socket | null): void {
  try {
    socket?.resetAndDestroy();
  } catch {
    // Not over TLS, where an end without its own farewell is a break already.
  }
}

/** A member of whatever a host or its middleware handed over; undefined where it has none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
