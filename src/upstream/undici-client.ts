/**
 * Speaks HTTP to upstreams through undici's dispatch, the fastest honest way Node has (PERFORMANCE
 * rule 1). The only module that imports undici; its older handler interface stays in here.
 */
import { X509Certificate } from 'node:crypto';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { z } from 'zod';
import { UpstreamError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import { checkMakerOptions, positive } from '../ports/set-up.ts';
import type {
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../ports/upstream-client.ts';
import { type BodyInbox, bodyInbox } from './body-inbox.ts';
import { decoded } from './decode-body.ts';
import { type SocketGates, socketGates } from './socket-gate.ts';
import { dialError, handshakeError, transportError } from './transport-error.ts';

/** How an {@link undiciClient} is set up. */
export interface UndiciClientOptions {
  /**
   * Sockets to one origin at once; further calls wait for one, as long as for a first byte. 10,000
   * where left out.
   */
  readonly connections?: number;
  /**
   * Certificates in PEM to trust in place of Node's own list, for upstreams with a private
   * authority. Upstreams are always verified.
   */
  readonly ca?: string | readonly string[];
}

/** Bodies up to this size are joined, into one write. Larger ones go in the pieces they came in. */
const joinedBytes = 64 * 1024;

const certificates = 'must be certificates in PEM: one text, or a list of them';
const pem = z.string(certificates).refine(isReadable, certificates);

const optionsSchema = z.strictObject(
  {
    connections: positive.optional(),
    ca: z.union([pem, z.array(pem).min(1, certificates)], certificates).optional(),
  } satisfies Record<keyof UndiciClientOptions, z.ZodType>,
  'must be an object',
);

/**
 * The upstream client that `createGateway` makes where the host brings none.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function undiciClient(options: UndiciClientOptions = {}): UpstreamClient {
  checkMakerOptions('undiciClient', optionsSchema, options);
  /** By origin and then by the time to connect; images, each on a connection of its own, apart. */
  const pools = { kept: poolTable(), fresh: poolTable() };
  const gates = socketGates();
  let isClosed = false;

  const poolFor = ({ origin, connectTimeoutMs, freshConnection }: UpstreamRequest): Pool => {
    const table = freshConnection ? pools.fresh : pools.kept;
    const ofOrigin = table.get(origin) ?? new Map<number, Pool>();
    const known = ofOrigin.get(connectTimeoutMs);
    if (known !== undefined) return known;
    const pool = new Pool(origin, {
      connections: options.connections ?? 10_000,
      // 0 closes every connection after its answer: an image never meets a socket gone stale.
      pipelining: freshConnection ? 0 : 1,
      connect: gatedConnector(connectTimeoutMs, options.ca, gates),
      // The gateway waits by its own clock.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 32 * 1024,
    });
    table.set(origin, ofOrigin.set(connectTimeoutMs, pool));
    return pool;
  };

  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new UpstreamError('connect', 'closed'));
        const pool = poolFor(request);
        const handler = exchange(request, gates, resolve, reject);
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

function poolTable(): Map<string, Map<number, Pool>> {
  return new Map();
}

/** Read now: Node takes what it can't read for an empty list, and trusts nobody. */
function isReadable(text: string): boolean {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    return found.map((one) => new X509Certificate(one)).length > 0;
  } catch {
    return false;
  }
}

/** undici's own connector, with a gate in every socket it makes. */
function gatedConnector(
  timeoutMs: number,
  ca: UndiciClientOptions['ca'],
  gates: SocketGates,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    minVersion: 'TLSv1.2',
    // Said, for Node has an environment variable that turns it off.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca: typeof ca === 'string' ? ca : [...ca] }),
  });
  return (options, callback) => {
    const failureOf = options.protocol === 'https:' ? handshakeError : dialError;
    connect(options, (error, socket) => {
      if (error !== null) return callback(failureOf(error), null);
      gates.fit(socket);
      callback(null, socket);
    });
  };
}

function dispatchOptions(request: UpstreamRequest): Dispatcher.DispatchOptions {
  const { method, path, headers, body } = request;
  const [first] = body;
  if (first === undefined) return { method, path, headers };
  // undici counts the length of one piece by itself.
  if (body.length === 1) return { method, path, headers, body: first };
  const length = body.reduce((sum, piece) => sum + piece.length, 0);
  if (length <= joinedBytes) return { method, path, headers, body: Buffer.concat(body, length) };
  const sized = { ...headers, 'content-length': String(length) };
  const options: Dispatcher.DispatchOptions = { method, path, headers: sized };
  // undici takes whatever can be iterated (docs/api/Dispatcher.md); only its types leave that out.
  // A stream around the pieces costs a fifth more at 5 MB (docs/performance.md).
  return Object.assign(options, { body });
}

/** One request and its answer: resolves at the headers, then hands the body over as it arrives. */
function exchange(
  request: UpstreamRequest,
  gates: SocketGates,
  resolve: (response: UpstreamResponse) => void,
  reject: (error: Error) => void,
): Dispatcher.DispatchHandler {
  let inbox: BodyInbox | undefined;
  let abort: ((reason?: Error) => void) | undefined;
  let abandoned: Error | undefined;

  request.onAbort((reason) => {
    abandoned ??= reason;
    // Before a socket is there undici has nothing to abort: answer at once, drop the call later.
    if (abort === undefined) reject(withoutSocket(reason));
    else abort(reason);
  });

  return {
    onConnect: (abortCall) => {
      abort = abortCall;
      if (abandoned !== undefined) abortCall(abandoned);
    },
    onHeaders: (status, rawHeaders) => {
      // 100 to 199 only announce the answer; none of them is passed on.
      if (status < 200) return true;
      const headers = headerMap(rawHeaders);
      const end = (): void => abort?.(new UpstreamError('body', 'aborted'));
      inbox = bodyInbox(gates.current(), end);
      try {
        resolve({ status, headers, body: decoded(inbox.body, headers) });
      } catch (error) {
        reject(transportError(error, 'body'));
        end();
      }
      return true;
    },
    onData: (chunk) => {
      inbox?.write(chunk);
      // Never false: a paused parser must not meet the end of its socket.
      return true;
    },
    onComplete: () => inbox?.end(),
    onError: (error) => {
      const stage = stageOf(abort !== undefined, inbox !== undefined);
      const failure = transportError(abandoned ?? error, stage);
      reject(failure);
      inbox?.fail(failure);
    },
  };
}

/** A call that never got a socket has waited in the queue, and not for an answer. */
function withoutSocket(reason: Error): UpstreamError {
  const failure = transportError(reason, 'connect');
  return failure.reason === 'headers_timeout'
    ? new UpstreamError('connect', 'queue_timeout', { timedOut: true })
    : failure;
}

function stageOf(connected: boolean, answered: boolean): 'connect' | 'sent' | 'body' {
  if (answered) return 'body';
  return connected ? 'sent' : 'connect';
}

/** The headers that somebody here reads; of most others not even the name is decoded. */
const readNames = ['content-type', 'content-encoding', 'retry-after', 'retry-after-ms', 'date'];
const beginnings: ReadonlySet<number> = new Set(readNames.map(beginningOf));

/** A name's length and first letter in one number, without regard to case. */
function beginningOf(name: string | Uint8Array): number {
  const first = typeof name === 'string' ? name.charCodeAt(0) : (name[0] ?? 0);
  return name.length * 256 + (first | 0x20);
}

function headerMap(raw: readonly Buffer[]): HeaderMap {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index];
    if (name === undefined || !beginnings.has(beginningOf(name))) continue;
    const known = name.toString('latin1').toLowerCase();
    if (!readNames.includes(known)) continue;
    const value = raw[index + 1]?.toString('latin1') ?? '';
    headers[known] = headers[known] === undefined ? value : `${headers[known]}, ${value}`;
  }
  return headers;
}
