/**
 * One call and its reply, as a test sees them, and how the exchange was closed. The only file that
 * writes to a caller.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { type JsonValue, parseJson } from '../../json.ts';
import type { Break, Piece, Script } from './scripts.ts';

/** A received call. */
export interface RecordedCall {
  /** In capitals: `POST`. */
  readonly method: string;
  /** Raw, with the query. */
  readonly path: string;
  /** As Node's server has read them. */
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value as received. */
  readonly rawHeaders: readonly string[];
  /** All bytes of the body. */
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

/**
 * Plays a script to its end, or until the caller disconnects.
 *
 * @throws Node's error for a script with an invalid status or header
 */
export async function play(script: Script, exchange: Exchange, paceMs: number): Promise<void> {
  const { response, call } = exchange;
  if (script.waitFor !== undefined) await Promise.race([script.waitFor, call.closed]);
  if (script.delayMs !== undefined) await pause(script.delayMs, call.closed);
  if (response.closed) return;
  if (script.beforeHeaders !== undefined) {
    exchange.breakOff(script.beforeHeaders);
    return;
  }

  const ending = script.ending ?? 'end';
  if (script.bare) {
    const { socket } = response;
    if (socket === null) return;
    await writeAll(script.chunks ?? [], socket, exchange, paceMs);
    exchange.breakOff(ending === 'end' ? 'close' : ending);
    return;
  }

  writeHead(script, response);
  if (script.chunks === undefined && ending === 'end') {
    response.end(script.body ?? '');
    return;
  }
  response.flushHeaders();
  await writeAll(script.chunks ?? [script.body ?? ''], response, exchange, paceMs);
  if (response.closed) return;
  if (ending === 'end') response.end();
  else exchange.breakOff(ending);
}

function writeHead(script: Script, response: ServerResponse): void {
  response.statusCode = script.status ?? 200;
  for (const [name, value] of Object.entries(script.headers ?? {})) response.setHeader(name, value);
  if (script.chunks === undefined && !response.hasHeader('content-length')) {
    response.setHeader('content-length', Buffer.byteLength(script.body ?? ''));
  }
}

async function writeAll(
  chunks: Iterable<Piece>,
  out: Writable,
  { call, response }: Exchange,
  paceMs: number,
): Promise<void> {
  let first = true;
  for (const piece of chunks) {
    if (piece instanceof Promise) {
      await Promise.race([piece, call.closed]);
    } else {
      if (!first && paceMs > 0) await pause(paceMs, call.closed);
      if (response.closed) return;
      await Promise.race([write(out, piece), call.closed]);
      first = false;
    }
    if (response.closed) return;
  }
}

/**
 * Resolves when the kernel has the bytes and the event loop has polled its sockets since, so that a
 * caller in the same process reads this piece separately. One turn is not enough: it comes before
 * the poll if the write was made in a socket's event.
 */
function write(out: Writable, piece: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    out.write(piece, () => setImmediate(() => setImmediate(resolve)));
  });
}

function pause(ms: number, closed: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    timer.unref();
    void closed.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
