/**
 * A gateway that makes an adapter's behaviour visible: it echoes requests, streams what a test
 * writes, and reports disconnects. The path selects the reply.
 */
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { GatewayHandler, GatewayRequest, GatewayResponse } from '../../src/http.ts';

export interface ToyGateway extends GatewayHandler {
  /** The source of a streamed reply: a test writes, ends or destroys it. */
  readonly reply: PassThrough;
  /** Resolves when `/v1/silent` has been called. */
  readonly asked: Promise<void>;
  /** Resolves when the listener given to `onClose` was called. */
  readonly left: Promise<void>;
  /** Lets `/v1/silent` reply, with the stream. */
  answer(): void;
}

/** Answers everything below `/v1` and `/v1beta`. */
export function toyGateway(): ToyGateway {
  const reply = new PassThrough();
  // Some tests destroy the reply on purpose; that must not end the process.
  reply.on('error', () => {});
  const asked = signal();
  const left = signal();
  const answered = signal();

  return {
    reply,
    asked: asked.promise,
    left: left.promise,
    answer: answered.resolve,
    owns: (path) => /^\/v1(beta)?\//.test(path),
    async handle(request) {
      request.onClose(left.resolve);
      if (request.path === '/v1/stream') return streamed(reply);
      if (request.path === '/v1/silent') {
        asked.resolve();
        await answered.promise;
        return streamed(reply);
      }
      return echo(request);
    },
    refuse: ({ path }, code, message) =>
      json(code === 'body_too_large' ? 413 : 400, {
        error: { code, message, path },
      }),
  };
}

/** A request as {@link toyGateway} received it, returned as its reply. */
export interface Echo {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly body: string | null;
  /** Whether the stream was handed over unread. */
  readonly unread: boolean;
}

/** Reads the answer of an echoed request. */
export function echoOf(text: string): Echo {
  const echoed: Echo = JSON.parse(text);
  return echoed;
}

async function echo(request: GatewayRequest): Promise<GatewayResponse> {
  const { method, path, search, body } = request;
  const unread = body instanceof Readable;
  const bytes = unread ? await buffer(body) : body;
  return json(200, {
    method,
    path,
    search,
    body: bytes === undefined ? null : Buffer.from(bytes).toString(),
    unread,
  } satisfies Echo);
}

function json(status: number, value: object): GatewayResponse {
  const body = Buffer.from(JSON.stringify(value));
  return {
    status,
    headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
    body,
  };
}

function streamed(reply: PassThrough): GatewayResponse {
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
    },
    // `pipeline` destroys both ends when either goes.
    body: { sendTo: (out) => void pipeline(reply, out).catch(() => {}), readable: () => reply },
  };
}

function signal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
