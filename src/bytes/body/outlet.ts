/** Where a reply is written to: a host's response, or a stream that the host sends itself. */
import { Readable, type Writable } from 'node:stream';
import { cutOff } from '../../host-streams.ts';

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
