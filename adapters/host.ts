/** The parts of a host's requests and responses that the adapters use. Not an entry point. */
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

/** Whether nothing can be written to the response any more. */
export function isGone(res: HostResponse): boolean {
  return res.destroyed || res.stream?.destroyed === true;
}

/** A member of a value from the host or its middleware; undefined if it has none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
