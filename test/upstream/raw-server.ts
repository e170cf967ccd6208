/** A TCP server that sends exactly the bytes a test gives it, and exposes the bytes it received. */
import { createServer, type Socket } from 'node:net';
import { listening } from '../support/servers.ts';

/** One connection, seen from the server. */
export interface Conversation {
  readonly socket: Socket;
  /** The number of the connection, from 1. */
  readonly connectionId: number;
  /** The next complete request, with its body. */
  request(): Promise<Buffer>;
  /** Writes each piece in a separate turn of the event loop. */
  send(...pieces: readonly (string | Uint8Array)[]): Promise<void>;
}

/** A running server. */
export interface RawServer {
  /** `http://127.0.0.1:49152` */
  readonly origin: string;
  /** The number of connections it has accepted. */
  readonly connections: number;
  close(): Promise<void>;
}

/** Starts a server that runs the script on each connection. */
export async function rawServer(
  script: (conversation: Conversation) => Promise<void> | void,
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {
      // Half of the scripts reset the connection on purpose.
    });
    socket.once('close', () => sockets.delete(socket));
    void script(conversation(socket, connections));
  });
  const origin = await listening(server);
  return {
    origin,
    get connections() {
      return connections;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function conversation(socket: Socket, connectionId: number): Conversation {
  let received = Buffer.alloc(0);
  let onChange: () => void = () => {};
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    onChange();
  });
  const more = (): Promise<void> =>
    new Promise((resolve) => {
      onChange = resolve;
    });

  return {
    socket,
    connectionId,
    request: async () => {
      let length = requestLength(received);
      while (length === undefined || received.length < length) {
        await more();
        length = requestLength(received);
      }
      const request = received.subarray(0, length);
      received = received.subarray(length);
      return request;
    },
    send: async (...pieces) => {
      for (const piece of pieces) {
        if (!socket.writable) return;
        await new Promise<void>((resolve) => {
          socket.write(piece, () => setImmediate(resolve));
        });
      }
    },
  };
}

/** The length of head and body together; undefined until the head is complete. */
function requestLength(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = bytes.subarray(0, headEnd).toString('latin1');
  const length = /^content-length: (\d+)$/im.exec(head)?.[1] ?? '0';
  return headEnd + 4 + Number(length);
}
