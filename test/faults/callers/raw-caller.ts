/**
 * A caller on a bare socket: it sends bytes as slowly as a test wants, and ends the connection in
 * every way that TCP has.
 */
import { connect } from 'node:net';

/** One connection. */
export interface RawCaller {
  /** Everything received so far, one character for each byte. */
  received(): string;
  send(bytes: string): void;
  /** Sends each byte in its own write and turn of the event loop. */
  sendBytewise(bytes: string): Promise<void>;
  /** Resolves once the received text satisfies this; rejects if the connection closes before. */
  until(isEnough: (received: string) => boolean): Promise<void>;
  /** Stops reading. */
  stopReading(): void;
  /** Sends FIN and reads on. */
  finish(): void;
  /** Sends FIN and reads no more. */
  close(): void;
  /** Sends RST. */
  reset(): void;
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>;
}

/** Connects to `http://127.0.0.1:1234`. */
export async function rawCaller(origin: string): Promise<RawCaller> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = '';
  let isClosed = false;
  const waiting = new Set<() => void>();
  const notifyWaiting = (): void => {
    for (const wake of [...waiting]) wake();
  };

  socket.setEncoding('latin1').setNoDelay();
  socket.on('data', (text: string) => {
    received += text;
    notifyWaiting();
  });
  socket.on('end', () => socket.end());
  socket.on('error', () => {
    // Expected for a reset; tests wait for the `close` that follows.
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isClosed = true;
      notifyWaiting();
      resolve();
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
  });

  return {
    received: () => received,
    send: (bytes) => {
      socket.write(bytes, 'latin1');
    },
    sendBytewise: async (bytes) => {
      for (const byte of Buffer.from(bytes, 'latin1')) {
        socket.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    until: (isEnough) =>
      new Promise((resolve, reject) => {
        const wake = (): void => {
          const enough = isEnough(received);
          if (!enough && !isClosed) return;
          waiting.delete(wake);
          if (enough) resolve();
          else reject(new Error(`closed after ${JSON.stringify(received.slice(0, 500))}`));
        };
        waiting.add(wake);
        wake();
      }),
    stopReading: () => {
      socket.pause();
    },
    finish: () => {
      socket.end();
    },
    close: () => {
      socket.destroy();
    },
    reset: () => {
      socket.resetAndDestroy();
    },
    closed,
  };
}

/** An answer as it was received. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Without the chunked encoding. */
  readonly body: string;
}

/**
 * The complete answers, in order, without 1xx ones. Answers to `HEAD` have no body, whatever their
 * headers say.
 */
export function answersIn(received: string, method = 'POST'): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  for (;;) {
    const [before] = rest.split('\r\n\r\n', 1);
    if (before === undefined || before.length === rest.length) return answers;
    const head = headOf(before);
    const behind = rest.slice(before.length + 4);
    const hasBody = method !== 'HEAD' && head.status >= 200 && head.status !== 204;
    const read = hasBody ? bodyIn(behind, head.headers) : { body: '', rest: behind };
    if (read === undefined) return answers;
    if (head.status >= 200) answers.push({ ...head, body: read.body });
    rest = read.rest;
  }
}

function headOf(text: string): Pick<RawAnswer, 'status' | 'headers'> {
  const [line = '', ...lines] = text.split('\r\n');
  const fields = lines.map((field): readonly [string, string] => {
    const [name = ''] = field.split(':', 1);
    return [name.toLowerCase(), field.slice(name.length + 1).trim()];
  });
  return { status: Number(line.split(' ')[1]), headers: Object.fromEntries(fields) };
}

interface ReadBody {
  readonly body: string;
  readonly rest: string;
}

function bodyIn(bytes: string, headers: RawAnswer['headers']): ReadBody | undefined {
  if (headers['transfer-encoding'] === 'chunked') return chunksIn(bytes);
  const length = Number(headers['content-length'] ?? 0);
  if (bytes.length < length) return undefined;
  return { body: bytes.slice(0, length), rest: bytes.slice(length) };
}

function chunksIn(bytes: string): ReadBody | undefined {
  let body = '';
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const length = Number.parseInt(bytes.slice(at, lineEnd), 16);
    const end = lineEnd + 2 + length + 2;
    if (bytes.length < end) return undefined;
    if (length === 0) return { body, rest: bytes.slice(end) };
    body += bytes.slice(lineEnd + 2, lineEnd + 2 + length);
    at = end;
  }
}
