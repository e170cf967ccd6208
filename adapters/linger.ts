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

/** A connection whose bytes are discarded. */
interface Discarding {
  readonly startedMs: number;
  lastByteMs: number;
  bytes: number;
  readonly giveUp: () => void;
}

/** Starts without connections. */
export function lingering(limits: Partial<LingerLimits> = {}): Lingering {
  const connections = discardedConnections({ ...defaults, ...limits });
  return {
    expectReply: (req, res) => {
      if (req.complete !== false) return;
      if (res.stream === undefined) lingerOverHttp1(req, res, connections);
      else lingerOverHttp2(req, res, connections);
    },
    size: connections.size,
  };
}

/** The connections whose bytes are discarded, within the limits. */
interface DiscardedConnections {
  size(): number;
  isFull(): boolean;
  /**
   * Discards data from `source` until it ends, its connection closes, or a limit is reached, which
   * calls `stop`. The connection is watched too, because Node does not close a request that was
   * answered before its connection failed.
   */
  discard(source: Readable, connection: Readable, stop: () => void): void;
}

function discardedConnections(limits: LingerLimits): DiscardedConnections {
  const { maxBytes, maxConnections, clock } = limits;
  const open = new Set<Discarding>();
  let stopChecks: (() => void) | undefined;
  return {
    size: () => open.size,
    isFull: () => open.size >= maxConnections,
    discard: (source, connection, stop) => {
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
      stopChecks ??= clock.every(checkMs, () => giveUpOverdue(open, limits));
      source.on('data', count).on('end', end);
      connection.on('close', end);
      source.resume();
    },
  };
}

function giveUpOverdue(
  open: ReadonlySet<Discarding>,
  { silenceMs, totalMs, clock }: LingerLimits,
): void {
  const nowMs = clock.monotonicMs();
  for (const { lastByteMs, startedMs, giveUp } of open) {
    if (nowMs - lastByteMs >= silenceMs || nowMs - startedMs >= totalMs) giveUp();
  }
}

function lingerOverHttp1(
  req: HostRequest,
  res: HostResponse,
  connections: DiscardedConnections,
): void {
  const { socket } = req;
  // Resumed, because Node dumps the rest of a body that no one has begun to read when the reply
  // ends.
  req.resume();
  // Node calls this when a reply that ends its connection has been sent.
  socket.destroySoon = () => {
    restoreDestroySoon(socket);
    if (req.complete || socket.destroyed || connections.isFull()) {
      socket.destroySoon();
      return;
    }
    socket.end();
    detachParser(socket);
    socket.once('end', () => socket.destroy());
    connections.discard(socket, socket, () => socket.destroy());
  };
  // Runs after Node's own listener, which closes the connection or keeps it for the next request.
  res.once('finish', () => {
    restoreDestroySoon(socket);
    const staysOpen = socket.writable && !req.complete && !req.destroyed;
    if (!staysOpen || connections.isFull()) return;
    connections.discard(req, socket, () => socket.destroy());
  });
}

function lingerOverHttp2(
  req: HostRequest,
  { stream }: HostResponse,
  connections: DiscardedConnections,
): void {
  // The stream, because the response emits its end only when the stream has closed, which this
  // code delays.
  stream?.once('finish', () => {
    if (req.complete) return;
    // No error: the reply is complete, and only the rest of the body is unwanted.
    const stop = (): void => stream.close(noError);
    if (connections.isFull()) stop();
    else connections.discard(req, req, stop);
  });
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
