/**
 * Sends HTTP requests to upstreams through undici's dispatch, which is faster than `fetch` or
 * `request`, and removes content encodings that nobody asked for. The only module that imports
 * undici and its older handler interface.
 */
import { X509Certificate } from 'node:crypto';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { z } from 'zod';
import { ConfigurationError, UpstreamError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import { checkMakerOptions, positive, strict } from '../ports/set-up.ts';
import type {
  ByteSink,
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../ports/upstream-client.ts';
import { type BodyInbox, bodyInbox, type SocketGates, socketGates } from './body/inbox.ts';
import { dialError, handshakeError, transportError } from './transport-error.ts';

/** Options of {@link undiciClient}. */
export interface UndiciClientOptions {
  /**
   * The maximum number of sockets to one origin; further calls wait for one, as long as for a first
   * byte. Default: 10,000.
   */
  readonly connections?: number;
  /**
   * PEM certificates to trust instead of Node's own list, for upstreams with a private certificate
   * authority. Upstreams are always verified.
   */
  readonly ca?: string | readonly string[];
}

/** Larger bodies are sent in the pieces they came in. */
const maxJoinedBytes = 64 * 1024;

const certificates = 'must be certificates in PEM: one text, or a list of them';
const pem = z.string(certificates).refine(areCertificates, certificates);

const optionsSchema = strict('must be an object', {
  connections: positive.optional(),
  ca: z.union([pem, z.array(pem).min(1, certificates)], certificates).optional(),
} satisfies Record<keyof UndiciClientOptions, z.ZodType>);

/**
 * The upstream client that `createGateway` uses by default.
 *
 * @throws ConfigurationError if an option is invalid; its message names the option and the fix
 */
export function undiciClient(options: UndiciClientOptions = {}): UpstreamClient {
  checkMakerOptions('undiciClient', optionsSchema, options);
  if (typeof Pool.prototype.dispatch !== 'function') throw new ConfigurationError(noDispatcher);
  /** Image calls use separate pools, with a new connection each. */
  const pools = { kept: poolTable(), fresh: poolTable() };
  const gates = socketGates();
  let isClosed = false;

  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new UpstreamError('connect', 'closed'));
        const table = request.freshConnection ? pools.fresh : pools.kept;
        const pool = poolFor(request, table, options, gates);
        const handler = new CallHandler(request, gates, resolve, reject);
        try {
          pool.dispatch(dispatchOptions(request), handler);
        } catch (cause) {
          reject(new UpstreamError('connect', 'refused_locally', { cause }));
        }
      }),
    close: async () => {
      isClosed = true;
      const tables = [...pools.kept.values(), ...pools.fresh.values()];
      pools.kept.clear();
      pools.fresh.clear();
      const open = tables.flatMap((ofOrigin) => [...ofOrigin.values()]);
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

const noDispatcher =
  'undiciClient does not work in this runtime, whose undici has no dispatcher (Bun). ' +
  'Set options.upstream to fetchUpstreamClient() of tollgate/fetch.';

/** The pools by origin, then by connect timeout. */
type PoolTable = Map<string, Map<number, Pool>>;

function poolTable(): PoolTable {
  return new Map();
}

function poolFor(
  { origin, connectTimeoutMs, freshConnection }: UpstreamRequest,
  table: PoolTable,
  { connections = 10_000, ca }: UndiciClientOptions,
  gates: SocketGates,
): Pool {
  const ofOrigin = table.get(origin) ?? new Map<number, Pool>();
  const known = ofOrigin.get(connectTimeoutMs);
  if (known !== undefined) return known;
  const pool = new Pool(origin, {
    connections,
    // 0 closes the connection after each response, so that an image call never meets a stale
    // socket.
    pipelining: freshConnection ? 0 : 1,
    connect: gatedConnector(connectTimeoutMs, ca, gates),
    // The gateway enforces its own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 32 * 1024,
  });
  table.set(origin, ofOrigin.set(connectTimeoutMs, pool));
  return pool;
}

/** Node silently treats an unreadable list as empty, and then trusts no upstream. */
function areCertificates(text: string): boolean {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    return found.map((one) => new X509Certificate(one)).length > 0;
  } catch {
    return false;
  }
}

function gatedConnector(
  timeoutMs: number,
  ca: UndiciClientOptions['ca'],
  gates: SocketGates,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    minVersion: 'TLSv1.2',
    // Explicit, because a Node environment variable can turn verification off.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca: typeof ca === 'string' ? ca : [...ca] }),
  });
  return (options, callback) => {
    const failureOf = options.protocol === 'https:' ? handshakeError : dialError;
    connect(options, (error, socket) => {
      if (error !== null) return callback(failureOf(error), null);
      gates.install(socket);
      callback(null, socket);
    });
  };
}

function dispatchOptions(request: UpstreamRequest): Dispatcher.DispatchOptions {
  const { method, path, headers, body } = request;
  const [first] = body;
  if (first === undefined) return { method, path, headers };
  // undici sets the length of a single piece by itself.
  if (body.length === 1) return { method, path, headers, body: first };
  const length = body.reduce((sum, piece) => sum + piece.length, 0);
  if (length <= maxJoinedBytes) return { method, path, headers, body: Buffer.concat(body, length) };
  const sized = { ...headers, 'content-length': String(length) };
  const options: Dispatcher.DispatchOptions = { method, path, headers: sized };
  // undici accepts any iterable (docs/api/Dispatcher.md), although its types don't say so. A stream
  // around the pieces costs a fifth more at 5 MB (docs/internals/performance.md).
  return Object.assign(options, { body });
}

class CallHandler implements Dispatcher.DispatchHandler {
  readonly #gates: SocketGates;
  readonly #resolve: (response: UpstreamResponse) => void;
  readonly #reject: (error: Error) => void;
  #inbox: BodyInbox | undefined;
  #abort: ((reason?: Error) => void) | undefined;
  #abortReason: Error | undefined;

  constructor(
    request: UpstreamRequest,
    gates: SocketGates,
    resolve: (response: UpstreamResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#gates = gates;
    this.#resolve = resolve;
    this.#reject = reject;
    request.onAbort((reason) => {
      this.#abortReason ??= reason;
      // Without a socket undici has nothing to abort: reject immediately, and drop the call once it
      // connects.
      if (this.#abort === undefined) reject(queueFailure(reason));
      else this.#abort(reason);
    });
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#abort = abort;
    if (this.#abortReason !== undefined) abort(this.#abortReason);
  }

  onHeaders(status: number, rawHeaders: readonly Buffer[]): boolean {
    // Informational responses (1xx) are ignored.
    if (status < 200) return true;
    const headers = headerMap(rawHeaders);
    const end = (): void => this.#abort?.(new UpstreamError('body', 'aborted'));
    this.#inbox = bodyInbox(this.#gates.current(), end);
    try {
      this.#resolve({ status, headers, body: decodeBody(this.#inbox.body, headers) });
    } catch (error) {
      this.#reject(transportError(error, 'body'));
      end();
    }
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#inbox?.write(chunk);
    // Always true: returning false pauses the parser, which fails when its socket ends (see
    // SocketGate).
    return true;
  }

  onComplete(): void {
    this.#inbox?.end();
  }

  onError(error: Error): void {
    const stage = stageOf(this.#abort !== undefined, this.#inbox !== undefined);
    const failure = transportError(this.#abortReason ?? error, stage);
    this.#reject(failure);
    this.#inbox?.fail(failure);
  }
}

/** A call without a socket timed out in the queue, not while waiting for a reply. */
function queueFailure(reason: Error): UpstreamError {
  const failure = transportError(reason, 'connect');
  return failure.reason === 'headers_timeout'
    ? new UpstreamError('connect', 'queue_timeout', { timedOut: true })
    : failure;
}

function stageOf(connected: boolean, answered: boolean): 'connect' | 'sent' | 'body' {
  if (answered) return 'body';
  return connected ? 'sent' : 'connect';
}

/** Most other headers are skipped without decoding the name. */
const readHeaders = [
  ...['content-type', 'content-encoding', 'retry-after', 'retry-after-ms', 'date'],
  'x-amzn-errortype',
];
/** The length and the first letter of each, in one number. */
const headerHashes: ReadonlySet<number> = new Set(
  readHeaders.map((name) => name.length * 256 + name.charCodeAt(0)),
);

function headerMap(raw: readonly Buffer[]): HeaderMap {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index];
    if (name === undefined) continue;
    // The names are ASCII letters, so that setting this bit makes the first one lower-case.
    const hash = name.length * 256 + ((name[0] ?? 0) | 0x20);
    if (!headerHashes.has(hash)) continue;
    const known = name.toString('latin1').toLowerCase();
    if (!readHeaders.includes(known)) continue;
    const value = raw[index + 1]?.toString('latin1') ?? '';
    headers[known] = headers[known] === undefined ? value : `${headers[known]}, ${value}`;
  }
  return headers;
}

/** Output up to this size is exempt from the ratio check: small replies may compress well. */
const uncheckedBytes = 1024 * 1024;
const maxRatio = 50;

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * Removes a content encoding while the body streams. A compression bomb and an invalid encoding are
 * protocol errors.
 *
 * @throws UpstreamError `encoded` unless the encoding is one of gzip, deflate and br
 */
export function decodeBody(body: UpstreamBody, headers: HeaderMap): UpstreamBody {
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return body;
  const known = Object.entries(decoders).find(([name]) => name === encoding);
  if (known === undefined) throw new UpstreamError('body', 'encoded');
  return decompress(body, known[1]);
}

function decompress(body: UpstreamBody, createDecoder: (typeof decoders)['gzip']): UpstreamBody {
  const decoder = createDecoder();
  let sink: ByteSink | undefined;
  let compressedBytes = 0;
  let decodedBytes = 0;
  let isOver = false;

  const fail = (error: Error): void => {
    if (isOver) return;
    isOver = true;
    decoder.destroy();
    sink?.fail(error);
  };

  decoder.on('data', (chunk: Buffer) => {
    decodedBytes += chunk.length;
    if (decodedBytes > uncheckedBytes && decodedBytes > compressedBytes * maxRatio) {
      body.abort();
      fail(new UpstreamError('body', 'compression_bomb'));
    } else if (!isOver) sink?.write(chunk);
  });
  decoder.on('drain', () => body.resume());
  decoder.on('end', () => {
    if (!isOver) sink?.end();
    isOver = true;
  });
  decoder.on('error', (cause) => {
    body.abort();
    fail(new UpstreamError('body', 'encoded', { cause }));
  });

  return {
    takeWhole: () => undefined,
    start: (target) => {
      sink = target;
      body.start({
        write: (chunk) => {
          compressedBytes += chunk.length;
          if (!decoder.write(chunk)) body.pause();
        },
        end: () => {
          decoder.end();
        },
        fail,
      });
    },
    pause: () => {
      decoder.pause();
    },
    resume: () => {
      decoder.resume();
    },
    abort: () => {
      isOver = true;
      decoder.destroy();
      body.abort();
    },
  };
}
