/**
 * Speaks HTTP to upstreams through undici's dispatch, the fastest honest way Node has (PERFORMANCE
 * rule 1). The only module that imports undici; its older handler interface stays in here.
 */
import { Readable } from 'node:stream';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { z } from 'zod';
import { UpstreamError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import { checkMakerOptions, positive } from '../ports/set-up.ts';
import type {
  ByteSink,
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../ports/upstream-client.ts';
import { decoded } from './decode-body.ts';
import { type SocketGate, type SocketGates, socketGates } from './socket-gate.ts';
import { transportError } from './transport-error.ts';

/** How an {@link undiciClient} is set up. */
export interface UndiciClientOptions {
  /**
   * Sockets to one origin at once; further calls wait for one, as long as for a first byte. 10,000
   * where left out.
   */
  readonly connections?: number;
}

/** Bodies up to this size go out in one write; larger ones in their pieces, without a copy. */
const oneWriteBytes = 64 * 1024;

const optionsSchema = z.strictObject(
  { connections: positive.optional() } satisfies Record<keyof UndiciClientOptions, z.ZodType>,
  'must be an object',
);

/**
 * The upstream client that `createGateway` makes where the host brings none.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function undiciClient(options: UndiciClientOptions = {}): UpstreamClient {
  checkMakerOptions('undiciClient', optionsSchema, options);
  const pools = new Map<string, Pool>();
  const gates = socketGates();
  let isClosed = false;

  const poolFor = ({ origin, connectTimeoutMs, freshConnection }: UpstreamRequest): Pool => {
    const name = `${origin} ${connectTimeoutMs} ${freshConnection}`;
    const known = pools.get(name);
    if (known !== undefined) return known;
    const pool = new Pool(origin, {
      connections: options.connections ?? 10_000,
      // 0 closes every connection after its answer: an image never meets a socket gone stale.
      pipelining: freshConnection ? 0 : 1,
      connect: gatedConnector(connectTimeoutMs, gates),
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 32 * 1024,
    });
    pools.set(name, pool);
    return pool;
  };

  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new UpstreamError('connect', 'closed'));
        const pool = poolFor(request);
        const { handler, boundWait } = exchange(request, gates, resolve, reject);
        try {
          const hasRoom = pool.dispatch(dispatchOptions(request), handler);
          if (!hasRoom) boundWait();
        } catch (cause) {
          reject(new UpstreamError('connect', 'refused_locally', { cause }));
        }
      }),
    close: async () => {
      isClosed = true;
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

/** undici's own connector, with a gate in every socket it makes. */
function gatedConnector(timeoutMs: number, gates: SocketGates): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs });
  return (options, callback) => {
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      gates.fit(socket);
      callback(null, socket);
    });
  };
}

function dispatchOptions(request: UpstreamRequest): Dispatcher.DispatchOptions {
  const length = request.body.reduce((sum, piece) => sum + piece.length, 0);
  const whole = length <= oneWriteBytes || request.body.length === 1;
  const [first] = request.body;
  const options = {
    method: request.method,
    path: request.path,
    headers: { ...request.headers, 'content-length': String(length) },
    headersTimeout: request.firstByteTimeoutMs,
    bodyTimeout: request.idleTimeoutMs,
  };
  if (first === undefined) return { ...options, headers: request.headers };
  if (!whole) return { ...options, body: Readable.from(request.body, { objectMode: false }) };
  return { ...options, body: request.body.length === 1 ? first : Buffer.concat(request.body) };
}

/** What undici calls back, and what a call does that may have to queue for a socket. */
interface Exchange {
  readonly handler: Dispatcher.DispatchHandler;
  /** undici's own timers run only once there is a socket: this one runs until then. */
  boundWait(): void;
}

/** One request and its answer: resolves at the headers, then hands the body over as it arrives. */
function exchange(
  request: UpstreamRequest,
  gates: SocketGates,
  resolve: (response: UpstreamResponse) => void,
  reject: (error: Error) => void,
): Exchange {
  const inbox = bodyInbox();
  let abort: ((reason?: Error) => void) | undefined;
  let abandoned: Error | undefined;
  let answered = false;
  let waiting: NodeJS.Timeout | undefined;

  const giveUp = (reason: Error): void => {
    abandoned ??= reason;
    clearTimeout(waiting);
    // Before a socket is there undici has nothing to abort: answer at once, drop the call later.
    if (abort === undefined) reject(transportError(reason, 'connect'));
    else abort(reason);
  };
  request.onAbort(giveUp);

  const handler: Dispatcher.DispatchHandler = {
    onConnect: (abortCall) => {
      abort = abortCall;
      clearTimeout(waiting);
      if (abandoned !== undefined) abortCall(abandoned);
    },
    onHeaders: (status, rawHeaders) => {
      // 100 to 199 only announce the answer; none of them is passed on.
      if (status < 200) return true;
      answered = true;
      const headers = headerMap(rawHeaders);
      inbox.open(gates.current(), () => abort?.(new UpstreamError('body', 'aborted')));
      try {
        resolve({ status, headers, body: decoded(inbox.body, headers) });
      } catch (error) {
        reject(transportError(error, 'body'));
        abort?.(new UpstreamError('body', 'aborted'));
      }
      return true;
    },
    onData: (chunk) => {
      inbox.write(chunk);
      // Never false: a paused parser must not meet the end of its socket.
      return true;
    },
    onComplete: () => inbox.end(),
    onError: (error) => {
      clearTimeout(waiting);
      const stage = stageOf(abort !== undefined, answered);
      const failure = transportError(abandoned ?? error, stage);
      reject(failure);
      inbox.fail(failure);
    },
  };
  return {
    handler,
    boundWait: () => {
      if (abort !== undefined || abandoned !== undefined) return;
      const late = new UpstreamError('connect', 'queue_timeout', { timedOut: true });
      waiting = setTimeout(() => giveUp(late), request.firstByteTimeoutMs);
      waiting.unref();
    },
  };
}

function stageOf(connected: boolean, answered: boolean): 'connect' | 'sent' | 'body' {
  if (answered) return 'body';
  return connected ? 'sent' : 'connect';
}

/** Keeps what arrives before somebody reads, a little at most, then passes everything through. */
interface BodyInbox {
  readonly body: UpstreamBody;
  open(gate: SocketGate, abort: () => void): void;
  write(chunk: Uint8Array): void;
  end(): void;
  fail(error: Error): void;
}

/** What may lie unread before the socket is paused. */
const unreadBytes = 64 * 1024;

function bodyInbox(): BodyInbox {
  const waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let sink: ByteSink | undefined;
  let state: 'open' | 'ended' | 'aborted' | Error = 'open';
  let paused = false;
  let gate: SocketGate | undefined;
  let abortCall: () => void = () => {};

  const finish = (): void => {
    gate?.release();
    if (state === 'ended') sink?.end();
    else if (state instanceof Error) sink?.fail(state);
  };

  const body: UpstreamBody = {
    takeWhole: (limit) => {
      if (state !== 'ended' || sink !== undefined || waitingBytes > limit) return undefined;
      const [first, second] = waiting;
      return first !== undefined && second === undefined ? first : Buffer.concat(waiting);
    },
    start: (target) => {
      sink = target;
      paused = false;
      for (const chunk of waiting.splice(0)) {
        // The reader may have seen enough, and aborted.
        if (state !== 'aborted') target.write(chunk);
      }
      if (state !== 'open') finish();
      // The reader may have asked for a pause already.
      else if (!paused) gate?.open();
    },
    pause: () => {
      paused = true;
      if (state === 'open') gate?.close();
    },
    resume: () => {
      if (!paused) return;
      paused = false;
      // Once the body has ended its socket may serve another call, which is not ours to wake.
      if (state === 'open') gate?.open();
    },
    abort: () => {
      if (state !== 'open') return;
      state = 'aborted';
      gate?.release();
      abortCall();
    },
  };

  return {
    body,
    open: (own, abort) => {
      gate = own;
      abortCall = abort;
    },
    write: (chunk) => {
      if (sink !== undefined) {
        sink.write(chunk);
        return;
      }
      waiting.push(chunk);
      waitingBytes += chunk.length;
      paused = waitingBytes > unreadBytes;
      if (paused) gate?.close();
    },
    end: () => {
      if (state !== 'open') return;
      state = 'ended';
      finish();
    },
    fail: (error) => {
      if (state !== 'open') return;
      state = error;
      finish();
    },
  };
}

function headerMap(raw: readonly Buffer[]): HeaderMap {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index]?.toString('latin1').toLowerCase() ?? '';
    const value = raw[index + 1]?.toString('latin1') ?? '';
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}
