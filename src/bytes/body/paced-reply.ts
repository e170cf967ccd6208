/**
 * Sends a whole reply only as fast as its caller reads. Written at once, a reply whose caller does
 * not read would stay in the response's buffer, where nothing limits how much of it there is, or
 * for how long.
 */
import type { ReplyBody } from '../../http.ts';
import { type Outlet, readableOutlet, writableOutlet } from './outlet.ts';

/** Replies up to this size need no pacing: they fit into the buffers of a connection. */
export const maxUnpacedBytes: number = 64 * 1024;
const pieceBytes = 64 * 1024;

/** What is reported while a paced reply is sent. */
export interface SendingListener {
  /** The caller has read something. */
  advanced(): void;
  /**
   * The reply has been written, or its connection is closed. Its memory is released. Called once.
   */
  over(): void;
}

/** A whole reply, of which the gateway may cut off what is not written yet. */
export interface PacedReply extends ReplyBody {
  cut(): void;
}

/** A reply in pieces that keeps `bytes` until the last one is written. */
export function pacedReply(bytes: Uint8Array, listener: SendingListener): PacedReply {
  let left: Uint8Array = bytes;
  let outlet: Outlet | undefined;
  let isOver = false;

  const end = (): void => {
    if (isOver) return;
    isOver = true;
    left = nothing;
    listener.over();
  };
  const cut = (): void => {
    end();
    outlet?.destroy();
  };
  const writeOn = (): void => {
    while (!isOver && outlet !== undefined && left.length > 0) {
      // A copy, because a piece that waits in a buffer would keep the memory of the whole reply.
      const piece = Buffer.from(left.subarray(0, pieceBytes));
      left = left.subarray(pieceBytes);
      if (left.length === 0) endWith(piece, outlet, cut);
      else if (!outlet.write(piece)) return;
    }
  };
  const begin = (out: Outlet): void => {
    outlet = out;
    if (isOver) return out.destroy();
    watch(out, end, () => {
      if (isOver) return;
      listener.advanced();
      writeOn();
    });
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

const nothing = new Uint8Array(0);
