/**
 * An upstream that runs a script over bare TCP or TLS and controls every byte, every cut and every
 * close.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** One connection, as steps of a script use it. */
export interface Connection {
  readonly socket: Socket;
  /** Reads the head of the next request; its body may not have arrived. */
  head(): Promise<Buffer>;
  /** Reads the next request with its body. */
  request(): Promise<Buffer>;
  /** Counts as a call although no request was read. */
  called(): void;
  /** Signals to the test that the script sends nothing more by itself. */
  stalled(): void;
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>;
}

/** One action of an upstream. */
export type Step = (connection: Connection) => Promise<void> | void;

/**
 * The actions of an upstream on a connection, repeated for as long as the connection is open.
 */
export type Script = readonly Step[];

/** Reads a request with its body. */
export const reads: Step = async ({ request }) => {
  await request();
};

/** Writes the pieces. */
export function sends(...pieces: readonly (string | Uint8Array)[]): Step {
  return async ({ socket }) => {
    for (const piece of pieces) await written(socket, piece);
  };
}

/** Writes one byte at a time, each in its own turn of the event loop. */
export function saysBytewise(text: string | Uint8Array): Step {
  const bytes = Buffer.from(text);
  return sends(...Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1)));
}

/** Waits for a signal of the test. */
export function waitsFor(signal: Promise<unknown>): Step {
  return async () => {
    await signal;
  };
}

/** Sends nothing more until the other side closes. */
export const stalls: Step = async ({ stalled, closed }) => {
  stalled();
  await closed;
};

/** Ends the connection gracefully, and waits until it has closed. */
export const ends: Step = async ({ socket, called, closed }) => {
  called();
  socket.end();
  await closed;
};

/** Resets the connection. */
export const resets: Step = async ({ socket, called, closed }) => {
  called();
  socket.resetAndDestroy();
  await closed;
};

/** A running upstream. */
export interface RawUpstream {
  /** `http://127.0.0.1:49152` */
  readonly origin: string;
  /** Requests whose head was read, and connections that were closed without one. */
  readonly calls: number;
  /** Connections accepted. */
  readonly connections: number;
  /** Connections that are open now. */
  readonly open: number;
  /** Resolves when a script stalls. */
  readonly stalled: Promise<void>;
  /** Resolves when no connection is open. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** How an upstream is reached. */
export interface RawUpstreamOptions {
  /** Uses TLS with the key and certificate of this name in `test/faults/certificates`. */
  readonly certificate?: string | undefined;
}

/** Runs the script on each connection; `scriptAt` receives the server's origin. */
export async function rawUpstream(
  scriptAt: (origin: string) => Script,
  { certificate }: RawUpstreamOptions = {},
): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  let script: Script = [];
  let calls = 0;
  let connections = 0;
  let signalStalled: () => void = () => {};
  let signalIdle: () => void = () => {};
  const stalled = new Promise<void>((resolve) => {
    signalStalled = resolve;
  });

  const server =
    certificate === undefined ? createServer() : createTlsServer(identity(certificate));
  // TLS may fail in the handshake, before there is a connection: the sockets are counted.
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {
      // Expected: half of the scripts reset.
    });
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) signalIdle();
    });
  });
  server.on(certificate === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    const connection = connectionOver(socket, signalStalled, () => {
      calls += 1;
    });
    void play(script, connection);
  });

  const origin = await addressOf(server, certificate === undefined ? 'http' : 'https');
  script = scriptAt(origin);
  return {
    origin,
    get calls() {
      return calls;
    },
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    stalled,
    idle: () =>
      sockets.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            signalIdle = resolve;
          }),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Repeats the script until the connection has closed. */
async function play(script: Script, connection: Connection): Promise<void> {
  const { socket, closed } = connection;
  let isClosed = false;
  const over = closed.then(() => {
    isClosed = true;
  });
  while (!isClosed && socket.writable && script.length > 0) {
    for (const step of script) {
      await Promise.race([step(connection), over]);
      if (isClosed) return;
    }
  }
}

function connectionOver(socket: Socket, stalled: () => void, onCall: () => void): Connection {
  let isCalled = false;
  let received: Buffer = Buffer.alloc(0);
  let onChange: () => void = () => {};
  socket.on('error', () => {
    // An error of the TLS layer; the socket below has its own listener.
  });
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    onChange();
  });
  const more = (): Promise<void> =>
    new Promise((resolve) => {
      onChange = resolve;
    });
  const take = (length: number): Buffer => {
    const taken = received.subarray(0, length);
    received = received.subarray(length);
    return taken;
  };

  /** Waits for a whole request, or for its head only. */
  const read = async (lengthOf: (head: Buffer) => number): Promise<Buffer> => {
    let headEnd = received.indexOf('\r\n\r\n');
    while (headEnd === -1) {
      await more();
      headEnd = received.indexOf('\r\n\r\n');
    }
    isCalled = true;
    onCall();
    const length = lengthOf(received.subarray(0, headEnd + 4));
    while (received.length < length) await more();
    return take(length);
  };

  return {
    socket,
    head: () => read((head) => head.length),
    request: () => read((head) => head.length + contentLengthOf(head)),
    called: () => {
      if (!isCalled) onCall();
      isCalled = true;
    },
    stalled,
    closed: new Promise((resolve) => {
      socket.once('close', () => resolve());
    }),
  };
}

function contentLengthOf(head: Buffer): number {
  return Number(/^content-length: (\d+)\r$/im.exec(head.toString('latin1'))?.[1] ?? '0');
}

/** Resolves once the piece was passed to the system; a broken connection is skipped. */
function written(socket: Socket, piece: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (!socket.writable) return resolve();
    socket.write(piece, () => setImmediate(resolve));
  });
}

function identity(name: string): { readonly key: Buffer; readonly cert: Buffer } {
  const folder = new URL('certificates/', import.meta.url);
  return {
    key: readFileSync(new URL(`${name}.key`, folder)),
    cert: readFileSync(new URL(`${name}.pem`, folder)),
  };
}

function addressOf(server: Server, scheme: 'http' | 'https'): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('no port'));
      resolve(`${scheme}://127.0.0.1:${address.port}`);
    });
  });
}
