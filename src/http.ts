/**
 * Requests and responses in a framework-independent form, which adapters convert from and to. Not
 * Fetch objects, which would take a third more CPU time.
 */
import type { Readable, Writable } from 'node:stream';
import type { ErrorCode } from './errors.ts';

/** Headers as in `node:http`: lower-case names, repeated lines joined or listed. */
export type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Headers to write: lower-case names, each once. */
export type HeaderMap = Readonly<Record<string, string>>;

/** A caller's request, as an adapter passes it to the gateway. */
export interface GatewayRequest {
  /** In capitals: `POST`. */
  readonly method: string;
  /**
   * The raw path, still percent-encoded, beginning with `/v1` or `/v1beta` wherever the gateway is
   * mounted.
   */
  readonly path: string;
  /** The target as the host received it, with the prefix of the mount, which errors then name. */
  readonly target?: string;
  /** The raw text after the `?`; empty if there is none. */
  readonly search: string;
  /** With lower-case names. */
  readonly headers: IncomingHeaders;
  /**
   * Alternating names and values as received: only here a header that was sent twice can be seen.
   */
  readonly rawHeaders: readonly string[];
  /**
   * The unread stream, or the bytes if a parser of the host has read them; undefined if it consumed
   * them, which is answered with a 500 and an event that tells the host the remedy. A stream
   * that is found to be consumed later fails with an error whose `code` is
   * `TOLLGATE_BODY_CONSUMED`.
   */
  readonly body: Readable | Uint8Array | undefined;
  /** Calls the listener once if the caller disconnects before the response has ended. */
  onClose(listener: () => void): void;
}

/** A response, for an adapter to write. */
export interface GatewayResponse {
  /** The HTTP status. */
  readonly status: number;
  /** With lower-case names. */
  readonly headers: HeaderMap;
  /** All bytes, or a stream of them that the adapter sends. */
  readonly body: Uint8Array | ReplyBody;
}

/**
 * A reply that is sent as fast as its caller reads: a stream, or a large whole reply. Exactly one
 * of the two methods is called, once: `sendTo` if the host's response is available (the chunks of
 * one turn become one write), `readable` if the host needs a stream.
 * Destroying the stream early aborts the upstream of a streamed reply.
 */
export interface ReplyBody {
  /** Writes the reply to `out` with back-pressure, and ends it; destroys it if the reply is cut. */
  sendTo(out: Writable): void;
  /** The reply as a `Readable`. */
  readable(): Readable;
}

/** The part of a gateway that adapters use; created by `createGateway()`. */
export interface GatewayHandler {
  /**
   * Whether the gateway answers a raw path (as in {@link GatewayRequest.path}): a path that it
   * serves, or one of a provider's API that it refuses. Adapters pass all other paths to the host.
   *
   * The HTTP method (default: `POST`) matters only with `unserved: 'pass'`: a GET of
   * `/v1beta/models/m:free` asks for a model, and a POST for its method `free`, which is the
   * host's.
   *
   * `isBelowPrefix`: the path is below a prefix that is the gateway's alone, where it also answers
   * paths whose version is missing or doubled, so that their callers learn the right one, and its
   * root, to say that it runs. If it is false, and not left out, a path whose version is missing
   * or doubled is reported as the event `path_misplaced`.
   */
  owns(path: string, method?: string, isBelowPrefix?: boolean): boolean;
  /** Answers a request. Never rejects: failures become error responses. */
  handle(request: GatewayRequest): Promise<GatewayResponse>;
  /**
   * The response to a request that the host's middleware refused before the gateway saw it, such as
   * a body parser's 413, in the error format of the path's API. Records and charges nothing.
   */
  refuse(
    request: Pick<GatewayRequest, 'method' | 'path' | 'headers'>,
    code: ErrorCode,
    message: string,
  ): GatewayResponse;
}
