/** The connections of the fuzz test: what each sends and how it ends, generated from one seed. */
import { connect } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { rawRequest } from '../support/raw-http.ts';

/** Returns pseudo-random numbers in [0, 1). */
export type Chance = () => number;

/** One connection. */
export interface Script {
  /** Pieces, each written after a delay in ms; one piece if everything is one write. */
  readonly writes: readonly { readonly afterMs: number; readonly bytes: Buffer }[];
  /** How and when the caller ends the connection after its last write. */
  readonly ending: 'read' | 'end' | 'reset' | 'destroy';
  readonly endsAfterMs: number;
  /** The caller reads nothing before it ends the connection. */
  readonly isDeaf: boolean;
  /** The caller closes the connection after this much silence, in ms. */
  readonly silenceMs: number;
}

/** Generates a connection: one to four pipelined requests, cut, mutated and split. */
export function scriptOf(chance: Chance, secret: string): Script {
  const count = 1 + Math.floor(chance() * 4);
  const requests = Array.from({ length: count }, () => requestOf(chance, secret));
  let bytes = Buffer.from(requests.join(''), 'latin1');
  if (chance() < 0.35) bytes = bytes.subarray(0, Math.floor(chance() * bytes.length));
  if (chance() < 0.15) mutate(bytes, chance);
  return {
    writes: splitAt(bytes, chance),
    ending: among(chance, ['read', 'end', 'reset', 'destroy']),
    endsAfterMs: chance() < 0.4 ? 0 : Math.floor(chance() * 80),
    isDeaf: chance() < 0.2,
    silenceMs: 1_000,
  };
}

/** Runs it against a host; resolves with the received text when the connection is closed. */
export async function play(origin: string, script: Script): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = '';
  socket.on('error', () => {
    // The host reports its own errors.
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  if (script.isDeaf) socket.pause();
  else {
    socket.on('data', (chunk: Buffer) => {
      if (received.length < 10_000) received += chunk.toString('latin1');
    });
  }
  socket.on('end', () => socket.end());
  for (const { afterMs, bytes } of script.writes) {
    if (afterMs > 0) await after(afterMs);
    if (!socket.destroyed && socket.writable) socket.write(bytes);
  }
  if (script.endsAfterMs > 0) await after(script.endsAfterMs);
  if (script.ending === 'reset') socket.resetAndDestroy();
  else if (script.ending === 'destroy') socket.destroy();
  else if (script.ending === 'end') socket.end();
  socket.resume();
  // The host may keep the connection open, for the next request or to discard a body.
  socket.setTimeout(script.silenceMs, () => socket.destroy());
  await closed;
  return received;
}

const message = '"messages":[{"role":"user","content":"hi"}]';
const chat = `{"model":"m",${message}}`;
const streamed = `{"model":"m","stream":true,${message}}`;
const response = '{"model":"m","input":"hi"}';
const streamedResponse = '{"model":"m","stream":true,"input":"hi"}';
const claude = `{"model":"m","max_tokens":9,${message}}`;
const streamedClaude = `{"model":"m","max_tokens":9,"stream":true,${message}}`;
const native = '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}';

function requestOf(chance: Chance, secret: string): string {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (chance() < 0.85) headers.authorization = `Bearer ${secret}`;
  if (chance() < 0.1) headers.connection = 'close';
  if (chance() < 0.1) headers.expect = '100-continue';
  if (chance() < 0.1) headers['idempotency-key'] = `key-${Math.floor(chance() * 5)}`;
  if (chance() < 0.03) Object.assign(headers, { connection: 'upgrade', upgrade: 'h2c' });
  const version = chance() < 0.05 ? 'HTTP/1.0' : 'HTTP/1.1';
  const sent = (line: string, body?: string): string =>
    rawRequest(line, headers, body).replace('HTTP/1.1', version);
  const post = 'POST /v1/chat/completions';
  const kinds: readonly (() => string)[] = [
    () => sent(post, chat),
    () => sent(post, streamed),
    () => sent(post, among(chance, [chat, streamed])),
    () => sent('POST /v1/responses', among(chance, [response, streamedResponse])),
    () => sent('POST /v1/messages?beta=true', among(chance, [claude, streamedClaude])),
    () => sent('POST /v1/messages/count_tokens', claude),
    () => sent('POST /v1/embeddings', '{"model":"m","input":["hi","you"]}'),
    () => {
      headers['x-vendor-api-key'] = secret;
      return sent('POST /v1beta/models/m:embedContent', '{"content":{"parts":[{"text":"hi"}]}}');
    },
    () => sent('POST /v1/images/generations', '{"model":"m","prompt":"p"}'),
    () => {
      headers['x-vendor-api-key'] = secret;
      return sent('POST /v1beta/models/m:generateContent', native);
    },
    () => sent('GET /v1/models'),
    () => sent(among(chance, ['HEAD /v1/models', 'OPTIONS /v1/models', 'PUT /v1/models', 'GET /'])),
    // Half a request: less of a body than its length, sometimes far more than is allowed.
    () => {
      headers['content-length'] = String(among(chance, [500, 70_000, 2_000_000]));
      return sent(post, chat.slice(0, Math.floor(chance() * chat.length)));
    },
    () => {
      headers['transfer-encoding'] = 'chunked';
      return `${sent(post)}${chunked(among(chance, [chat, streamed]), chance)}`;
    },
    () => sent(post, ' '.repeat(Math.floor(chance() * 1_500_000))),
    () =>
      among(chance, ['\r\n\r\n', 'rubbish\r\n\r\n', '\0\0\0', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']),
  ];
  return among(chance, kinds)();
}

function chunked(text: string, chance: Chance): string {
  let rest = text;
  let out = '';
  while (rest.length > 0) {
    const length = 1 + Math.floor(chance() * rest.length);
    out += `${length.toString(16)}\r\n${rest.slice(0, length)}\r\n`;
    rest = rest.slice(length);
  }
  return `${out}${among(chance, ['0\r\n\r\n', '0\r\n\r\n', '0\r\nx: y\r\n\r\n', 'zz\r\n', ''])}`;
}

function mutate(bytes: Buffer, chance: Chance): void {
  for (let count = 1 + Math.floor(chance() * 5); count > 0 && bytes.length > 0; count -= 1) {
    bytes[Math.floor(chance() * bytes.length)] = Math.floor(chance() * 256);
  }
}

function splitAt(bytes: Buffer, chance: Chance): Script['writes'] {
  if (chance() < 0.4) return [{ afterMs: 0, bytes }];
  const places = Array.from({ length: 1 + Math.floor(chance() * 5) }, () =>
    Math.floor(chance() * bytes.length),
  ).sort((a, b) => a - b);
  return [0, ...places].map((from, index) => ({
    afterMs: chance() < 0.5 ? 0 : Math.floor(chance() * 15),
    bytes: bytes.subarray(from, places[index] ?? bytes.length),
  }));
}

function among<T>(chance: Chance, values: readonly [T, ...T[]] | readonly T[]): T {
  const value = values[Math.floor(chance() * values.length)];
  if (value === undefined) throw new Error('There is nothing to choose from.');
  return value;
}
