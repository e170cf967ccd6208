/**
 * Holds back the bytes of a socket without pausing its parser: a paused undici parser fails an
 * assertion, uncaught, if the upstream closes meanwhile (nodejs/undici#5360, in all of 7).
 */
import type { Socket } from 'node:net';

/** Controls whether one socket's bytes reach its parser. */
export interface SocketGate {
  /**
   * From now on reads return nothing: bytes stay in the socket's buffer, and TCP backpressure holds
   * the rest.
   */
  close(): void;
  /** Resumes reading on the next tick, because the parser may be running in this one. */
  open(): void;
  /** Lets later reads through without triggering one: the call that closed the gate has ended. */
  release(): void;
}

/** The gates of one client's sockets. */
export interface SocketGates {
  /** Installs a gate in a new socket. */
  install(socket: Socket): void;
  /**
   * The gate of the socket that was read last. While a parser runs, that is the socket it is
   * parsing.
   */
  current(): SocketGate;
}

/** Starts with no sockets. */
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
