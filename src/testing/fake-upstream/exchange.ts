/** One call and its answer: what a test sees of it, and the one place that tells how it closed. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type JsonValue, parseJson } from '../../json.ts';
import type { Break } from './scripts.ts';

/** A call as it arrived. */
export interface RecordedCall {
  readonly method: string;
  /** Raw, with the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Counted from 1; calls of one connection share it. */
  readonly connectionId: number;
  /** Whether the caller has left before the answer was played to its end. */
  readonly aborted: boolean;
  /**
   * How it closed, never rejected: `aborted` if the caller left first, `ended` if the answer was
   * played to its end, which may be a reset of its own.
   */
  readonly closed: Promise<'ended' | 'aborted'>;
  /** The body as JSON, or undefined where it is none. */
  json(): JsonValue | undefined;
}

/** The fake's own side of a call. */
export interface Exchange {
  readonly call: RecordedCall;
  readonly response: ServerResponse;
  /** Breaks the connection from our side, or for `hang` leaves that to the caller. */
  breakOff(how: Break): void;
}

/** Takes up a call whose body has been read, or broke off while it was. */
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
