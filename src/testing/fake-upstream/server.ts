/**
 * A real HTTP server that behaves like OpenAI, like Google and like Anthropic, playing recorded
 * traffic, or scripts queued by a test. It listens on 127.0.0.1 only and holds no process open.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { anthropic } from './anthropic.ts';
import { type CallLog, callLog } from './call-log.ts';
import { type Exchange, openExchange, type RecordedCall } from './exchange.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';
import { play } from './play.ts';
import type { Asked, Provider, World } from './provider.ts';
import type { Script } from './scripts.ts';

/** How the fake upstream is set up; all may be left out. */
export interface FakeUpstreamOptions {
  /** Where it listens; the operating system chooses where left out. */
  readonly port?: number;
  /** Pause between two pieces of an answer. 0, the default, sends them as fast as they are read. */
  readonly paceMs?: number;
  /** Demanded of callers in each provider's own header; queued scripts are played to anyone. */
  readonly apiKey?: string;
  /** What answers say in `created`. Fixed by default, so that runs are alike. */
  readonly createdAtSeconds?: number;
  /** How long the model `demo-slow` waits, 3 seconds by default. */
  readonly slowMs?: number;
}

/** A running fake upstream. */
export interface FakeUpstream {
  /** `http://127.0.0.1:1234` */
  readonly origin: string;
  /** For a channel of the openai dialect: `http://127.0.0.1:1234/v1`. */
  readonly openaiBaseUrl: string;
  /** For a channel of the gemini dialect: `http://127.0.0.1:1234/v1beta`. */
  readonly geminiBaseUrl: string;
  /** For a channel of the anthropic dialect: `http://127.0.0.1:1234/v1`. */
  readonly anthropicBaseUrl: string;
  /** Every call since the start or the last reset, in order of arrival. */
  readonly calls: readonly RecordedCall[];
  /** Hands out each call once, oldest first; waits for one that has not come yet. */
  nextCall(): Promise<RecordedCall>;
  /**
   * Scripts for the next calls, whatever they ask, one each; recorded traffic again after the last.
   */
  enqueue(...scripts: readonly Script[]): void;
  /**
   * Forgets calls and queued scripts, counts ids from 1 again, and breaks off what is being
   * answered.
   */
  reset(): void;
  /** Sockets that callers hold open now. */
  openConnections(): number;
  /** Stops listening and closes every socket. */
  close(): Promise<void>;
}

// OpenAI last: it owns every path, to refuse what nobody knows. A new provider is a new row.
const providers: readonly Provider[] = [gemini, anthropic, openai];

/** Starts a fake upstream; rejects where the port is taken. */
export async function startFakeUpstream(options: FakeUpstreamOptions = {}): Promise<FakeUpstream> {
  const { paceMs = 0, apiKey, createdAtSeconds = 1_763_683_200, slowMs = 3000 } = options;
  const log = callLog();
  const scripts: Script[] = [];
  const exchanges = new Set<Exchange>();
  let serial = 0;
  const world: World = { serial: () => ++serial, createdAtSeconds, slowMs };

  const server = createServer((request, response) => {
    void receive(request, response);
  });
  // A caller's pool decides how long a connection lives, not a clock of ours.
  server.keepAliveTimeout = 0;
  const connections = numberConnections(server);
  const origin = await listen(server, options.port ?? 0);

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const exchange = openExchange(request, response, body, connections.get(request.socket) ?? 0);
    record(exchange, log, exchanges);
    if (!request.complete) return;
    const queued = scripts.shift();
    const script = (): Script => queued ?? answer(exchange.call, { origin, apiKey, world });
    await perform(script, exchange, paceMs);
  }

  return {
    origin,
    openaiBaseUrl: `${origin}/v1`,
    geminiBaseUrl: `${origin}/v1beta`,
    anthropicBaseUrl: `${origin}/v1`,
    calls: log.calls,
    nextCall: log.next,
    enqueue: (...added) => {
      scripts.push(...added);
    },
    reset: () => {
      log.clear();
      scripts.length = 0;
      serial = 0;
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

/** The sockets that are open, counted from 1 in the order in which they were accepted. */
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

/** What came of the body, all of it unless the caller left. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {
      // The `close` that follows tells all there is to tell: the caller left.
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

interface Setting {
  readonly origin: string;
  readonly apiKey: string | undefined;
  readonly world: World;
}

function answer(call: RecordedCall, { origin, apiKey, world }: Setting): Script {
  const [path = '', search = ''] = call.path.split(/\?(.*)/s);
  const { method, headers } = call;
  const asked: Asked = {
    method,
    path,
    query: new URLSearchParams(search),
    headers,
    body: call.json(),
    origin,
  };
  const provider = providers.find((candidate) => candidate.owns(path)) ?? openai;
  const refusal = apiKey === undefined ? undefined : provider.refuseKey(asked, apiKey);
  return refusal ?? provider.answer(asked, world);
}

/** Plays, and tells the caller of an answer that can't be made or sent, who would wait for ever. */
async function perform(script: () => Script, exchange: Exchange, paceMs: number): Promise<void> {
  const { response } = exchange;
  try {
    await play(script(), exchange, paceMs);
  } catch (error) {
    if (response.headersSent) return exchange.breakOff('reset');
    response.writeHead(500, { 'content-type': 'text/plain' });
    response.end(`The fake upstream cannot play this answer: ${String(error)}\n`);
  }
}
