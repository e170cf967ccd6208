/**
 * The port that sends HTTP requests to upstreams. The package has two implementations,
 * `undiciClient()` and, for Bun, `fetchUpstreamClient()`; hosts may provide another.
 */
import type { HeaderMap } from '../http.ts';

/** An HTTP request to an upstream. */
export interface UpstreamRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** `https://api.openai.com` */
  readonly origin: string;
  /** Path and query, encoded. */
  readonly path: string;
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
  write(chunk: Uint8Array): void;
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
  pause(): void;
  resume(): void;
  /** Ends the request; nothing more is delivered. */
  abort(): void;
}

/** An upstream's response: its head, and a body that is still arriving. */
export interface UpstreamResponse {
  readonly status: number;
  /**
   * The gateway reads `content-type`, `retry-after`, `retry-after-ms`, `date` and, for errors of
   * AWS, `x-amzn-errortype`. Others may be left out. The client itself must decode a
   * `content-encoding`.
   */
  readonly headers: HeaderMap;
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
