/**
 * A gateway in process that serves every model name over one channel, for tests of relayed and
 * translated calls.
 */

import { setImmediate } from 'node:timers/promises';
import { apiCalls, protocolNames } from '../../src/apis.ts';
import type { DialectTable } from '../../src/dialects/table.ts';
import type { GatewayEvent } from '../../src/events/events.ts';
import type { Gateway } from '../../src/gateway.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import type { ProtocolTable } from '../../src/protocols/table.ts';
import {
  type CallerRequest as AnyCallerRequest,
  bytesOf,
  type CallerReply,
  callerSecret,
  gatewayInProcess,
} from './gateway-in-process.ts';

/** A request with its body as it is sent. */
export interface CallerRequest extends AnyCallerRequest {
  readonly body: Uint8Array | string;
}

/** The gateway with its one key. */
export interface AnyModelGateway {
  readonly gateway: Gateway;
  readonly records: readonly UsageRecord[];
  /** The events so far, without those of every call's regular course. */
  readonly events: readonly GatewayEvent[];
  call(request: CallerRequest): Promise<CallerReply>;
}

/** What differs from the plain gateway. */
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

/** Creates the gateway. */
export function anyModelGateway(setup: AnyModelSetup = {}): AnyModelGateway {
  const { upstream, channel, model, table, rows } = setup;
  // The caller's own dialect, and so a relay, unless the test sets another.
  let dialect: DialectName = 'openai';
  const find = (id: string): Model => ({
    ...anyModel,
    id,
    channels: [{ ...plainChannel(dialect), ...channel }],
    // What makes no output has no price per image.
    ...(model?.price?.per === 'image' ? { protocols: contentProtocols } : {}),
    ...model,
  });
  const { gateway, records, events, call } = gatewayInProcess({
    key: { id: 'k1', quota: [{ id: 'staff', period: 'total', limitNanos: 1_000_000_000n }] },
    tables: {
      ...(table === undefined ? {} : { dialects: table }),
      ...(rows === undefined ? {} : { protocols: rows }),
    },
    options: {
      catalog: { find, list: () => [] },
      ...(upstream === undefined ? {} : { upstream }),
    },
  });
  return {
    gateway,
    records,
    events,
    call: async (request) => {
      dialect = ownDialect(request.path);
      const headers = { ...headersOf(bytesOf(request.body)), ...request.headers };
      const reply = await call({ ...request, headers });
      // The record is written after the reply; memory stores need no more than a turn.
      await setImmediate();
      return reply;
    },
  };
}

function ownDialect(path: string): DialectName {
  if (path.startsWith('/v1beta')) return 'gemini';
  return path.startsWith('/v1/messages') ? 'anthropic' : 'openai';
}

/** The headers of every call; they include the header in which Google's SDK sends the key. */
function headersOf(body: Uint8Array): Readonly<Record<string, string>> {
  return {
    'x-goog-api-key': callerSecret,
    'content-type': 'application/json',
    'content-length': String(body.length),
  };
}

const contentProtocols = protocolNames.filter((name) => apiCalls[name].operation.hasOutputTokens);
const anyModel = {
  vendor: 'Acme',
  protocols: protocolNames,
  groups: ['staff'],
  price: { per: 'token', rates: { input: 1_000_000n, output: 1_000_000n } },
  maxOutputTokens: 1_000,
  contextTokens: 1_000_000,
} as const satisfies Partial<Model>;

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

/** A Responses request; by default the body requests a stream. */
export function responses(body: Uint8Array | string = streamedResponse): CallerRequest {
  return { path: '/v1/responses', body };
}

/** An embeddings request. */
export function embeddings(body: Uint8Array | string = oneInput): CallerRequest {
  return { path: '/v1/embeddings', body };
}

const oneInput = '{"model":"m","input":"hi"}';

/** A native embedding request, by default of a batch. */
export function nativeEmbeddings(
  body: Uint8Array | string = nativeBatch,
  method: 'embedContent' | 'batchEmbedContents' = 'batchEmbedContents',
): CallerRequest {
  return { path: `/v1beta/models/m:${method}`, body };
}

const nativeBatch =
  '{"requests":[{"model":"models/m","content":{"parts":[{"text":"hi"}]}},' +
  '{"content":{"parts":[{"text":"ho"}]}}]}';

/** A Messages request; by default the body requests a stream. */
export function messages(body: Uint8Array | string = streamedMessage): CallerRequest {
  return { path: '/v1/messages', body };
}

const streamedMessage =
  '{"model":"m","max_tokens":999,"messages":[{"role":"user","content":"hi"}],"stream":true}';

/** The same request without streaming. */
export const wholeMessage: string = streamedMessage.replace('true', 'false');

const streamedResponse = '{"model":"m","input":"hi","stream":true}';

/** The same request without streaming. */
export const wholeResponse: string = streamedResponse.replace('true', 'false');

const streamedChat = '{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}';
const nativeHello = '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}';

/** The same chat without streaming. */
export const wholeChat: string = streamedChat.replace('true', 'false');
/** The same chat with `include_usage`. */
export const chatWithUsage: string = streamedChat.replace(
  '}]',
  '}],"stream_options":{"include_usage":true}',
);
