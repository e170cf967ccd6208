/** HTTP on a bare socket, for bytes that no client library would send or show. */
import { connect } from 'node:net';

/** A connection on which a test controls every byte. */
export interface RawConnection {
  write(bytes: string | Uint8Array): void;
  /** Resolves once the server has sent this text; rejects if it closes without. */
  until(text: string): Promise<void>;
  /** Everything received, once the server has closed the connection. */
  readonly rest: Promise<string>;
  /** Ends the sending side, and reads on. */
  end(): void;
  /** Resets the connection. */
  destroy(): void;
}

/** Connects to `http://127.0.0.1:1234`; `allowHalfOpen` still sends after the server's end. */
export async function connectRaw(
  origin: string,
  options: { readonly allowHalfOpen?: boolean } = {},
): Promise<RawConnection> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  let received = '';
  let isClosed = false;
  let onData: () => void = () => {};

  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    received += text;
    onData();
  });
  socket.on('error', () => {
    // Expected for a reset; tests wait for the `close` that follows.
  });
  const rest = new Promise<string>((resolve) => {
    socket.once('close', () => {
      isClosed = true;
      onData();
      resolve(received);
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
  });

  return {
    write: (bytes) => {
      socket.write(bytes);
    },
    until: (text) =>
      new Promise((resolve, reject) => {
        onData = () => {
          if (received.includes(text)) resolve();
          else if (isClosed) reject(new Error(`closed after ${JSON.stringify(received)}`));
        };
        onData();
      }),
    rest,
    end: () => {
      socket.end();
    },
    destroy: () => {
      socket.destroy();
    },
  };
}

/** Sends these bytes, and returns everything received once the server has closed. */
export async function exchangeRaw(origin: string, bytes: string | Uint8Array): Promise<string> {
  const wire = await connectRaw(origin);
  wire.write(bytes);
  return wire.rest;
}

/** A request as text, with a `Content-Length` for the body; other headers as given. */
export function rawRequest(
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): string {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host: 'gateway', ...length, ...headers });
  return [
    `${line} HTTP/1.1`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
    '',
    body ?? '',
  ].join('\r\n');
}
