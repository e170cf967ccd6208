/**
 * Pushes a reply from the upstream's socket into the caller's, the chunks of one turn of the event
 * loop as one write, and keeps the back-pressure between them. No `Readable` lies between, which
 * would cost three relays.
 */
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers';
import type { ReplyBody } from '../../http.ts';
import type { UpstreamBody } from '../../ports/upstream-client.ts';
import { joined } from '../sse.ts';

/**
 * What happens to a reply on its way, and what its end says. Synchronous; each ending is asked for
 * once.
 */
export interface ReplyPipe {
  /** What goes on of the chunks of one turn. What it throws ends the reply as `fail` does. */
  write(chunk: Uint8Array): Uint8Array;
  /** Asked after every write: a closing if the reply is over although the upstream is not. */
  over(): Closing | undefined;
  /** The upstream has ended. */
  end(): Closing;
  /** The upstream broke off. */
  fail(error: unknown): Closing;
  /** Told before the first byte goes out: how to leave a caller that takes nothing any more. */
  onStall(giveUp: () => void): void;
  /** Told before the first byte goes out: what to do when the reply has been quiet for long. */
  onQuiet(keepAlive: () => void): void;
  /** What keeps the connection alive; undefined where nothing may be said. */
  keepAlive(isFirst: boolean): Uint8Array | undefined;
  /**
   * The caller is gone, or as good as: `drain` reads the upstream to its end for nobody, `read_on`
   * a little, for its usage.
   */
  left(reason: 'caller_left' | 'caller_stalled'): 'abort' | 'drain' | 'read_on';
  /** The reply did not end while it was read on. */
  abandoned(): void;
}

/** The last bytes of a reply, and whether it ends cleanly or is cut. */
export interface Closing {
  /** Each in a write and a turn of the event loop of its own. */
  readonly writes: readonly Uint8Array[];
  /** Destroys the connection: nothing else can say that the reply is not whole. */
  readonly cut: boolean;
}

/** A reply that streams past. `begun` is its beginning, which has gone through the pipe already. */
export function pushedReply(body: UpstreamBody, pipe: ReplyPipe, begun: Uint8Array): ReplyBody {
  return {
    sendTo: (out) => push(body, pipe, writableOutlet(out), begun),
    readable: () => {
      const outlet = readableOutlet();
      push(body, pipe, outlet, begun);
      return outlet.stream;
    },
  };
}

/** Where a reply goes. */
interface Outlet {
  /** False asks for a pause until the drain. */
  write(bytes: Uint8Array): boolean;
  end(bytes: Uint8Array | undefined): void;
  destroy(): void;
  onDrain(listener: () => void): void;
  /** Calls back when the other side goes away; at once if it has gone already. */
  onLeave(listener: () => void): void;
}

/** How long an upstream may take to end by itself, once the reply it made is over (FAULTS F45). */
const lingerMs = 1_000;
/** How long a stream is read for its usage, once its caller has gone. */
const readOnMs = 2_000;
/** What an upstream may still send meanwhile; nobody gets it. */
const lingerBytes = 64 * 1024;

/**
 * More is passed on within the turn, in which a socket may be read for megabytes. A little less
 * than it gives at once: such a piece of a picture is not copied to be joined with others.
 */
const mostGatheredBytes = 60 * 1024;

function push(body: UpstreamBody, pipe: ReplyPipe, out: Outlet, begun: Uint8Array): void {
  let linger: Lingering | undefined;
  /** The caller has gone, and the usage is waited for. */
  let readOn: Lingering | undefined;
  let hasWritten = false;
  /** Something has been written since the reply was last looked at. */
  let isLively = true;
  /** The chunks of this turn; undefined until the first of them, which schedules the flush. */
  let gathered: Uint8Array[] | undefined;
  let gatheredBytes = 0;
  /** The caller has not taken yet what was written. */
  let isFull = false;
  let over = false;
  let gone = false;
  let hasEnded = false;

  const close = ({ writes, cut }: Closing): void => {
    over = true;
    gathered = undefined;
    readOn?.end();
    if (!gone) writeInTurns(out, writes, cut);
  };

  const send = (bytes: Uint8Array): void => {
    hasWritten = true;
    isLively = true;
    if (out.write(bytes)) return;
    isFull = true;
    body.pause();
  };

  const keepAlive = (): void => {
    if (over || gone || isFull) return;
    const bytes = isLively ? undefined : pipe.keepAlive(!hasWritten);
    if (bytes !== undefined) send(bytes);
    isLively = false;
  };

  /** Passes bytes on. False if that ended the reply; the body lingers then, or is aborted. */
  const pass = (chunk: Uint8Array, through: ReplyPipe['write']): boolean => {
    let closing: Closing | undefined;
    try {
      const bytes = through(chunk);
      if (bytes.length > 0 && !gone) send(bytes);
      closing = pipe.over();
    } catch (error) {
      body.abort();
      close(pipe.fail(error));
      return false;
    }
    if (closing === undefined) return true;
    close(closing);
    if (!hasEnded) linger = lingering(lingerMs, () => body.abort());
    return false;
  };

  const flush = (): void => {
    const chunks = gathered;
    gathered = undefined;
    gatheredBytes = 0;
    if (over || chunks === undefined || chunks.length === 0) return;
    // A body that was paused for the caller has to flow again to come to its end.
    if (!pass(joined(chunks), pipe.write) && linger?.lasts()) body.resume();
  };

  const leave = (reason: 'caller_left' | 'caller_stalled'): void => {
    if (over || gone) return;
    gone = true;
    // What has come tells how far the reply was, though nobody gets it.
    flush();
    if (over) return;
    const what = pipe.left(reason);
    if (what === 'read_on') readOn = lingering(readOnMs, abandon);
    if (what !== 'abort') return body.resume();
    over = true;
    body.abort();
  };

  const abandon = (): void => {
    if (over) return;
    flush();
    if (over) return;
    over = true;
    pipe.abandoned();
    body.abort();
  };

  out.onDrain(() => {
    isFull = false;
    body.resume();
  });
  out.onLeave(() => leave('caller_left'));
  pipe.onStall(() => {
    leave('caller_stalled');
    out.destroy();
  });
  pipe.onQuiet(keepAlive);
  if (over) return;
  // The status line goes out with the first byte.
  if (begun.length === 0) {
    isLively = false;
    keepAlive();
  }
  // What began the reply may have ended it: an error, or the stream's own last event.
  if (!pass(begun, asItIs) && !linger?.lasts()) return;
  // What has come meanwhile goes out together with the beginning.
  gathered = [];
  body.start({
    write: (chunk) => {
      if (over) return linger?.discard(chunk);
      readOn?.discard(chunk);
      if (over) return;
      gatheredBytes += chunk.length;
      if (gathered !== undefined) gathered.push(chunk);
      else {
        gathered = [chunk];
        // At the turn's end, when all sockets have been read: all streams are written together.
        setImmediate(flush);
      }
      if (gatheredBytes > mostGatheredBytes) flush();
    },
    end: () => {
      hasEnded = true;
      flush();
      if (over) return linger?.end();
      try {
        close(pipe.end());
      } catch (error) {
        close(pipe.fail(error));
      }
    },
    fail: (error) => {
      hasEnded = true;
      flush();
      if (over) return linger?.end();
      close(pipe.fail(error));
    },
  });
  flush();
  // To start is to flow, though what the reply began with may have been too much already.
  if (isFull && !over) body.pause();
}

function asItIs(chunk: Uint8Array): Uint8Array {
  return chunk;
}

/** A time in which a body may still come to its end. */
interface Lingering {
  lasts(): boolean;
  /** Counts bytes that nobody gets. */
  discard(chunk: Uint8Array): void;
  /** The body has ended. */
  end(): void;
}

/** From now on the body has a moment to end by itself; after that or too many bytes it goes. */
function lingering(forMs: number, giveUpBody: () => void): Lingering {
  let leftBytes = lingerBytes;
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
    lasts: () => timer !== undefined,
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
    // A wrapper of the host's threw. The reply can't be ended through it, and nobody else is here
    // to catch it.
  }
  out.destroy();
}

function writableOutlet(out: Writable): Outlet {
  return {
    write: (bytes) => {
      if (out.destroyed) return true;
      try {
        // A host's wrapper may return nothing: only `false` asks for a pause, as in `pipe`.
        return out.write(bytes) !== false;
      } catch {
        // Nor may what it throws look like the upstream's failure: nobody takes this reply.
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
    onLeave: (listener) => {
      // An HTTP/2 stream that its caller cancels reports `finish` first; `close` is the one sure
      // sign.
      if (out.destroyed) listener();
      else out.once('close', listener);
      out.on('error', listener);
    },
  };
}

/** Ends a reply so that no caller can take it for whole; adapters have their own of these. */
function cutOff(out: Writable): void {
  if ('stream' in out && out.stream !== undefined) {
    // HTTP/2 tells its caller NO_ERROR, a whole reply, of a stream that is destroyed without one.
    out.destroy(new Error('The reply was cut.'));
    return;
  }
  // Without chunks, for HTTP/1.0, a reply is whole wherever the connection ends; unless by a reset.
  if (out instanceof ServerResponse && !out.chunkedEncoding) resetSocket(out.socket);
  out.destroy();
}

function resetSocket(socket: Socket | null): void {
  try {
    socket?.resetAndDestroy();
  } catch {
    // Not over TLS, where an end without its own farewell is a break already.
  }
}

function readableOutlet(): Outlet & { readonly stream: Readable } {
  let drain: () => void = () => {};
  let leave: () => void = () => {};
  const stream = new Readable({
    read: () => drain(),
    destroy: (error, done) => {
      leave();
      done(error);
    },
  });
  // A host may destroy it with an error of its own, which would end the process if nobody listened.
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
    onLeave: (listener) => {
      leave = listener;
    },
  };
}
