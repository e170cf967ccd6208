/**
 * A gateway that returns what an adapter passed to it, or writes what a case specifies. The path of
 * the request selects the reply.
 */
import { PassThrough, Readable, type Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { GatewayHandler, GatewayRequest, GatewayResponse } from '../../../http.ts';
import { gate } from '../../providers/scripts.ts';

/** The request as the gateway received it: the reply to `/v1/echo`. */
export interface Echo {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  /** The body in Base64; null where the adapter passed none. */
  readonly body: string | null;
}

export interface ScriptedGateway extends GatewayHandler {
  /** The reply to `/v1/stream` and `/v1/silent`: a case writes, ends or destroys it. */
  readonly reply: PassThrough;
  /** Resolves when a request for `/v1/silent` has arrived. */
  readonly received: Promise<void>;
  /** Resolves when the listener passed to `onClose` has been called. */
  readonly disconnected: Promise<void>;
  /** How often a listener of `onClose` was called. */
  readonly disconnects: () => number;
  /** How many bytes of `/v1/endless` have been read. */
  readonly taken: () => number;
  /** Makes `/v1/silent` reply with the stream. */
  answer(): void;
}

/** The size of `/v1/endless`, far above the socket buffers of a connection. */
export const endlessBytes: number = 64 * 1024 * 1024;

/** A gateway for all paths below `/v1` and `/v1beta`. */
export function scriptedGateway(): ScriptedGateway {
  const reply = new PassThrough();
  // Some cases destroy it with an error: its reader receives that, but the process must not crash.
  reply.on('error', () => {});
  const received = gate();
  const disconnected = gate();
  const answered = gate();
  let disconnects = 0;
  let taken = 0;

  const silent = async (): Promise<GatewayResponse> => {
    received.open();
    await answered.opened;
    return streamed(reply);
  };

  const endless = (): Readable => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    return new Readable({
      read() {
        taken += chunk.length;
        this.push(taken <= endlessBytes ? chunk : null);
      },
    });
  };

  return {
    reply,
    received: received.opened,
    disconnected: disconnected.opened,
    disconnects: () => disconnects,
    taken: () => taken,
    answer: answered.open,
    owns: (path) => /^\/v1(beta)?\//.test(path),
    handle: async (request) => {
      request.onClose(() => {
        disconnects += 1;
        disconnected.open();
      });
      if (request.path === '/v1/stream') return streamed(reply);
      if (request.path === '/v1/silent') return silent();
      if (request.path === '/v1/endless') return streamed(endless());
      if (request.path === '/v1/refused') return json(413, { error: 'too large' });
      return echo(request);
    },
    refuse: ({ path }, code, message) =>
      json(code === 'body_too_large' ? 413 : 400, { error: { code, message, path } }),
  };
}

async function echo(request: GatewayRequest): Promise<GatewayResponse> {
  const { method, path, search, headers, rawHeaders, body } = request;
  const bytes = body instanceof Readable ? await buffer(body) : body;
  return json(200, {
    method,
    path,
    search,
    headers,
    rawHeaders,
    body: bytes === undefined ? null : Buffer.from(bytes).toString('base64'),
  } satisfies Echo);
}

function json(status: number, value: object): GatewayResponse {
  const body = Buffer.from(JSON.stringify(value));
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  return { status, headers: { ...headers, 'x-request-id': 'request-1' }, body };
}

function streamed(source: Readable): GatewayResponse {
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
    },
    body: {
      // `pipeline` destroys both streams when either closes.
      sendTo: (out: Writable) => void pipeline(source, out).catch(() => {}),
      readable: () => source,
    },
  };
}
