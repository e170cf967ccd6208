// suite: slow
/**
 * Failures of relayed Responses streams: before their content they get a status, later the two
 * events on which all clients raise, and nothing of the upstream's secrets in either.
 */
import { describe, expect, it } from 'vitest';
import {
  anyModelGateway,
  responses,
  upstreamHost,
  upstreamSecret,
  wholeResponse,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { responsesFixture } from '../support/recorded/responses-fixtures.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { documentOf, eventsOf } from './oracle.ts';
import { json, sse } from './streams.ts';

const leaky = `Invalid key ${upstreamSecret} at https://${upstreamHost}/v1/responses`;

const created = event('response.created', {
  sequence_number: 0,
  response: {
    id: 'resp_1',
    object: 'response',
    created_at: 1_760_000_000,
    model: 'up',
    status: 'in_progress',
  },
});
const delta = event('response.output_text.delta', {
  sequence_number: 7,
  output_index: 0,
  delta: 'Once',
});

function event(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** Every form in which an upstream may state a failure in a stream. */
function forms(code: string): readonly (readonly [name: string, text: string])[] {
  const error = { type: 'x', code, message: leaky, param: null };
  const response = { id: 'resp_1', status: 'failed', error: { code, message: leaky } };
  return [
    ['nested', event('error', { sequence_number: 8, error })],
    ['flat', event('error', { sequence_number: 8, code, message: leaky, param: null })],
    ['without a name', `data: ${JSON.stringify({ type: 'error', code, message: leaky })}\n\n`],
    ['by its name alone', `event: error\ndata: ${JSON.stringify(error)}\n\n`],
    ['as chat has it', `data: ${JSON.stringify({ error })}\n\n`],
    ['as a failed response', event('response.failed', { response })],
    [
      'beside a response',
      event('response.failed', { error, response: { ...response, error: null } }),
    ],
    ['as a completed response', event('response.completed', { response })],
    ['in both events', event('error', { error }) + event('response.failed', { response })],
    ['without a frame', JSON.stringify({ error })],
    ['glued to an event', `${delta.trimEnd()}\n${JSON.stringify({ error })}\n\n`],
  ];
}

describe.each(forms('invalid_prompt'))('a failure %s', (_, text) => {
  it('before any content gets a status', async () => {
    const reply = await answered(sse(created, text));

    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).error).toMatchObject({
      type: 'invalid_request_error',
      code: 'invalid_prompt',
      message: expect.stringContaining('refused the request as invalid'),
    });
    expectNoLeak(reply);
  });

  it('after content ends the stream in the one form, however it is cut', async () => {
    for (const chunks of [
      [created, delta, text],
      [created, delta + text],
      [created, delta, ...text],
    ]) {
      const reply = await answered(sse(...chunks));

      expectBroken(reply, created + delta, 'invalid_prompt');
      expect(reply.text).toContain('refused the request as invalid');
      expectNoLeak(reply);
    }
  });
});

describe('the code of a failure', () => {
  it.each([
    ['server_error', 502, 'server_error'],
    ['rate_limit_exceeded', 429, 'rate_limit_exceeded'],
    ['insufficient_quota', 429, 'rate_limit_exceeded'],
    ['context_length_exceeded', 400, 'context_length_exceeded'],
    ['invalid_image_url', 400, 'invalid_image_url'],
    ['image_too_large', 400, 'image_too_large'],
    ['unheard_of', 502, 'server_error'],
  ])('%s is the status %i, or the code %s in a stream', async (code, status, streamCode) => {
    for (const [, text] of forms(code)) {
      const early = await answered(sse(created, text));
      const late = await answered(sse(created, delta, text));

      expect(early.status).toBe(status);
      expectBroken(late, created + delta, streamCode);
    }
  });

  it('of a whole reply is a status too, and the reply is not passed on', async () => {
    for (const [code, status] of [
      ['server_error', 502],
      ['rate_limit_exceeded', 429],
      ['invalid_prompt', 400],
    ] as const) {
      const reply = {
        ...JSON.parse(Buffer.from(responsesFixture('synthetic/failed').response ?? []).toString()),
        error: { code, message: leaky },
      };
      const answer = await answered(json(JSON.stringify(reply)), wholeResponse);

      expect(answer.status).toBe(status);
      expectNoLeak(answer);
    }
  });
});

describe('a stream without its last event', () => {
  it.each(['end', 'reset'] as const)('fails, whether by its %s', async (ending) => {
    const reply = await answered({ ...sse(created, delta), ending });

    expectBroken(reply, created + delta, 'server_error');
    expect(documentOf(eventsOf(reply.text).at(-1) ?? '')?.response).toEqual({
      id: 'resp_1',
      object: 'response',
      created_at: 1_760_000_000,
      status: 'failed',
      error: {
        code: 'server_error',
        message: 'The upstream failed to answer this request. Retry later.',
      },
      incomplete_details: null,
      instructions: null,
      metadata: {},
      model: 'up',
      output: [],
      parallel_tool_calls: true,
      temperature: null,
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      usage: null,
    });
  });

  it('gets a status if nothing but its beginning has come', async () => {
    for (const chunks of [[created], [created, ': ping\n\n'], [`${created}data: {"ty`], []]) {
      expect((await answered(sse(...chunks))).status).toBe(502);
    }
  });

  it('is charged for what came', async () => {
    const gateway = anyModelGateway({ upstream: scriptedUpstream(sse(created, delta, delta)) });
    await gateway.call(responses());

    expect(gateway.records[0]).toMatchObject({ outcome: 'broken', basis: 'counted' });
  });
});

it('a failed stream with usage is charged by it, and one without content is free', async () => {
  const usage = { input_tokens: 30, output_tokens: 40, total_tokens: 70 };
  const error = { code: 'server_error', message: 'no' };
  const failed = event('response.failed', { response: { status: 'failed', error, usage } });

  for (const [chunks, charge] of [
    [[created, delta, failed], 70n],
    [[created, delta, event('error', { error }) + failed], 70n],
    [[created, failed], 0n],
  ] as const) {
    const gateway = anyModelGateway({ upstream: scriptedUpstream(sse(...chunks)) });
    await gateway.call(responses());

    expect(gateway.records[0]?.chargeNanos).toBe(charge);
  }
});

async function answered(scripted: ScriptedReply, body?: string): Promise<CallerReply> {
  const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });
  return gateway.call(responses(body));
}

function expectBroken(reply: CallerReply, before: string, code: string): void {
  expect(reply.isCut).toBe(false);
  expect(reply.text.startsWith(before)).toBe(true);
  const events = eventsOf(reply.text.slice(before.length));
  expect(events.map((one) => /^event: (.*)$/m.exec(one)?.[1])).toEqual([
    'error',
    'response.failed',
  ]);
  const [error, failed] = events.map(documentOf);
  const { message } = Object(error);
  expect(error).toMatchObject({
    ...{ type: 'error', sequence_number: 8, code, message, param: null },
    error: { code, message, param: null },
  });
  expect(failed).toMatchObject({
    type: 'response.failed',
    sequence_number: 9,
    response: { id: 'resp_1', status: 'failed', error: { code, message }, output: [] },
  });
}

function expectNoLeak({ text }: CallerReply): void {
  expect(text).not.toContain(upstreamSecret);
  expect(text).not.toContain(upstreamHost);
}
