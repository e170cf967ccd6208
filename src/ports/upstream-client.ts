/**
 * The port that sends HTTP requests to upstreams. The package has two implementations,
 * `undiciClient()` and, for Bun, `fetchUpstreamClient()`; hosts may provide another.
 */
import type { HeaderMap } from '../http.ts';

/** An HTTP request to an upstream. */
export interface UpstreamRequest {
  /** The HTTP method. */
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** `https://api.openai.com` */
  readonly origin: string;
  /** Path and query, encoded. */
  readonly path: string;
  /** With lower-case names, the credential's among them. */
  readonly headers: HeaderMap;
  /** The body in pieces, which are sent in this order. */
  readonly body: readonly Uint8Array[];
  /**
   * Timeout for the connection. All other timeouts are kept by the gateway, which ends the
   * request through `onAbort`.
   */
  readonly connectTimeoutMs: number;
  /**
   * Use a new socket. An image request, which must not be sent twice, must never run into a
   * keep-alive socket that the upstream is just closing.
   */
  readonly freshConnection: boolean;
  /** The client calls it once, before the response, with a function that aborts the request. */
  readonly onAbort: (abort: (reason: Error) => void) => void;
}

/**
 * Receives a body's chunks as they arrive: any number of `write` calls, then one `end` or `fail`.
 */
export interface ByteSink {
  /** Takes the next chunk. */
  write(chunk: Uint8Array): void;
  /** The body is complete. */
  end(): void;
  /** The body broke off. The error is an `UpstreamError`. */
  fail(error: Error): void;
}

/**
 * A body that arrives without being asked for. It must be read or aborted. All methods are
 * synchronous. If one throws, or returns a promise that rejects, the body breaks off.
 */
export interface UpstreamBody {
  /** The whole body if all of it has arrived and it has at most `limit` bytes, else undefined. */
  takeWhole(limit: number): Uint8Array | undefined;
  /** Begins delivery, in order. Bytes that arrived before are delivered first, synchronously. */
  start(sink: ByteSink): void;
  /** Asks for no more chunks; a few may still arrive. */
  pause(): void;
  /** Asks for chunks again. */
  resume(): void;
  /** Ends the request; nothing more is delivered. */
  abort(): void;
}

/** An upstream's response: its head, and a body that is still arriving. */
export interface UpstreamResponse {
  /** The HTTP status. */
  readonly status: number;
  /**
   * The gateway reads `content-type`, `retry-after`, `retry-after-ms`, `date` and, for errors of
   * AWS, `x-amzn-errortype`. Others may be left out. The client itself must decode a
   * `content-encoding`.
   */
  readonly headers: HeaderMap;
  /** The body, of which nothing has been delivered yet. */
  readonly body: UpstreamBody;
}

/**
 * Sends requests to upstreams. Whatever is wrong with a client fails the call as an upstream would,
 * with 502. The events and the usage record have the reason `client_failed` for a response that
 * does not fulfil this contract and for a body that throws.
 */
export interface UpstreamClient {
  /**
   * Resolves when the upstream's final status and headers have arrived.
   *
   * @throws UpstreamError with the stage at which it failed; after any other error the request
   *   counts as sent
   */
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** Closes the sockets. */
  close(): Promise<void>;
}
