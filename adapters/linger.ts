/**
 * Makes sure that a reply arrives that was sent before the request body was received, such as a 401
 * or a 413. If a server closes a connection with unread bytes, the operating system sends a reset,
 * and a caller that sends its whole body before it reads loses the reply. So the connection stays
 * open for a while and its bytes are discarded, as with nginx's `lingering_close`. Not an entry
 * point.
 */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Clock } from '../src/clock.ts';
import type { HostRequest, HostResponse } from './host.ts';

/** The limits for discarding bytes. */
export interface LingerLimits {
  /** The maximum time without a byte. */
  readonly silenceMs: number;
  readonly totalMs: number;
  readonly maxBytes: number;
  /**
   * The maximum number of connections at once; others are left to Node, which closes them
   * immediately if the reply has `connection: close`.
   */
  readonly maxConnections: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'every'>;
}

/** The connections of one adapter whose callers are still sending. */
export interface Lingering {
  /**
   * Must be called right before a reply is written. Does nothing if the whole body has been
   * received.
   */
  expectReply(req: HostRequest, res: HostResponse): void;
  /** The number of such connections. */
  size(): number;
}

const defaults: LingerLimits = {
  silenceMs: 5_000,
  totalMs: 30_000,
  maxBytes: 64 * 1024 * 1024,
  maxConnections: 256,
  clock: {
    monotonicMs: () => performance.now(),
    every: (ms, run) => {
      const timer = setInterval(run, ms).unref();
      return () => clearInterval(timer);
    },
  },
};

const checkMs = 500;

/** The state of one connection. */
interface Discarding {
  readonly startedMs: number;
  lastByteMs: number;
  bytes: number;
  readonly giveUp: () => void;
}

/** Starts without connections. */
export function lingering(limits: Partial<LingerLimits> = {}): Lingering {
  const { silenceMs, totalMs, maxBytes, maxConnections, clock } = { ...defaults, ...limits };
  const open = new Set<Discarding>();
  let stopChecks: (() => void) | undefined;

  const check = (): void => {
    const nowMs = clock.monotonicMs();
    for (const { lastByteMs, startedMs, giveUp } of open) {
      if (nowMs - lastByteMs >= silenceMs || nowMs - startedMs >= totalMs) giveUp();
    }
  };

  /**
   * Discards data from `source` until it ends, its connection closes, or a limit is reached. The
   * connection is watched too, because Node does not close a request that was answered before its
   * connection failed.
   */
  const discard = (source: Readable, connection: Readable, stop: () => void): void => {
    const nowMs = clock.monotonicMs();
    const end = (): void => {
      open.delete(entry);
      source.off('data', count).off('end', end);
      connection.off('close', end);
      if (open.size > 0) return;
      stopChecks?.();
      stopChecks = undefined;
    };
    const giveUp = (): void => {
      end();
      stop();
    };
    const count = (chunk: Uint8Array | string): void => {
      entry.lastByteMs = clock.monotonicMs();
      entry.bytes += chunk.length;
      if (entry.bytes > maxBytes) giveUp();
    };
    const entry: Discarding = { startedMs: nowMs, lastByteMs: nowMs, bytes: 0, giveUp };
    open.add(entry);
    stopChecks ??= clock.every(checkMs, check);
    source.on('data', count).on('end', end);
    connection.on('close', end);
    source.resume();
  };

  const overHttp1 = (req: HostRequest, res: HostResponse): void => {
    const { socket } = req;
    // Resumed, because Node dumps the rest of a body that no one has begun to read when the reply
    // ends.
    req.resume();
    // Node calls this when a reply that ends its connection has been sent.
    socket.destroySoon = () => {
      restoreDestroySoon(socket);
      if (req.complete || socket.destroyed || open.size >= maxConnections) {
        socket.destroySoon();
        return;
      }
      socket.end();
      detachParser(socket);
      socket.once('end', () => socket.destroy());
      discard(socket, socket, () => socket.destroy());
    };
    // Runs after Node's own listener, which closes the connection or keeps it for the next request.
    res.once('finish', () => {
      restoreDestroySoon(socket);
      const staysOpen = socket.writable && !req.complete && !req.destroyed;
      if (staysOpen && open.size < maxConnections) discard(req, socket, () => socket.destroy());
    });
  };

  const overHttp2 = (req: HostRequest, res: HostResponse): void => {
    const { stream } = res;
    // The stream, because the response emits its end only when the stream has closed, which this
    // code delays.
    stream?.once('finish', () => {
      if (req.complete) return;
      // No error: the reply is complete, and only the rest of the body is unwanted.
      const stop = (): void => stream.close(noError);
      if (open.size < maxConnections) discard(req, req, stop);
      else stop();
    });
  };

  return {
    expectReply: (req, res) => {
      if (req.complete !== false) return;
      if (res.stream === undefined) overHttp1(req, res);
      else overHttp2(req, res);
    },
    size: () => open.size,
  };
}

/** `NGHTTP2_NO_ERROR` */
const noError = 0;

/** Removes the override of Node's method. */
function restoreDestroySoon(socket: Socket): void {
  Reflect.deleteProperty(socket, 'destroySoon');
}

/**
 * Detaches Node's parser, so that a request after a connection's last reply does not run. Listening
 * for data makes Node pass the socket's bytes to its listeners, one of which is the parser's. The
 * socket believes that it is reading, because the parser stopped it internally; an empty chunk ends
 * that read, and the next one starts.
 */
function detachParser(socket: Socket): void {
  socket.on('data', () => {});
  socket.removeAllListeners('data');
  // Otherwise the parser would take the end for an incomplete request, and report an error to the
  // host.
  socket.removeAllListeners('end');
  socket.push('');
}
