/**
 * Calls full of canary texts through a real gateway: chats, streams, images and native calls that
 * succeed and fail, repeated and resolved ones. The stores must not keep any canary.
 */
import { expect, vi } from 'vitest';
import type { PublishedModel } from '../../src/catalog/published-models.ts';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { UpstreamError } from '../../src/errors.ts';
import type { GatewayOptions } from '../../src/gateway-options.ts';
import { type IssuedKey, issueKey } from '../../src/issue-key.ts';
import { defaultPartition } from '../../src/ports/limits/quota-input.ts';
import type { AdjustInput } from '../../src/ports/limits/quota-store.ts';
import type { Catalog, Model } from '../../src/ports/models/catalog.ts';
import type { IdempotencyStore } from '../../src/ports/replies/idempotency-store.ts';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import type { UsageRecord, UsageSink } from '../../src/ports/usage-sink.ts';
import { type Canaries, canaries as common, found, leakOf } from '../faults/canaries.ts';
import { keyed } from '../stages/idempotency/idempotent-calls.ts';
import {
  type CallHandler,
  type DrivenUpstream,
  drivenUpstream,
} from '../support/driven-upstream.ts';
import { type CallerRequest, gatewayInProcess } from '../support/gateway-in-process.ts';
import { chat, defaultModels, events, headersOf, image } from '../support/models.ts';

/** The caller's key; a test adds it to its store. */
export const caller: IssuedKey = issueKey({
  id: 'canary-caller',
  group: 'staff',
  limitNanos: 10n ** 12n,
});

/** Texts that no store may contain. */
export const canaries: Canaries & Readonly<Record<'completion' | 'idempotencyKey', string>> = {
  ...common,
  callerKey: caller.secret,
  upstreamHost: 'canary-gpu7.internal.example',
  completion: 'canary-completion on the same private matter',
  idempotencyKey: 'canary-order-4711',
};

/** The models, in the form of a database, with names in place of secrets. */
export const canaryModels: readonly (PublishedModel & Pick<Model, 'price'>)[] = defaultModels()
  .filter(({ id }) => ['chat', 'image', 'native'].includes(id))
  .map((model) => ({
    ...model,
    channels: model.channels.map((channel) => ({
      ...channel,
      baseUrl: `https://${canaries.upstreamHost}/v1`,
      credential: { name: 'account' },
    })),
  }));

/** An operator's adjustment, so that no quota table is empty. */
export const adjustment: AdjustInput = {
  id: 'adjustment-of-canaries',
  partition: defaultPartition,
  subject: caller.key.id,
  period: '',
  addLimit: 1n,
};

/** The stores of the gateway. Every sink receives every record. */
export interface CanaryStores extends Omit<GatewayOptions, 'catalog' | 'usage'> {
  readonly idempotency: IdempotencyStore;
  /** Default: a static catalog of the same models. */
  readonly catalog?: Catalog;
  readonly sinks?: readonly UsageSink[];
}

/** Runs all calls and closes the gateway, which flushes the sinks. */
export async function runCanaryCalls({ sinks = [], ...stores }: CanaryStores): Promise<void> {
  const records: UsageRecord[] = [];
  const driven = drivenUpstream(...steps.flatMap(({ handler }) => handler ?? []));
  const { gateway, call } = gatewayInProcess({
    options: {
      catalog: staticCatalog(modelsWithSecret()),
      ...stores,
      upstream: downAtFirst(driven),
      usage: {
        record: async (entry) => {
          records.push(entry);
          for (const sink of sinks) await sink.record(entry);
        },
        close: async () => {
          for (const sink of sinks) await sink.close();
        },
      },
    },
  });

  const answers = [];
  for (const { request } of steps) answers.push(await call(withKey(request)));
  // A repeated call is answered from the store and has no record.
  await vi.waitFor(() => expect(records).toHaveLength(driven.calls.length + 1));
  const inDoubt = records.find(
    ({ protocol, outcome }) => protocol === 'images' && outcome === 'unknown',
  );
  if (inDoubt !== undefined) await gateway.resolveUnknown(inDoubt, { ran: true });
  await gateway.close();

  expect(answers.map(({ status }) => status)).toEqual(steps.map(({ status }) => status));
  expect(records.at(-1)).toMatchObject({ outcome: 'complete', reason: 'resolved' });
  const wire = {
    requests: steps.map(({ request }) => withKey(request)),
    answers,
    sent: sentTo(driven),
  };
  expect(canariesIn({ wire })).toHaveLength(Object.keys(canaries).length);
}

/** The canaries found, also only their beginnings, as `prompt in usage`. */
export function canariesIn(places: Readonly<Record<string, unknown>>): readonly string[] {
  const beginnings = Object.entries(canaries).map(([name, canary]) => [name, canary.slice(0, 20)]);
  return found(Object.fromEntries(beginnings), places);
}

interface Step {
  readonly request: CallerRequest;
  /** The upstream's part; undefined where the call does not reach it. */
  readonly handler?: CallHandler;
  readonly status: number;
}

const { prompt, base64, completion, idempotencyKey } = canaries;
const leak = { error: { message: leakOf(canaries), type: leakOf(canaries), code: completion } };
const tokens = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const chatReply = {
  choices: [{ index: 0, message: { role: 'assistant', content: completion } }],
  usage: tokens,
};
const imageReply = { created: 1, data: [{ b64_json: base64, revised_prompt: prompt }] };
const streamPiece = { choices: [{ index: 0, delta: { content: completion } }] };

const messages = [
  {
    role: 'user',
    content: [
      { type: 'text', text: prompt },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
    ],
  },
];
const chatRequest = chat({ messages });
const streamRequest = chat({ messages, stream: true });
const imageRequest = image({ prompt });
const nativeRequest: CallerRequest = {
  path: '/v1beta/models/native:generateContent',
  body: {
    contents: [
      { parts: [{ text: prompt }, { inlineData: { mimeType: 'image/png', data: base64 } }] },
    ],
  },
};

/** The first call fails to connect. */
const steps: readonly Step[] = [
  { request: chatRequest, status: 502 },
  { request: keyed(chatRequest, idempotencyKey), handler: answers(200, chatReply), status: 200 },
  { request: keyed(chatRequest, idempotencyKey), status: 200 },
  {
    request: streamRequest,
    handler: streams(streamPiece, { choices: [], usage: tokens }, '[DONE]'),
    status: 200,
  },
  { request: keyed(imageRequest, idempotencyKey), handler: answers(200, imageReply), status: 200 },
  { request: keyed(imageRequest, idempotencyKey), status: 200 },
  {
    request: nativeRequest,
    handler: answers(200, {
      candidates: [{ content: { parts: [{ text: completion }] }, finishReason: 'STOP' }],
    }),
    status: 200,
  },
  { request: chatRequest, handler: answers(400, leak), status: 400 },
  // The stream fails after it has begun.
  { request: streamRequest, handler: streams(streamPiece, leak), status: 200 },
  // Two calls in doubt: one will be resolved, the other stays held.
  { request: keyed(imageRequest, `${idempotencyKey}-2`), handler: answers(500, leak), status: 502 },
  { request: imageRequest, handler: answers(500, leak), status: 502 },
  // Refused, with private text wherever a caller may put some.
  { request: chat({ messages, model: prompt }), status: 404 },
  { request: { ...chatRequest, body: `{ "model": "${prompt}` }, status: 400 },
  { request: { ...chatRequest, path: `/v1/${completion}` }, status: 404 },
];

function answers(status: number, body: unknown): CallHandler {
  return (up) => up.answer(status, body);
}

function streams(...data: readonly unknown[]): CallHandler {
  return (up) => up.answer(200, events(...data), headersOf('chatStream'));
}

/** The first call fails to connect, with an error that contains every canary. */
function downAtFirst(upstream: DrivenUpstream): UpstreamClient {
  let isDown = true;
  return {
    send: (request) => {
      if (!isDown) return upstream.send(request);
      isDown = false;
      const cause = new Error(`connect ECONNREFUSED ${leakOf(canaries)}`);
      return Promise.reject(new UpstreamError('connect', 'connect_refused', { cause }));
    },
    close: () => upstream.close(),
  };
}

function withKey(request: CallerRequest): CallerRequest {
  const authorization = `Bearer ${caller.secret}`;
  const headers = { ...request.headers, authorization, 'x-vendor-api-key': caller.secret };
  return { ...request, headers };
}

function sentTo({ calls }: DrivenUpstream): readonly unknown[] {
  return calls.map(({ request: { origin, path, headers, body } }) => ({
    address: `${origin}${path}`,
    headers,
    body: Buffer.concat(body).toString(),
  }));
}

function modelsWithSecret(): Parameters<typeof staticCatalog>[0] {
  return canaryModels.map((model) => ({
    ...model,
    channels: model.channels.map((channel) => ({ ...channel, credential: canaries.upstreamKey })),
  }));
}
