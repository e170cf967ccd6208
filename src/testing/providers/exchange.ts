/** One call and its reply, as a test sees them, and how the exchange was closed. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type JsonValue, parseJson } from '../../json.ts';
import type { Break } from './scripts.ts';

/** A received call. */
export interface RecordedCall {
  readonly method: string;
  /** Raw, with the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** The number of the connection, from 1. */
  readonly connectionId: number;
  /** Whether the caller disconnected before the reply was played to its end. */
  readonly aborted: boolean;
  /**
   * Resolves when the exchange is closed, and never rejects: `aborted` if the caller disconnected
   * first, `ended` if the reply was played to its end, even if that is a reset by the script.
   */
  readonly closed: Promise<'ended' | 'aborted'>;
  /** The body as JSON, or undefined where it is not JSON. */
  json(): JsonValue | undefined;
}

/** The server side of a call. */
export interface Exchange {
  readonly call: RecordedCall;
  readonly response: ServerResponse;
  /** Breaks the connection from the server, or for `hang` leaves that to the caller. */
  breakOff(how: Break): void;
}

/** Opens the exchange of a call whose body has been read or has broken off. */
export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  connectionId: number,
): Exchange {
  const { socket } = request;
  let brokenByUs = false;
  let aborted = false;

  const closed = new Promise<'ended' | 'aborted'>((resolve) => {
    const settle = (): void => {
      aborted = !(brokenByUs || response.writableFinished);
      resolve(aborted ? 'aborted' : 'ended');
    };
    if (response.closed) settle();
    else response.once('close', settle);
  });

  return {
    call: {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body,
      connectionId,
      get aborted() {
        return aborted;
      },
      closed,
      json: () => parseJson(body.toString()),
    },
    response,
    breakOff: (how) => {
      if (how === 'hang') return;
      brokenByUs = true;
      if (how === 'reset') socket.resetAndDestroy();
      else socket.destroySoon();
    },
  };
}
