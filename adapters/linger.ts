/**
 * Makes sure that a reply arrives which was given before the request's body had been received, such
 * as a 401 or a 413. Where a server closes a connection with bytes of the body still unread, the
 * operating system sends a reset, and a caller that sends its body to the end before it reads loses
 * the reply. So the connection stays open for a while and its bytes are discarded, as nginx does
 * (`lingering_close`). Not an entry point.
 */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Clock } from '../src/clock.ts';
import type { HostRequest, HostResponse } from './host.ts';

/** How long, and for how many connections, bytes are discarded. */
export interface LingerLimits {
  /** Without a byte. */
  readonly silenceMs: number;
  readonly totalMs: number;
  readonly maxBytes: number;
  /** At once; what is beyond is left to Node, which closes at once where the reply says `close`. */
  readonly maxConnections: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'every'>;
}

/** One adapter's connections whose callers are still sending. */
export interface Lingering {
  /** Called right before a reply is written. Costs nothing where the whole body has come. */
  expectReply(req: HostRequest, res: HostResponse): void;
  /** How many connections there are at the moment. */
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

/** What is being discarded, and since when. */
interface Discarding {
  readonly startedMs: number;
  lastByteMs: number;
  bytes: number;
  readonly giveUp: () => void;
}

/** Nothing is discarded yet. */
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
   * Discards what comes from `source` until that ends, its connection closes, or a limit is
   * reached. Node does not close a request that was answered before its connection broke.
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
    // Node hides the rest of a body from us if nobody has begun to read it when the reply ends.
    req.resume();
    // Node calls this once a reply that ends its connection has gone out.
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
    // After Node's own listener, which closes the connection or keeps it for the next request.
    res.once('finish', () => {
      restoreDestroySoon(socket);
      const isKept = socket.writable && !req.complete && !req.destroyed;
      if (isKept && open.size < maxConnections) discard(req, socket, () => socket.destroy());
    });
  };

  const overHttp2 = (req: HostRequest, res: HostResponse): void => {
    const { stream } = res;
    // The response itself tells of its end only when the stream has closed, which waits for us.
    stream?.once('finish', () => {
      if (req.complete) return;
      // Without an error: the reply is whole, and only the rest of the body is unwanted.
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

/** Takes our own method away again, which hides that of Node. */
function restoreDestroySoon(socket: Socket): void {
  Reflect.deleteProperty(socket, 'destroySoon');
}

/**
 * Keeps what still comes from Node's parser: a request that stands behind a connection's last reply
 * must not run. Listening for data makes Node give the socket's bytes back to its listeners, of
 * which the parser's own is one. The socket takes itself for one that is reading, because the
 * parser has stopped it behind its back; an empty chunk ends that reading, and the next one starts.
 */
function detachParser(socket: Socket): void {
  socket.on('data', () => {});
  socket.removeAllListeners('data');
  // The parser would take the end for a request that is cut, and tell the host of an error.
  socket.removeAllListeners('end');
  socket.push('');
}
