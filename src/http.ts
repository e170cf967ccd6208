/**
 * The neutral record that adapters build and write: no framework's type and no Fetch object, which
 * cost a third more CPU. Everything above speaks only of these.
 */
import type { Readable, Writable } from 'node:stream';
import type { ErrorCode } from './errors.ts';

/** Headers as `node:http` gives them: lower-case names, repeated lines joined or listed. */
export type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Headers to be written: lower-case names, each once. */
export type HeaderMap = Readonly<Record<string, string>>;

/** One request of a caller, as an adapter hands it over. */
export interface GatewayRequest {
  readonly method: string;
  /**
   * The raw path, still percent-encoded, beginning with `/v1` or `/v1beta` wherever we are mounted.
   */
  readonly path: string;
  /** What follows the `?`, raw; empty where there is none. */
  readonly search: string;
  readonly headers: IncomingHeaders;
  /** Name, value, name, value as received: the only place where a header sent twice still shows. */
  readonly rawHeaders: readonly string[];
  /**
   * The unread stream, or the bytes where a parser of the host read them first; undefined where it
   * read them and left nothing, which is answered at once with a 500 that tells the host the cure.
   */
  readonly body: Readable | Uint8Array | undefined;
  /** Calls the listener once if the caller goes away before the response was ended. */
  onClose(listener: () => void): void;
}

/** What an adapter writes. */
export interface GatewayResponse {
  readonly status: number;
  readonly headers: HeaderMap;
  readonly body: Uint8Array | ReplyBody;
}

/**
 * A streamed reply. Exactly one of the two methods is called, exactly once: `sendTo` where the
 * host's response is at hand (the chunks of one tick become one write), `readable` where the host
 * wants a stream. Whoever destroys the stream early aborts the upstream.
 */
export interface ReplyBody {
  /**
   * Pushes the reply into `out`, keeps its back-pressure, and ends it; destroys it if the reply is
   * cut.
   */
  sendTo(out: Writable): void;
  /** The same bytes as one `Readable`. */
  readable(): Readable;
}

/** What an adapter needs of a gateway; `createGateway()` gives one. */
export interface GatewayHandler {
  /**
   * Whether a raw path (as in {@link GatewayRequest.path}) is ours; adapters hand every other path
   * back to the host.
   */
  owns(path: string): boolean;
  /** Answers a request. Never rejects: what goes wrong is an answer too. */
  handle(request: GatewayRequest): Promise<GatewayResponse>;
  /**
   * The answer to a request that the host's own middleware refused before we saw it, such as a body
   * parser's 413, in the dialect of the path. Writes nothing and charges nothing.
   */
  refuse(
    request: Pick<GatewayRequest, 'method' | 'path' | 'headers'>,
    code: ErrorCode,
    message: string,
  ): GatewayResponse;
}
