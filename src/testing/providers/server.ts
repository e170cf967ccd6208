/**
 * A real HTTP server that behaves like OpenAI, Google, Anthropic and the clouds that host their
 * models. It plays recorded traffic, or scripts queued by a test. It listens on 127.0.0.1 only and
 * does not keep the process alive.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { anthropic } from './anthropic.ts';
import { azure, bedrock, vertex } from './clouds.ts';
import { type Exchange, openExchange, play, type RecordedCall } from './exchange.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';
import {
  type Provider,
  type ProviderRequest,
  type ReplyContext,
  StoredResponses,
} from './provider.ts';
import type { Script } from './scripts.ts';

/** Options of the fake upstream, all optional. */
export interface FakeUpstreamOptions {
  /** The port. Default: chosen by the operating system. */
  readonly port?: number;
  /** Pause between two pieces of a reply. Default: 0, as fast as they are read. */
  readonly paceMs?: number;
  /** Required in each provider's key header. Queued scripts are played without a check. */
  readonly apiKey?: string;
  /** The value of `created` in replies. Fixed by default, so that every run is the same. */
  readonly createdAtSeconds?: number;
  /** How long the model `demo-slow` waits. Default: 3 s. */
  readonly slowMs?: number;
  /**
   * Replies in place of the fake, for example with a refusal; undefined leaves the call to it. It
   * is asked about every call with the right key for which no script is queued.
   */
  readonly respond?: (call: RecordedCall) => Script | undefined;
}

/** A running fake upstream. */
export interface FakeUpstream {
  /** `http://127.0.0.1:1234`, which is also the `baseUrl` of `azure()`. */
  readonly origin: string;
  /** For a channel of the openai dialect: `http://127.0.0.1:1234/v1`. */
  readonly openaiBaseUrl: string;
  /** For a channel of the gemini dialect: `http://127.0.0.1:1234/v1beta`. */
  readonly geminiBaseUrl: string;
  /** For a channel of the anthropic dialect: `http://127.0.0.1:1234/v1`. */
  readonly anthropicBaseUrl: string;
  /** For `vertex({ baseUrl })`: `http://127.0.0.1:1234/v1`. */
  readonly vertexBaseUrl: string;
  /**
   * For `bedrock()`: `runtime` for Claude, and `mantle` for Claude; that for OpenAI's models has
   * `openai` in place of `anthropic`.
   */
  readonly bedrockBaseUrls: {
    /** For the endpoint `runtime` of Bedrock. */
    readonly runtime: string;
    /** For the endpoint `mantle` of Bedrock. */
    readonly mantle: string;
  };
  /** All calls since the start or the last reset, in order of arrival. */
  readonly calls: readonly RecordedCall[];
  /** Returns each call once, oldest first; waits for the next one if there is none. */
  nextCall(): Promise<RecordedCall>;
  /**
   * Queues scripts for the next calls, one each, whatever they request. Afterwards recorded traffic
   * is played again.
   */
  enqueue(...scripts: readonly Script[]): void;
  /**
   * Removes calls, queued scripts and stored Responses, restarts the ids from 1, and breaks off
   * running replies.
   */
  reset(): void;
  /** How many sockets are open. */
  openConnections(): number;
  /** Stops listening and closes every socket. */
  close(): Promise<void>;
}

// OpenAI is last, since it owns every path, in order to refuse unknown ones.
const providers: readonly Provider[] = [azure, vertex, gemini, anthropic, bedrock, openai];

/** Starts a fake upstream; rejects where the port is taken. */
export async function startFakeUpstream(options: FakeUpstreamOptions = {}): Promise<FakeUpstream> {
  const { paceMs = 0, createdAtSeconds = 1_763_683_200, slowMs = 3000 } = options;
  const log = new CallLog();
  const scripts: Script[] = [];
  const exchanges = new Set<Exchange>();
  let serial = 0;
  const stored = new StoredResponses();
  const context: ReplyContext = { serial: () => ++serial, createdAtSeconds, slowMs, stored };

  const server = createServer((request, response) => {
    void receive(request, response);
  });
  // The caller's pool decides how long a connection lives, not this server.
  server.keepAliveTimeout = 0;
  const connections = numberConnections(server);
  const origin = await listen(server, options.port ?? 0);

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const exchange = openExchange(request, response, body, connections.get(request.socket) ?? 0);
    record(exchange, log, exchanges);
    if (!request.complete) return;
    const queued = scripts.shift();
    const script = (): Script => queued ?? replyTo(exchange.call, origin, context, options);
    await perform(script, exchange, paceMs);
  }

  return {
    origin,
    openaiBaseUrl: `${origin}/v1`,
    geminiBaseUrl: `${origin}/v1beta`,
    anthropicBaseUrl: `${origin}/v1`,
    vertexBaseUrl: `${origin}/v1`,
    bedrockBaseUrls: { runtime: origin, mantle: `${origin}/bedrock-mantle/anthropic/v1` },
    calls: log.calls,
    nextCall: () => log.next(),
    enqueue: (...added) => {
      scripts.push(...added);
    },
    reset: () => {
      log.clear();
      scripts.length = 0;
      serial = 0;
      stored.clear();
      for (const exchange of exchanges) exchange.breakOff('close');
    },
    openConnections: () => connections.size,
    close: async () => {
      log.close();
      for (const exchange of exchanges) exchange.breakOff('close');
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const socket of connections.keys()) socket.destroy();
      await closed;
    },
  };
}

const noMoreCalls = 'The fake upstream was closed before another call arrived.';

/** Calls in the order in which their bodies were received. */
class CallLog {
  readonly calls: RecordedCall[] = [];
  readonly #unread: RecordedCall[] = [];
  readonly #waiters: {
    readonly resolve: (call: RecordedCall) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  #isClosed = false;

  add(call: RecordedCall): void {
    this.calls.push(call);
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#unread.push(call);
    else waiter.resolve(call);
  }

  /** Returns each call once, oldest first; waits if there is no further call. */
  next(): Promise<RecordedCall> {
    const call = this.#unread.shift();
    if (call !== undefined) return Promise.resolve(call);
    if (this.#isClosed) return Promise.reject(new Error(noMoreCalls));
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
    });
  }

  /** Removes the calls; pending waits continue. */
  clear(): void {
    this.calls.length = 0;
    this.#unread.length = 0;
  }

  /** Rejects pending and later waits, since no call will arrive. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiters.splice(0)) reject(new Error(noMoreCalls));
  }
}

/** The open sockets, numbered from 1 in the order in which they were accepted. */
function numberConnections(server: Server): ReadonlyMap<Socket, number> {
  const connections = new Map<Socket, number>();
  let count = 0;
  server.on('connection', (socket: Socket) => {
    connections.set(socket, ++count);
    socket.unref();
    socket.once('close', () => connections.delete(socket));
  });
  return connections;
}

function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.unref();
      resolve(`http://127.0.0.1:${portOf(server.address())}`);
    });
  });
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** The received part of the body; all of it unless the caller disconnected. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {
      // The `close` event that follows reports that the caller disconnected.
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('close', () => resolve(Buffer.concat(chunks)));
  });
}

function record(exchange: Exchange, log: CallLog, exchanges: Set<Exchange>): void {
  exchanges.add(exchange);
  void exchange.call.closed.then(() => exchanges.delete(exchange));
  log.add(exchange.call);
}

function replyTo(
  call: RecordedCall,
  origin: string,
  context: ReplyContext,
  { apiKey, respond }: FakeUpstreamOptions,
): Script {
  const [path = '', search = ''] = call.path.split(/\?(.*)/s);
  const { method, headers } = call;
  const request: ProviderRequest = {
    method,
    path,
    query: new URLSearchParams(search),
    headers,
    body: call.json(),
    origin,
  };
  const provider = providers.find((candidate) => candidate.owns(path)) ?? openai;
  const refusal = apiKey === undefined ? undefined : provider.refuseKey(request, apiKey);
  return refusal ?? respond?.(call) ?? provider.reply(request, context);
}

/** Plays a script. If it can't be made or sent, the caller gets an error instead of waiting. */
async function perform(script: () => Script, exchange: Exchange, paceMs: number): Promise<void> {
  const { response } = exchange;
  try {
    await play(script(), exchange, paceMs);
  } catch (error) {
    if (response.headersSent) return exchange.breakOff('reset');
    response.writeHead(500, { 'content-type': 'text/plain' });
    response.end(`The fake upstream can't play this script: ${String(error)}\n`);
  }
}
