/** Converts bodies between Web streams and Node's, with back-pressure. Not an entry point. */
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers';
import { bodyConsumedError, ignoreErrors, isBodyConsumedError } from '../src/host-streams.ts';
import type { GatewayRequest, ReplyBody } from '../src/http.ts';
import type { Warn } from './host-body.ts';
import type { WebCaller } from './web-caller.ts';

/** The unread body of a request; undefined, with a warning, if the host has read it. */
export function requestBody(request: Request, warn: Warn): GatewayRequest['body'] {
  if (request.method === 'GET' || request.method === 'HEAD') return new Uint8Array();
  if (!request.bodyUsed) return bodyStream(request, warn);
  warn('TOLLGATE_BODY_CONSUMED', bodyConsumed);
  return undefined;
}

const bodyConsumed =
  'The host read a request body before it passed the request to the gateway, so the call could ' +
  'not be answered. Pass a request whose body is unread, or a clone() that was made before.';

type ReadChunk = () => Promise<{ readonly done: boolean; readonly value?: unknown }>;

/**
 * Reads a chunk when one is wanted. `request.body` is not touched before, because in some servers
 * the getter begins to read from the socket. The part of a body that the gateway does not read is
 * not cancelled, because some servers would close the connection before they have sent the reply.
 */
function bodyStream(request: Request, warn: Warn): Readable {
  let readChunk: ReadChunk | undefined;
  const stream = new Readable({
    read: () => {
      readChunk ??= chunksOf(request, warn);
      readChunk().then(
        ({ done, value }) => stream.push(done ? null : value),
        (error: unknown) => {
          const broken = new Error('The request body broke off.');
          stream.destroy(isBodyConsumedError(error) ? error : broken);
        },
      );
    },
  });
  ignoreErrors(stream);
  return stream;
}

function chunksOf(request: Request, warn: Warn): ReadChunk {
  // The host may also have read it while the key was looked up.
  const reader = request.bodyUsed ? undefined : readerOf(request);
  if (reader === null) return () => Promise.resolve({ done: true });
  if (reader !== undefined) return () => reader.read();
  warn('TOLLGATE_BODY_CONSUMED', bodyConsumed);
  return () => Promise.reject(bodyConsumedError());
}

/** Null if the request has no body, and undefined if another reader has locked it. */
function readerOf({ body }: Request): ReadableStreamDefaultReader<Uint8Array> | null | undefined {
  try {
    return body === null ? null : body.getReader();
  } catch {
    return undefined;
  }
}

/**
 * A reply as a Web stream that takes a chunk only when its reader asks for one. It fails if the
 * reply is cut; also if the caller disconnects and the server does not cancel the stream.
 */
export function responseBody(reply: ReplyBody, caller: WebCaller): ReadableStream<Uint8Array> {
  const source = reply.readable();
  ignoreErrors(source);
  source.pause();
  caller.onDisconnect(() => source.destroy());
  let isOver = false;
  return new ReadableStream(
    {
      start: (controller) => {
        source.on('data', (chunk: Uint8Array) => {
          // A destroyed stream may still deliver a chunk.
          if (isOver) return;
          // Before the chunk is passed on, which may immediately ask for the next one.
          source.pause();
          controller.enqueue(chunk);
        });
        source.once('end', () => {
          if (isOver) return;
          isOver = true;
          caller.markAnswered();
          controller.close();
        });
        source.once('close', () => {
          if (isOver) return;
          isOver = true;
          failStream(controller, caller);
        });
      },
      pull: () => {
        source.resume();
      },
      cancel: () => {
        isOver = true;
        caller.markGone();
        source.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function failStream(controller: ReadableStreamDefaultController, caller: WebCaller): void {
  if (!caller.isGone()) return controller.error(new Error('The reply was cut.'));
  // Deferred, because @hono/node-server cancels the stream next, and logs one that failed before.
  setImmediate(() => {
    controller.error(new DOMException('The caller has disconnected.', 'AbortError'));
  });
}
