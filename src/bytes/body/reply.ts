/**
 * Pushes a reply from the upstream's socket to the caller's, with back-pressure. The chunks of one
 * turn of the event loop become one write. A `Readable` in between would cost as much as three
 * relays.
 */
import { setImmediate } from 'node:timers';
import type { ReplyBody } from '../../http.ts';
import type { UpstreamBody } from '../../ports/upstream-client.ts';
import { concatBytes, emptyBytes } from '../sse.ts';
import { type Outlet, readableOutlet, writableOutlet } from './paced-reply.ts';

/**
 * Transforms a reply on its way to the caller, and decides how it ends. All methods are
 * synchronous; exactly one of the endings is called, once.
 */
export interface ReplyPipe {
  /** Calls back at the end of the event loop's turn, in which `write` gets its chunks. */
  endOfTurn(flush: () => void): void;
  /** The chunks of one turn are joined. An exception ends the reply as `fail` does. */
  write(chunk: Uint8Array): Uint8Array;
  /** Called after every write. Returns a closing if the reply has ended before its upstream. */
  closingIfOver(): Closing | undefined;
  end(): Closing;
  fail(error: unknown): Closing;
  /** Called before the first byte; `giveUp` disconnects a caller that has stopped reading. */
  onStall(giveUp: () => void): void;
  /**
   * Called before the first byte is sent, with the function to call when the reply has been silent
   * for long, and with one that says whether anything has been sent since it was last asked.
   */
  onQuiet(keepAlive: () => void, hasSent: () => boolean): void;
  /** The bytes to send to keep the connection alive; undefined if the format has none. */
  keepAlive(isFirst: boolean): Uint8Array | undefined;
  /**
   * The caller has disconnected or stopped reading. `drain` reads the upstream to its end and
   * discards it; `read_on` reads a little more, for the usage.
   */
  disconnected(reason: 'caller_left' | 'caller_stalled'): 'abort' | 'drain' | 'read_on';
  /** The reply did not end within the `read_on` period. */
  abandoned(): void;
}

export interface Closing {
  /** Each is written in a separate turn of the event loop. */
  readonly writes: readonly Uint8Array[];
  /** Destroys the connection: the only way to tell the caller that the reply is incomplete. */
  readonly cut: boolean;
  /** Resolves when the bytes may be sent; it never rejects. Undefined if they may be at once. */
  readonly ready?: Promise<unknown> | undefined;
}

/** A streamed reply. `begun` is its beginning, which has been passed through the pipe. */
export function pushedReply(
  body: UpstreamBody,
  pipe: ReplyPipe,
  begun: readonly Uint8Array[],
): ReplyBody {
  return {
    sendTo: (out) => pushReply(body, pipe, writableOutlet(out), begun),
    readable: () => {
      const outlet = readableOutlet();
      pushReply(body, pipe, outlet, begun);
      return outlet.stream;
    },
  };
}

/**
 * How long an upstream may take to end its body after the reply has ended, so that its connection
 * can be reused.
 */
const gracePeriodMs = 1_000;
/** How long a stream is read for its usage after its caller has disconnected. */
const usageWaitMs = 2_000;
const gracePeriodBytes = 64 * 1024;

/**
 * Above this size bytes are passed on within the turn, in which a socket may deliver megabytes.
 * Slightly less than one read of a socket, so that a full read of an image is not copied for
 * joining.
 */
const maxGatheredBytes = 60 * 1024;

function pushReply(
  body: UpstreamBody,
  pipe: ReplyPipe,
  out: Outlet,
  begun: readonly Uint8Array[],
): void {
  let grace: GracePeriod | undefined;
  let usageWait: GracePeriod | undefined;
  let hasWritten = false;
  let hasWrittenSince = false;
  /** The chunks of this turn; undefined before the first, which schedules the flush. */
  let gathered: Uint8Array[] | undefined;
  let gatheredBytes = 0;
  let isFull = false;
  let isOver = false;
  let isDisconnected = false;
  let hasEnded = false;

  const close = ({ writes, cut, ready }: Closing): void => {
    isOver = true;
    gathered = undefined;
    usageWait?.end();
    if (isDisconnected) return;
    if (ready === undefined) writeInTurns(out, writes, cut);
    else void ready.then(() => writeInTurns(out, writes, cut));
  };

  const send = (bytes: Uint8Array): void => {
    hasWritten = true;
    hasWrittenSince = true;
    if (out.write(bytes)) return;
    isFull = true;
    body.pause();
  };

  const keepAlive = (): void => {
    if (isOver || isDisconnected || isFull) return;
    const bytes = pipe.keepAlive(!hasWritten);
    if (bytes !== undefined) send(bytes);
  };

  const hasSent = (): boolean => {
    const sent = hasWrittenSince;
    hasWrittenSince = false;
    return sent;
  };

  /** Returns false if that ended the reply: the upstream gets a grace period, or is aborted. */
  const pass = (chunk: Uint8Array | undefined): boolean => {
    let closing: Closing | undefined;
    try {
      const bytes = chunk === undefined ? emptyBytes : pipe.write(chunk);
      if (bytes.length > 0 && !isDisconnected) send(bytes);
      closing = pipe.closingIfOver();
    } catch (error) {
      body.abort();
      close(pipe.fail(error));
      return false;
    }
    if (closing === undefined) return true;
    close(closing);
    if (!hasEnded) grace = gracePeriod(gracePeriodMs, () => body.abort());
    return false;
  };

  const flush = (): void => {
    const chunks = gathered;
    gathered = undefined;
    gatheredBytes = 0;
    if (isOver || chunks === undefined || chunks.length === 0) return;
    // A body that was paused for the caller must resume to reach its end.
    if (!pass(concatBytes(chunks)) && grace?.isRunning()) body.resume();
  };

  const disconnect = (reason: 'caller_left' | 'caller_stalled'): void => {
    if (isOver || isDisconnected) return;
    isDisconnected = true;
    // Passed through the pipe, although not sent, because it shows how far the reply got.
    flush();
    if (isOver) return;
    const what = pipe.disconnected(reason);
    if (what === 'read_on') usageWait = gracePeriod(usageWaitMs, abandon);
    if (what !== 'abort') return body.resume();
    isOver = true;
    body.abort();
  };

  const abandon = (): void => {
    if (isOver) return;
    flush();
    if (isOver) return;
    isOver = true;
    pipe.abandoned();
    body.abort();
  };

  out.onDrain(() => {
    isFull = false;
    body.resume();
  });
  out.onDisconnect(() => disconnect('caller_left'));
  pipe.onStall(() => {
    disconnect('caller_stalled');
    out.destroy();
  });
  pipe.onQuiet(keepAlive, hasSent);
  if (isOver) return;
  // The status line is sent with the first byte.
  if (begun.length === 0) keepAlive();
  else if (!isDisconnected) for (const piece of begun) send(piece);
  // The beginning may already end the reply: an error, or the last event of the stream.
  if (!pass(undefined) && !grace?.isRunning()) return;
  // Chunks that arrived meanwhile are written together with the beginning.
  gathered = [];
  body.start({
    write: (chunk) => {
      if (isOver) return grace?.discard(chunk);
      usageWait?.discard(chunk);
      if (isOver) return;
      // A full read is not copied to be joined with a small one before it.
      if (gatheredBytes > 0 && chunk.length > maxGatheredBytes) {
        flush();
        if (isOver) return grace?.discard(chunk);
      }
      gatheredBytes += chunk.length;
      if (gathered !== undefined) gathered.push(chunk);
      else {
        gathered = [chunk];
        // At the end of the turn, after all sockets have been read, so that all streams are written
        // together.
        pipe.endOfTurn(flush);
      }
      if (gatheredBytes > maxGatheredBytes) flush();
    },
    end: () => {
      hasEnded = true;
      flush();
      if (isOver) return grace?.end();
      try {
        close(pipe.end());
      } catch (error) {
        close(pipe.fail(error));
      }
    },
    fail: (error) => {
      hasEnded = true;
      flush();
      if (isOver) return grace?.end();
      close(pipe.fail(error));
    },
  });
  flush();
  // Starting the body resumes it, although the beginning may already have filled the caller's
  // socket.
  if (isFull && !isOver) body.pause();
}

interface GracePeriod {
  isRunning(): boolean;
  discard(chunk: Uint8Array): void;
  end(): void;
}

/** Calls `giveUpBody` after that time or too many bytes, unless the body ends by itself. */
function gracePeriod(forMs: number, giveUpBody: () => void): GracePeriod {
  let leftBytes = gracePeriodBytes;
  const end = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  const giveUp = (): void => {
    end();
    giveUpBody();
  };
  let timer: NodeJS.Timeout | undefined = setTimeout(giveUp, forMs).unref();
  return {
    isRunning: () => timer !== undefined,
    discard: (chunk) => {
      leftBytes -= chunk.length;
      if (leftBytes < 0 && timer !== undefined) giveUp();
    },
    end,
  };
}

function writeInTurns(out: Outlet, writes: readonly Uint8Array[], cut: boolean): void {
  const [first, ...rest] = writes;
  try {
    if (rest.length > 0 && first !== undefined) {
      out.write(first);
      setImmediate(() => writeInTurns(out, rest, cut));
      return;
    }
    if (!cut) return out.end(first);
    if (first !== undefined) out.write(first);
  } catch {
    // A wrapper of the host threw: the reply can't be ended through it, and there is no caller of
    // this function to report the error to.
  }
  out.destroy();
}
