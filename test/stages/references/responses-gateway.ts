/**
 * A gateway for tests of what later calls may refer to: a Responses model with a channel on each of
 * two accounts, two keys, and an upstream that gives every reply new ids.
 */

import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import type { CallHandler, DrivenCall } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  callerSecret,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, model } from '../../support/models.ts';

/** A gateway, and how its callers call it. */
export interface ResponsesGateway extends InProcessGateway {
  /** Calls as the key with this id, with these members, or with this text as the body. */
  ask(members: object | string, keyId?: string): Promise<CallerReply>;
  /** Asks for a stored reply: `GET resp_1`, `GET resp_1/input_items?limit=1`. */
  stored(request: string, keyId?: string): Promise<CallerReply>;
  /** Changes the catalog. */
  replaceChannels(channels: readonly Partial<Channel>[]): void;
  /** The bodies that reached the upstream, as text. */
  sent(): readonly string[];
  /** The hosts that they were sent to: `eu` or `us`. */
  hosts(): readonly string[];
}

/** What differs from the plain gateway. */
export interface ResponsesSetup {
  readonly model?: Partial<Model>;
  readonly channels?: readonly Partial<Channel>[];
  readonly options?: Partial<GatewayOptions>;
  readonly keys?: Readonly<Record<string, Partial<ApiKey>>>;
  /** Handles the calls in place of {@link answer}. */
  readonly upstream?: CallHandler;
  /** Distinguishes the ids of replies of several gateways. */
  readonly name?: string;
}

/** A channel on the account of one region. */
export function regional(region: string, change: Partial<Channel> = {}): Channel {
  return channel({
    id: region,
    account: `account-${region}`,
    baseUrl: `https://${region}.example/v1`,
    capabilities: { responses: true },
    ...change,
  });
}

/** Creates the gateway. The channel `eu` is chosen first as long as nothing else decides. */
export function responsesGateway(setup: ResponsesSetup = {}): ResponsesGateway {
  const { channels = [regional('eu'), regional('us', { priority: 1 })], name = '' } = setup;
  let replies = 0;
  const handler: CallHandler =
    setup.upstream ??
    ((call) => {
      replies += 1;
      answer(call, `${name}${replies}`);
    });
  const keyOf = (id: string): ApiKey => ({
    id,
    group: 'staff',
    disabled: false,
    quota: [{ id, period: 'total', limitNanos: 1_000_000_000n }],
    ...setup.keys?.[id],
  });
  const modelOver = (used: readonly Partial<Channel>[]): Model =>
    model({
      id: 'm',
      protocols: ['responses'],
      contextTokens: 100_000,
      ...setup.model,
      channels: used.map((one) => regional('eu', one)),
    });
  const inProcess = gatewayInProcess({
    handlers: new Array<CallHandler>(200).fill(handler),
    models: [modelOver(channels)],
    options: {
      keys: {
        find: (secret) =>
          secret.startsWith(`${callerSecret}-`)
            ? keyOf(secret.slice(callerSecret.length + 1))
            : undefined,
      },
      ...setup.options,
    },
  });
  const { calls } = inProcess.upstream;
  return {
    ...inProcess,
    stored: (request, keyId = 'k1') => {
      const [method = '', target = ''] = request.split(' ');
      const [id = '', search = ''] = target.split('?');
      const headers = { authorization: `Bearer ${callerSecret}-${keyId}`, 'x-vendor-api-key': '' };
      return inProcess.call({ method, path: `/v1/responses/${id}`, search, headers });
    },
    replaceChannels: (changed) => {
      inProcess.gateway.update({ catalog: staticCatalog([modelOver(changed)]) });
    },
    ask: (members, keyId = 'k1') =>
      inProcess.call({
        path: '/v1/responses',
        headers: { authorization: `Bearer ${callerSecret}-${keyId}`, 'x-vendor-api-key': '' },
        body: typeof members === 'string' ? members : { model: 'm', input: 'hi', ...members },
      }),
    sent: () => calls.map(({ request }) => Buffer.concat(request.body).toString()),
    hosts: () => calls.map(({ request }) => new URL(request.origin).hostname.split('.')[0] ?? ''),
  };
}

/** The members of a reply that tests read. */
export interface ReplyDocument {
  readonly id: string;
  readonly output: readonly { readonly id: string; readonly type: string }[];
}

/** The document of a reply, with a reasoning item and a message. */
export function replyDocument(number: string): ReplyDocument {
  const document = {
    id: `resp_${number}`,
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [
      { id: `rs_${number}`, type: 'reasoning', summary: [], encrypted_content: 'gAAAAsealed' },
      {
        id: `msg_${number}`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hello', annotations: [] }],
      },
    ],
    usage: { input_tokens: 30, output_tokens: 12, total_tokens: 42 },
  };
  return document;
}

/** Answers a call as OpenAI does, streamed if it asks for it. */
export function answer(call: DrivenCall, number: string): void {
  const body = Buffer.concat(call.request.body).toString();
  const document = replyDocument(number);
  if (!body.includes('"stream":true')) return call.answer(200, document);
  call.respond(200, { 'content-type': 'text/event-stream' });
  const events: readonly object[] = [
    { type: 'response.created', response: { ...document, status: 'in_progress', output: [] } },
    ...document.output.map((item, at) => ({
      type: 'response.output_item.done',
      output_index: at,
      item,
    })),
    { type: 'response.completed', response: document },
  ];
  for (const [at, event] of events.entries()) {
    const data = JSON.stringify({ ...event, sequence_number: at });
    call.write(`event: ${Reflect.get(event, 'type')}\ndata: ${data}\n\n`);
  }
  call.end();
}

/** The error object of a reply. */
export function errorIn({ text }: CallerReply): Readonly<Record<string, unknown>> {
  return JSON.parse(text).error;
}

/** A body with one reference to a stored item. */
export function referTo(id: string): object {
  return { input: [{ type: 'item_reference', id }] };
}

/** A body that continues a stored reply. */
export function continueFrom(id: string): object {
  return { previous_response_id: id };
}

/** Reasoning as its provider has encrypted it. */
export const sealedItem: object = {
  type: 'reasoning',
  summary: [],
  encrypted_content: 'gAAAAsealed',
};

/** A body with encrypted reasoning. */
export function sealed(id?: string): object {
  const item = id === undefined ? sealedItem : { ...sealedItem, id };
  return { input: [item, { role: 'user', content: 'go' }] };
}

/** Makes a reply that the account `us` has. */
export async function replyFromUs(gateway: ResponsesGateway, members: object = {}): Promise<void> {
  gateway.gateway.disableChannel('eu');
  await gateway.ask(members);
  gateway.gateway.enableChannel('eu');
}
