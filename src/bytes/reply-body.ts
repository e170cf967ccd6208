/**
 * Pushes a reply from the upstream's socket into the caller's, the chunks of one tick as one write,
 * and keeps the back-pressure between them. No `Readable` lies between, which would cost three
 * relays.
 */
import { Readable, type Writable } from 'node:stream';
import type { ReplyBody } from '../http.ts';
import type { UpstreamBody } from '../ports/upstream-client.ts';
import { joined } from './sse.ts';

/**
 * What happens to a reply on its way, and what its end says. Synchronous; each ending is asked for
 * once.
 */
export interface ReplyPipe {
  /** What goes on of the chunks of one tick. What it throws ends the reply as `fail` does. */
  write(chunk: Uint8Array): Uint8Array;
  /** Asked after every write: a closing if the reply is over although the upstream is not. */
  over(): Closing | undefined;
  /** The upstream has ended. */
  end(): Closing;
  /** The upstream broke off. */
  fail(error: unknown): Closing;
  /** The caller is gone: `drain` reads the upstream to its end for nobody. */
  left(): 'abort' | 'drain';
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

function push(body: UpstreamBody, pipe: ReplyPipe, out: Outlet, begun: Uint8Array): void {
  let gathered: Uint8Array[] = [];
  let scheduled = false;
  let over = false;
  let gone = false;

  const close = ({ writes, cut }: Closing): void => {
    over = true;
    if (!gone) writeInTurns(out, writes, cut);
  };

  const flush = (): void => {
    scheduled = false;
    if (over || gathered.length === 0) return;
    const chunk = joined(gathered);
    gathered = [];
    try {
      const bytes = pipe.write(chunk);
      if (bytes.length > 0 && !gone && !out.write(bytes)) body.pause();
    } catch (error) {
      body.abort();
      return close(pipe.fail(error));
    }
    const closing = pipe.over();
    if (closing === undefined) return;
    body.abort();
    close(closing);
  };

  out.onDrain(() => body.resume());
  out.onLeave(() => {
    if (over || gone) return;
    gone = true;
    if (pipe.left() === 'drain') return body.resume();
    over = true;
    body.abort();
  });
  if (over) return;
  if (begun.length > 0 && !gone && !out.write(begun)) body.pause();
  // What began the reply may have ended it: an error, or the stream's own last event.
  const closing = pipe.over();
  if (closing !== undefined) {
    body.abort();
    return close(closing);
  }
  body.start({
    write: (chunk) => {
      gathered.push(chunk);
      if (scheduled) return;
      scheduled = true;
      process.nextTick(flush);
    },
    end: () => {
      flush();
      if (!over) close(pipe.end());
    },
    fail: (error) => {
      flush();
      if (!over) close(pipe.fail(error));
    },
  });
}

function writeInTurns(out: Outlet, writes: readonly Uint8Array[], cut: boolean): void {
  const [first, ...rest] = writes;
  if (rest.length > 0 && first !== undefined) {
    out.write(first);
    setImmediate(() => writeInTurns(out, rest, cut));
    return;
  }
  if (!cut) return out.end(first);
  if (first !== undefined) out.write(first);
  out.destroy();
}

function writableOutlet(out: Writable): Outlet {
  return {
    write: (bytes) => out.destroyed || out.write(bytes),
    end: (bytes) => {
      if (out.destroyed) return;
      if (bytes === undefined) out.end();
      else out.end(bytes);
    },
    destroy: () => {
      out.destroy();
    },
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
