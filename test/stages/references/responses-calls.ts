/** Responses calls with tools, and what becomes of them. */
import { expect } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import { tokenPrice } from '../../../src/prices/codec.ts';
import type { MembersInput } from '../../../src/prices/price-json.ts';
import {
  type CallerReply,
  type CallerRequest,
  gatewayInProcess,
  untouched,
} from '../../support/gateway-in-process.ts';
import { model } from '../../support/models.ts';

/** A Responses call with other members. */
export const request = (members: JsonObject): CallerRequest => ({
  path: '/v1/responses',
  body: { model: 'chat', input: 'hi', ...members },
});

/** A model for Responses: 1 nano per prompt token, 2 per completion token. */
export function responsesModel(members: MembersInput = {}, change: Partial<Model> = {}): Model {
  return model({
    protocols: ['responses'],
    price: tokenPrice({ input: '0.001', output: '0.002', members }),
    ...change,
  });
}

/** The quota of a key that can pay for every tool. */
export const ample = [{ id: 'caller', period: 'total', limitNanos: 1_000_000_000n }] as const;
const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

/** A reply of 10 and 5 tokens. */
export function response(output: readonly JsonValue[], more: JsonObject = {}): JsonObject {
  return { id: 'resp_1', object: 'response', status: 'completed', output, usage, ...more };
}

/** What a call was answered, what was sent upstream, and its record. */
export interface Run {
  readonly reply: CallerReply;
  readonly sent: string;
  readonly record: UsageRecord;
}

/** Sends a call that reaches the upstream. */
export async function run(
  call: CallerRequest,
  of: Model,
  answer: JsonObject = response([]),
): Promise<Run> {
  let sent = '';
  const harness = gatewayInProcess({
    key: { quota: ample },
    models: [of],
    handlers: [
      (up) => {
        sent = Buffer.concat(up.request.body).toString();
        up.answer(200, JSON.stringify(answer), { 'content-type': 'application/json' });
      },
    ],
  });
  const reply = await harness.call(call);
  return { reply, sent, record: await harness.nextRecord() };
}

/** Sends a call that is refused before anything is held. */
export async function refusal(
  call: CallerRequest,
  of: Model = responsesModel(),
): Promise<CallerReply> {
  const harness = gatewayInProcess({ models: [of] });
  const reply = await harness.call(call);
  expect(await harness.state()).toEqual(untouched);
  return reply;
}

/** A function of the caller. */
export const weather = { type: 'function', name: 'weather', parameters: {} };
/** The search that Codex declares. */
export const search = { type: 'web_search', external_web_access: false };
