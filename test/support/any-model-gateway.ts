/** A real gateway that tests call in-process: no port, no socket, and a fake clock. */
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { type DialectTable, dialects } from '../../src/dialects/table.ts';
import { type Gateway, gatewayOver } from '../../src/gateway.ts';
import type { GatewayResponse } from '../../src/http.ts';
import type { Channel, DialectName, Model } from '../../src/ports/catalog.ts';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { type ProtocolTable, protocols } from '../../src/protocols/table.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { countedIds } from './counted-ids.ts';

/** A request to the gateway. */
export interface CallerRequest {
  readonly path: string;
  readonly search?: string;
  readonly body: Uint8Array | string;
  /** In addition to those that every call has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Everything that a caller sees of an answer. */
export interface CallerReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly text: string;
  /** The writes, one for each turn of the event loop. */
  readonly writes: readonly Buffer[];
  /** The connection was cut: the reply did not end. */
  readonly isCut: boolean;
}

/** A gateway with one key, and one channel for every model name. */
export interface AnyModelGateway {
  readonly gateway: Gateway;
  readonly records: readonly UsageRecord[];
  call(asked: CallerRequest): Promise<CallerReply>;
}

/** Differences from the plain case. */
export interface AnyModelSetup {
  readonly upstream?: UpstreamClient;
  readonly channel?: Partial<Channel>;
  readonly model?: Partial<Model>;
  /** The dialect table, for tests with their own dialect. */
  readonly table?: DialectTable;
  /** The protocol table, for tests with their own protocol. */
  readonly rows?: ProtocolTable;
}

/** The secret of the upstream account, which callers must never see. */
export const upstreamSecret = 'account-secret-4711';
/** The host of the upstream, which callers must never see. */
export const upstreamHost = 'gpu7.internal.example';

const callerSecret = 'caller-secret';

/** Creates a gateway; nothing must be closed, because no timer or socket is real. */
export function anyModelGateway(setup: AnyModelSetup = {}): AnyModelGateway {
  const { upstream, channel, model, table = dialects, rows = protocols } = setup;
  const clock = fakeClock();
  const usage = memoryUsageSink();
  const pricePerMillion = 1_000_000n;
  const anyModel = (id: string): Model => ({
    id,
    vendor: 'Acme',
    protocols: ['chat', 'images', 'native'],
    groups: ['staff'],
    price: {
      per: 'token',
      rates: { input: pricePerMillion, output: pricePerMillion },
    },
    maxOutputTokens: 1_000,
    contextTokens: 1_000_000,
    channels: [{ ...plainChannel(relaying), ...channel }],
    ...model,
  });
  // The caller's own dialect, and so a relay, unless the test sets another.
  let relaying: DialectName = 'openai';
  const quota = [{ id: 'staff', period: 'total', limitNanos: 1_000_000_000n }] as const;
  const gateway = gatewayOver(
    { dialects: table, protocols: rows },
    {
      keys: memoryKeyStore({
        pepper: 'test',
        allowWeakKeys: true,
        keys: [{ secret: callerSecret, key: { id: 'k1', group: 'staff', disabled: false, quota } }],
      }),
      quota: memoryQuotaStore({ clock }),
      catalog: { find: anyModel, list: () => [] },
      usage,
      clock,
      ids: countedIds(),
      ...(upstream === undefined ? {} : { upstream }),
    },
  );
  return {
    gateway,
    get records() {
      return usage.records;
    },
    call: (asked) => {
      relaying = asked.path.startsWith('/v1beta') ? 'gemini' : 'openai';
      return callGateway(gateway, asked);
    },
  };
}

function plainChannel(dialect: DialectName): Channel {
  return {
    id: dialect,
    dialect,
    baseUrl: `https://${upstreamHost}/v1`,
    credential: upstreamSecret,
    priority: 0,
    weight: 1,
  };
}

/** Sends one request as an adapter would, and collects the answer as a socket would. */
async function callGateway(gateway: Gateway, asked: CallerRequest): Promise<CallerReply> {
  const body = Buffer.from(asked.body);
  const headers = {
    authorization: `Bearer ${callerSecret}`,
    'x-goog-api-key': callerSecret,
    'content-type': 'application/json',
    'content-length': String(body.length),
    ...asked.headers,
  };
  const response = await gateway.handle({
    method: 'POST',
    path: asked.path,
    search: asked.search ?? '',
    headers,
    rawHeaders: Object.entries(headers).flat(),
    body,
    onClose: () => {},
  });
  const { writes, cut: isCut } = await received(response);
  // The record is written after the answer; memory stores need no more than a turn.
  await setImmediate();
  const bytes = Buffer.concat(writes);
  const { status } = response;
  return { status, headers: response.headers, bytes, text: bytes.toString(), writes, isCut };
}

function received(
  response: GatewayResponse,
): Promise<{ readonly writes: readonly Buffer[]; readonly cut: boolean }> {
  const { body } = response;
  if (body instanceof Uint8Array) {
    return Promise.resolve({ writes: [Buffer.from(body)], cut: false });
  }
  return new Promise((resolve) => {
    const writes: Buffer[] = [];
    const socket = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        writes.push(chunk);
        done();
      },
    });
    socket.once('close', () => resolve({ writes, cut: !socket.writableFinished }));
    body.sendTo(socket);
  });
}

/** A chat request; by default the body requests a stream. */
export function chat(body: Uint8Array | string = streamedChat): CallerRequest {
  return { path: '/v1/chat/completions', body };
}

/** An image request. */
export function images(
  body: Uint8Array | string = '{"model":"m","prompt":"a cat"}',
): CallerRequest {
  return { path: '/v1/images/generations', body };
}

/** A native request; `framing` selects the layout of the reply. */
export function native(
  framing: 'json' | 'sse' | 'json_array' = 'sse',
  body: Uint8Array | string = nativeHello,
): CallerRequest {
  const method = framing === 'json' ? 'generateContent' : 'streamGenerateContent';
  return {
    path: `/v1beta/models/m:${method}`,
    search: framing === 'sse' ? 'alt=sse' : '',
    body,
  };
}

const streamedChat = '{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}';
const nativeHello = '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}';

/** The same chat without streaming. */
export const wholeChat: string = streamedChat.replace('true', 'false');
/** The same chat with `include_usage`. */
export const chatWithUsage: string = streamedChat.replace(
  '}]',
  '}],"stream_options":{"include_usage":true}',
);
