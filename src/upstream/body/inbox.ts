/**
 * Buffers the body of one upstream response between undici, which pushes it, and its reader. Small
 * amounts that arrive early are kept; the rest is held back at the socket.
 */

import type { Socket } from 'node:net';
import { ChunkBuffer } from '../../bytes/chunk-buffer.ts';
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';

/** Buffers a little until a reader is attached, then passes everything through. */
export interface BodyInbox {
  readonly body: UpstreamBody;
  write(chunk: Uint8Array): void;
  end(): void;
  fail(error: Error): void;
}

/** The number of unread bytes at which the socket is paused. */
const maxUnreadBytes = 64 * 1024;

export function bodyInbox(gate: SocketGate, abortCall: () => void): BodyInbox {
  const waiting = new ChunkBuffer();
  let sink: ByteSink | undefined;
  let state: 'open' | 'ended' | 'aborted' | Error = 'open';
  let paused = false;

  const finish = (): void => {
    gate.release();
    if (state === 'ended') sink?.end();
    else if (typeof state !== 'string') sink?.fail(state);
  };

  const body: UpstreamBody = {
    takeWhole: (limit) => {
      if (state !== 'ended' || sink !== undefined || waiting.byteLength() > limit) return undefined;
      return waiting.join();
    },
    start: (target) => {
      sink = target;
      paused = false;
      // Written one by one, because the reader may act on the first chunk before it sees the
      // second.
      for (const chunk of waiting.take()) {
        // The reader may have aborted meanwhile.
        if (state !== 'aborted') target.write(chunk);
      }
      if (state !== 'open') finish();
      // The reader may already have asked for a pause.
      else if (!paused) gate.open();
    },
    pause: () => {
      paused = true;
      if (state === 'open') gate.close();
    },
    resume: () => {
      if (!paused) return;
      paused = false;
      // After the end of the body its socket may serve another call, which this one must not
      // resume.
      if (state === 'open') gate.open();
    },
    abort: () => {
      if (state !== 'open') return;
      state = 'aborted';
      gate.release();
      abortCall();
    },
  };

  return {
    body,
    write: (chunk) => {
      if (sink !== undefined) {
        sink.write(chunk);
        return;
      }
      waiting.add(chunk);
      paused = waiting.byteLength() > maxUnreadBytes;
      if (paused) gate.close();
    },
    end: () => {
      if (state !== 'open') return;
      state = 'ended';
      finish();
    },
    fail: (error) => {
      if (state !== 'open') return;
      state = error;
      finish();
    },
  };
}

/** Controls whether one socket's bytes reach its parser. */
export interface SocketGate {
  /** Reads return nothing: bytes stay in the socket, and TCP backpressure holds the rest. */
  close(): void;
  /** Resumes reading on the next tick, because the parser may be running in this one. */
  open(): void;
  /** Lets later reads through without triggering one: the call that closed the gate has ended. */
  release(): void;
}

export interface SocketGates {
  install(socket: Socket): void;
  /** Of the socket that was read last: while a parser runs, the one that it is parsing. */
  current(): SocketGate;
}

/**
 * Holds bytes back without pausing the parser: a paused undici parser fails an assertion, uncaught,
 * if the upstream closes meanwhile (nodejs/undici#5360, in all of 7).
 */
export function socketGates(): SocketGates {
  let current: SocketGate = openGate;
  return {
    install: (socket) => {
      const read = socket.read;
      let isClosed = false;
      const gate: SocketGate = {
        close: () => {
          isClosed = true;
        },
        open: () => {
          if (!isClosed) return;
          isClosed = false;
          process.nextTick(() => socket.emit('readable'));
        },
        release: () => {
          isClosed = false;
        },
      };
      socket.read = (size) => {
        if (isClosed) return null;
        current = gate;
        return read.call(socket, size);
      };
    },
    current: () => current,
  };
}

const openGate: SocketGate = { close: () => {}, open: () => {}, release: () => {} };
