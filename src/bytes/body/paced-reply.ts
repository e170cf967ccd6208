/**
 * Sends a whole reply only as fast as its caller reads. Written at once, a reply whose caller does
 * not read would stay in the response's buffer, where nothing limits how much of it there is, or
 * for how long.
 */
// Imported, because a host's tests may replace the global timers with fakes.
import { setImmediate } from 'node:timers';
import type { ReplyBody } from '../../http.ts';
import { type Outlet, readableOutlet, writableOutlet } from './outlet.ts';

/** Replies up to this size need no pacing: they fit into the buffers of a connection. */
export const maxUnpacedBytes: number = 64 * 1024;
const pieceBytes = 64 * 1024;

/** The bytes of a whole reply, in pieces that are made when they are sent. */
export interface ReplyPieces {
  next(): Uint8Array | undefined;
  /** Making a piece takes time, so each is made in a turn of the event loop of its own. */
  readonly isComputed: boolean;
}

export interface SendingListener {
  /** The caller has read something. */
  advanced(): void;
  /** The reply is written or its connection closed; its memory is released. Called once. */
  over(): void;
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

/** A reply in pieces, which are kept until the last one is written. */
export function pacedReply(pieces: ReplyPieces, listener: SendingListener): PacedReply {
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
    watch(out, end, () => {
      if (source === undefined) return;
      listener.advanced();
      writeOn();
    });
    upcoming = source.next();
    writeOn();
  };
  return { cut, ...replyBody(begin) };
}

function watch(out: Outlet, onEnd: () => void, onDrain: () => void): void {
  out.onDisconnect(onEnd);
  out.onFinish(onEnd);
  out.onDrain(onDrain);
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
