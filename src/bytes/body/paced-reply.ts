/**
 * Sends a whole reply only as fast as its caller reads, to the response of a host or to a stream
 * that the host sends itself. Written at once, a reply whose caller does not read would stay in the
 * buffer of the response, where nothing limits how much of it there is, or for how long.
 */

import { Readable, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers';
import { cutOff } from '../../host/streams.ts';
import type { ReplyBody } from '../../http.ts';

/** Replies up to this size need no pacing: they fit into the buffers of a connection. */
export const maxUnpacedBytes: number = 64 * 1024;
const pieceBytes = 64 * 1024;

/** The bytes of a whole reply, in pieces that are made when they are sent. */
export interface ReplyPieces {
  next(): Uint8Array | undefined;
  /** Making a piece takes time, so each is made in a turn of the event loop of its own. */
  readonly isComputed: boolean;
}

/** A whole reply, of which the gateway may cut off what is not written yet. */
export interface PacedReply extends ReplyBody {
  cut(): void;
}

/** Cuts a reply that is in memory into pieces. Keeps its bytes until the last piece is taken. */
export function piecesOf(bytes: Uint8Array): ReplyPieces {
  let left = bytes;
  return {
    isComputed: false,
    next: () => {
      if (left.length === 0) return undefined;
      // A copy, because a piece that waits in a buffer would keep the memory of the whole reply.
      const piece = Buffer.from(left.subarray(0, pieceBytes));
      left = left.subarray(pieceBytes);
      return piece;
    },
  };
}

/**
 * A reply in pieces, which are kept until the last one is written. `advanced`: the caller has read
 * something; `over`, once: the reply is written or its connection closed, and its memory released.
 */
export function pacedReply(
  pieces: ReplyPieces,
  listener: { advanced(): void; over(): void },
): PacedReply {
  let source: ReplyPieces | undefined = pieces;
  let upcoming: Uint8Array | undefined;
  let outlet: Outlet | undefined;

  const end = (): void => {
    if (source === undefined) return;
    source = undefined;
    upcoming = undefined;
    listener.over();
  };
  const cut = (): void => {
    end();
    outlet?.destroy();
  };
  const writeOn = (): void => {
    while (source !== undefined && outlet !== undefined && upcoming !== undefined) {
      const piece = upcoming;
      upcoming = source.next();
      if (upcoming === undefined) return endWith(piece, outlet, cut);
      if (!outlet.write(piece)) return;
      if (source?.isComputed === true) {
        setImmediate(writeOn);
        return;
      }
    }
  };
  const begin = (out: Outlet): void => {
    outlet = out;
    if (source === undefined) return out.destroy();
    out.onDisconnect(end);
    out.onFinish(end);
    out.onDrain(() => {
      if (source === undefined) return;
      listener.advanced();
      writeOn();
    });
    // A caller that has left already has ended it.
    upcoming = source?.next();
    writeOn();
  };
  return { cut, ...replyBody(begin) };
}

function endWith(piece: Uint8Array, out: Outlet, cut: () => void): void {
  try {
    out.end(piece);
  } catch {
    // A wrapper of the host threw, so the reply can't be ended through it.
    cut();
  }
}

function replyBody(begin: (out: Outlet) => void): ReplyBody {
  return {
    sendTo: (out) => begin(writableOutlet(out)),
    readable: () => {
      const out = readableOutlet();
      begin(out);
      return out.stream;
    },
  };
}

export interface Outlet {
  /** Returns false to ask for a pause until the drain event. */
  write(bytes: Uint8Array): boolean;
  end(bytes: Uint8Array | undefined): void;
  destroy(): void;
  onDrain(listener: () => void): void;
  /** Calls back when the other side disconnects; immediately if it already has. */
  onDisconnect(listener: () => void): void;
  onFinish(listener: () => void): void;
}

export function writableOutlet(out: Writable): Outlet {
  return {
    write: (bytes) => {
      if (out.destroyed) return true;
      try {
        // A host's wrapper may return nothing: only `false` asks for a pause, as in `pipe`.
        return out.write(bytes) !== false;
      } catch {
        // An exception of the wrapper must not look like a failure of the upstream, so the reply is
        // cut here.
        cutOff(out);
        return true;
      }
    },
    end: (bytes) => {
      if (out.destroyed) return;
      if (bytes === undefined) out.end();
      else out.end(bytes);
    },
    destroy: () => cutOff(out),
    onDrain: (listener) => {
      out.on('drain', listener);
    },
    onDisconnect: (listener) => {
      // `close`, because an HTTP/2 stream that the caller cancels emits `finish` first.
      if (out.destroyed) listener();
      else out.once('close', listener);
      out.on('error', listener);
    },
    onFinish: (listener) => {
      out.once('finish', listener);
    },
  };
}

/** Writes to a new stream, for a host that sends it itself. */
export function readableOutlet(): Outlet & { readonly stream: Readable } {
  let drain: () => void = () => {};
  let disconnect: () => void = () => {};
  const stream = new Readable({
    read: () => drain(),
    destroy: (error, done) => {
      disconnect();
      done(error);
    },
  });
  // A host may destroy it with an error, which would end the process if there were no listener.
  stream.on('error', () => {});
  return {
    stream,
    write: (bytes) => stream.destroyed || stream.push(bytes),
    end: (bytes) => {
      if (bytes !== undefined) stream.push(bytes);
      stream.push(null);
    },
    destroy: () => {
      stream.destroy();
    },
    onDrain: (listener) => {
      drain = listener;
    },
    onDisconnect: (listener) => {
      disconnect = listener;
    },
    onFinish: (listener) => {
      stream.once('end', listener);
    },
  };
}
