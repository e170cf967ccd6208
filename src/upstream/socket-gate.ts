/**
 * Holds back the bytes of a socket without pausing its parser: a paused undici parser fails an
 * assertion, uncaught, if the upstream closes meanwhile (nodejs/undici#5360, in all of 7).
 */
import type { Socket } from 'node:net';

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
