/**
 * Holds a socket's bytes back without its parser's knowledge. undici's own pause is an assertion
 * that fails, uncaught, when the upstream closes meanwhile (nodejs/undici#5360, in all of 7).
 */
import type { Socket } from 'node:net';

/** Whether the bytes of one socket go on to its parser. */
export interface SocketGate {
  /** From now on reads find nothing; what has arrived waits, and the network waits behind it. */
  close(): void;
  /** Reading goes on, in a turn of its own: the parser may be at work in this one. */
  open(): void;
  /** Reading may go on when somebody wants to: the call that closed the gate is over. */
  release(): void;
}

/** The gates of one client's sockets. */
export interface SocketGates {
  /** Puts a gate into a fresh socket. */
  fit(socket: Socket): void;
  /** The gate of the socket that was read last: while a parser runs, the one it reads. */
  current(): SocketGate;
}

/** No sockets yet. */
export function socketGates(): SocketGates {
  let current: SocketGate = noGate;
  return {
    fit: (socket) => {
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

const noGate: SocketGate = { close: () => {}, open: () => {}, release: () => {} };
