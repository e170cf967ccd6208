/** Sends one request of a cell through a gateway, in-process, and shows both of its sides. */
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../../src/json.ts';
import {
  type AnyModelSetup,
  anyModelGateway,
  chat,
  messages,
  native,
  responses,
} from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { type ScriptedReply, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { isRelay, models, type RequestColumn } from './columns.ts';

/** A request and what became of it. */
export interface Called {
  /** What the caller sent. */
  readonly sent: string;
  /** What the upstream was sent, where the call came that far. */
  readonly upstream: JsonValue | undefined;
  /** Whether it is the caller's bytes. */
  readonly isUntouched: boolean;
  readonly answer: CallerReply;
  /** The names in `x-tollgate-dropped`. */
  readonly dropped: readonly string[];
}

/** Calls as a caller of the column does; `body` needs no more than what it is about. */
export async function called(
  column: RequestColumn,
  streamed: boolean,
  body: JsonObject,
  reply: ScriptedReply,
  setup: Pick<AnyModelSetup, 'channel' | 'model'> = {},
): Promise<Called> {
  const { dialect, protocol } = column;
  const upstream = scriptedUpstream(reply);
  const upstreamModel = isRelay(column) ? 'm' : models[dialect];
  const capabilities = protocol === 'responses' ? { responses: false } : {};
  const channel = { dialect, upstreamModel, capabilities, ...setup.channel };
  // Free, and allowed what only the model's record can allow: the table is about translation.
  const model = { price: { per: 'free' }, allow: { file_id: true }, ...setup.model } as const;
  const gateway = anyModelGateway({ upstream, channel, model });
  const sent = JSON.stringify(bodies[protocol](body, streamed));
  const requests = {
    chat: () => chat(sent),
    native: () => native(streamed ? 'sse' : 'json', sent),
    responses: () => responses(sent),
    messages: () => messages(sent),
  } as const;
  const answer = await gateway.call(requests[protocol]());
  const [request] = upstream.requests;
  const bytes =
    request === undefined ? '' : Buffer.concat(request.body.map(Buffer.from)).toString();
  const dropped = answer.headers['x-tollgate-dropped'] ?? '';
  return {
    sent,
    upstream: parseJson(bytes),
    isUntouched: bytes === sent,
    answer,
    dropped: dropped === '' ? [] : dropped.split(','),
  };
}

function chatBody(body: JsonObject, stream: boolean): JsonObject {
  const messages = [{ role: 'user', content: 'hi' }];
  const usage = stream ? { stream_options: { include_usage: true } } : {};
  return { model: 'm', messages, ...body, stream, ...usage };
}

function nativeBody(body: JsonObject): JsonObject {
  return { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], ...body };
}

const bodies = {
  chat: chatBody,
  native: nativeBody,
  responses: (body: JsonObject, stream: boolean) => ({ model: 'm', input: 'hi', ...body, stream }),
  messages: (body: JsonObject, stream: boolean) => ({
    model: 'm',
    max_tokens: 64,
    messages: [{ role: 'user', content: 'hi' }],
    ...body,
    stream,
  }),
} as const;

/** The error of an answer in either dialect. */
export function errorOf(reply: CallerReply): JsonObject | undefined {
  const document = parseJson(reply.text);
  const error = isJsonObject(document) ? document.error : undefined;
  return isJsonObject(error) ? error : undefined;
}
