/**
 * The port that speaks HTTP to upstreams. Only `undiciClient()` implements it here; tests may bring
 * their own.
 */
import type { HeaderMap } from '../http.ts';

/** One call, ready for the wire. */
export interface UpstreamRequest {
  readonly method: 'POST' | 'GET';
  /** `https://api.openai.com` */
  readonly origin: string;
  /** Path and query, encoded. */
  readonly path: string;
  readonly headers: HeaderMap;
  /** The pieces of the body, sent one after the other. */
  readonly body: readonly Uint8Array[];
  /** Every other wait is the gateway's, which ends it through `onAbort`. */
  readonly connectTimeoutMs: number;
  /** A socket of its own: an image must never meet a keep-alive socket that just went stale. */
  readonly freshConnection: boolean;
  /** Called once, before the answer, with what ends the call early on our side. */
  readonly onAbort: (abort: (reason: Error) => void) => void;
}

/** Takes a body's pieces as they arrive; `write` any number of times, then one of the other two. */
export interface ByteSink {
  write(chunk: Uint8Array): void;
  end(): void;
  /** The body broke off; an `UpstreamError`. */
  fail(error: Error): void;
}

/** A body that arrives by itself. Read it, or abort it. */
export interface UpstreamBody {
  /** The whole body where it has already arrived and is at most `limit` bytes, else undefined. */
  takeWhole(limit: number): Uint8Array | undefined;
  /** Begins delivery, in order; what arrived before comes first, synchronously. */
  start(sink: ByteSink): void;
  pause(): void;
  resume(): void;
  /** Ends the call; nothing more is delivered. */
  abort(): void;
}

/** An upstream's answer: its head, and a body that is still arriving. */
export interface UpstreamResponse {
  readonly status: number;
  /**
   * What the gateway reads: `content-type`, `content-encoding`, `retry-after`, `retry-after-ms` and
   * `date`. Others may be left out.
   */
  readonly headers: HeaderMap;
  readonly body: UpstreamBody;
}

/** The waist between the gateway and the network. */
export interface UpstreamClient {
  /**
   * Resolves when the upstream's final status and headers are here.
   *
   * @throws UpstreamError with the stage it failed at
   */
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** Closes the sockets. */
  close(): Promise<void>;
}
