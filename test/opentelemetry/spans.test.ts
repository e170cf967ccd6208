// suite: slow
/** Spans of calls: one over all attempts, one for each, at the times of the call's own clock. */

import { setImmediate } from 'node:timers/promises';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type OpenTelemetryOptions, openTelemetry } from '../../src/opentelemetry/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { readText } from '../house/sources.ts';
import { answer, responsesGateway } from '../stages/references/responses-gateway.ts';
import type { DrivenCall } from '../support/driven-upstream.ts';
import { type GatewaySetup, gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, chat, completeReply, events, model, sampleRequests } from '../support/models.ts';
import { inMemorySdk, plain } from './exported.ts';

const startMs = Date.UTC(2026, 0, 1);
const two = model({ channels: [channel(), channel({ id: 'openai-b', priority: 1 })] });

/** A gateway that is watched by an SDK in memory. */
function watched(setup: GatewaySetup = {}, options: OpenTelemetryOptions = {}) {
  const sdk = inMemorySdk();
  const gateway = gatewayInProcess({ startMs, ...setup });
  const watch = openTelemetry(gateway.gateway, { ...sdk, ...options });
  return { ...gateway, sdk, watch, spans: () => sdk.spans().map((span) => plain(span, startMs)) };
}

describe('a whole reply', () => {
  it('has a CLIENT span with its usage, and a child for the attempt', async () => {
    const { call, upstream, clock, ended, spans, sdk } = watched();
    const reply = call(chat());
    const sent = await upstream.next();
    clock.advance(40);
    completeReply('chat')(sent);
    await reply;
    await ended(1);

    const [attempt, outer] = spans();
    expect(outer).toMatchObject({
      name: 'chat chat',
      kind: SpanKind.CLIENT,
      fromMs: 0,
      toMs: 40,
      status: SpanStatusCode.UNSET,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'chat',
        'gen_ai.response.model': 'chat',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 5,
        'tollgate.key.id': 'caller',
        'tollgate.group': 'staff',
        'tollgate.protocol': 'chat',
        'tollgate.channel.id': 'openai-a',
        'tollgate.outcome': 'complete',
        'tollgate.status': 200,
        'tollgate.attempts': 1,
        'tollgate.charge_nanos': 20,
        'tollgate.booked': true,
      },
    });
    expect(outer?.attributes).not.toHaveProperty('error.type');
    expect(outer?.attributes).not.toHaveProperty('gen_ai.request.stream');
    expect(attempt).toMatchObject({
      name: 'tollgate.attempt',
      kind: SpanKind.INTERNAL,
      fromMs: 0,
      toMs: 40,
      status: SpanStatusCode.UNSET,
      parent: sdk.spans()[1]?.spanContext().spanId,
      attributes: {
        'tollgate.attempt.number': 1,
        'tollgate.channel.id': 'openai-a',
        'http.response.status_code': 200,
      },
    });
  });

  it('has the operations of the conventions, and the provider that the host names', async () => {
    const names: unknown[] = [];
    for (const kind of ['chat', 'image', 'native'] as const) {
      const handlers = [completeReply(kind)];
      const { call, ended, spans } = watched({ handlers }, { providers: { 'openai-a': 'x_ai' } });
      await call(sampleRequests[kind]);
      await ended(1);
      const { name, attributes } = spans().at(-1) ?? {};
      names.push([name, attributes?.['gen_ai.provider.name'], attributes?.['gen_ai.output.type']]);
    }

    expect(names).toEqual([
      ['chat chat', 'x_ai', undefined],
      ['generate_content image', 'x_ai', 'image'],
      ['generate_content native', 'gcp.gen_ai', undefined],
    ]);
  });

  it('has only the metadata that the host has named', async () => {
    const key = { metadata: { team: 'red', email: 'a@example.com' } };
    const handlers = [completeReply('chat')];
    const { call, ended, spans } = watched({ handlers, key }, { metadata: ['team', 'none'] });
    await call(chat());
    await ended(1);

    const { attributes } = spans().at(-1) ?? {};
    expect(attributes).toHaveProperty(['tollgate.metadata.team'], 'red');
    expect(JSON.stringify(attributes)).not.toContain('example.com');
    expect(attributes).not.toHaveProperty(['tollgate.metadata.none']);
  });
});

it('names the version of the package, and the model that was billed, if it ran', async () => {
  const outcomes = [
    [completeReply('chat'), 'gpt-2026-11-01'],
    [(up: DrivenCall) => up.answer(400, {}), undefined],
  ] as const;
  for (const [handler, model] of outcomes) {
    const channels = [channel({ upstreamModel: 'gpt-2026-11-01' })];
    const renamed = { ...two, channels };
    const { call, ended, sdk, spans } = watched({ handlers: [handler], models: [renamed] });
    await call(chat());
    await ended(1);

    expect(spans().at(-1)?.attributes['gen_ai.response.model']).toBe(model);
    const scope = { name: 'tollgate', version: JSON.parse(readText('package.json')).version };
    expect(sdk.spans().map(({ instrumentationScope }) => instrumentationScope)).toMatchObject([
      scope,
      scope,
    ]);
  }
});

it('an attempt lies within its call, even where its start is slow', async () => {
  // Each step takes half as long as the one before, as in a process whose code is still cold.
  let [stepMs, passedMs] = [1_024, 0];
  const monotonicMs = (): number => {
    passedMs += stepMs;
    stepMs /= 2;
    return passedMs;
  };
  const clock = { ...fakeClock(startMs), monotonicMs };
  const { call, ended, spans } = watched({
    handlers: [completeReply('chat')],
    options: { clock },
  });
  await call(chat());
  await ended(1);

  const [attempt, outer] = spans();
  expect(attempt?.name).toBe('tollgate.attempt');
  expect(attempt?.fromMs).toBeGreaterThanOrEqual(outer?.fromMs ?? Number.NaN);
  expect(attempt?.toMs).toBeLessThanOrEqual(outer?.toMs ?? Number.NaN);
});

it('a stream has the time of its first content, and lasts until its end', async () => {
  const { start, upstream, clock, ended, spans } = watched();
  const { reply, firstBytes } = start(chat({ stream: true }));
  const sent = await upstream.next();
  sent.respond(200, { 'content-type': 'text/event-stream' });
  clock.advance(30);
  sent.write(events({ choices: [{ index: 0, delta: { content: 'Hi' } }] }));
  await firstBytes;
  clock.advance(70);
  finishStream(sent);
  await reply;
  await ended(1);

  const [attempt, outer] = spans();
  expect([attempt?.fromMs, attempt?.toMs, outer?.toMs]).toEqual([0, 100, 100]);
  expect(attempt?.events).toEqual([['tollgate.first_byte', 30]]);
  expect(outer?.attributes).toMatchObject({
    'gen_ai.request.stream': true,
    'gen_ai.response.time_to_first_chunk': 0.03,
    'gen_ai.usage.input_tokens': 3,
  });
});

it('a call that fails over has one span over both attempts', async () => {
  const { call, upstream, clock, ended, spans } = watched({ models: [two] });
  const reply = call(chat());
  const first = await upstream.next();
  clock.advance(10);
  first.answer(503, { error: { message: 'overloaded' } });
  const second = await upstream.next();
  clock.advance(20);
  completeReply('chat')(second);
  await reply;
  await ended(1);

  const [failed, served, outer] = spans();
  expect(spans()).toHaveLength(3);
  expect(failed).toMatchObject({ fromMs: 0, toMs: 10, status: SpanStatusCode.ERROR });
  expect(failed?.attributes).toMatchObject({
    'tollgate.channel.id': 'openai-a',
    'http.response.status_code': 503,
    'error.type': 'upstream_overloaded',
  });
  expect(served).toMatchObject({ fromMs: 10, toMs: 30, status: SpanStatusCode.UNSET });
  expect(outer).toMatchObject({ fromMs: 0, toMs: 30, status: SpanStatusCode.UNSET });
  expect(outer?.attributes).toMatchObject({
    'tollgate.channel.id': 'openai-b',
    'tollgate.attempts': 2,
  });
});

it('a call that fails has the reason as error.type', async () => {
  const { call, upstream, ended, spans } = watched();
  const reply = call(chat());
  (await upstream.next()).answer(401, { error: { message: 'wrong key' } });
  await reply;
  await ended(1);

  const [attempt, outer] = spans();
  expect([attempt?.status, outer?.status]).toEqual([SpanStatusCode.ERROR, SpanStatusCode.ERROR]);
  expect(outer?.attributes['error.type']).toBe('upstream_auth_error');
});

it('a caller that disconnects is shown as such, and is not an error of the call', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { start, upstream, ended, spans } = watched();
  const { reply, firstBytes, disconnect } = start(chat({ stream: true }));
  const sent = await upstream.next();
  sent.respond(200, { 'content-type': 'text/event-stream' });
  sent.write(events({ choices: [{ index: 0, delta: { content: 'Hi' } }] }));
  await firstBytes;
  disconnect();
  await setImmediate();
  // The gateway keeps reading for two seconds, to get the usage.
  vi.advanceTimersByTime(2_000);
  await sent.aborted;
  await reply;
  await ended(1);

  const outer = spans().at(-1);
  expect(outer?.attributes['tollgate.outcome']).toBe('caller_left');
  expect(outer?.attributes).toHaveProperty(['error.type']);
  expect(outer?.status).toBe(SpanStatusCode.UNSET);
});

it('concurrent calls with the same request id keep their own spans', async () => {
  const { call, upstream, clock, ended, spans } = watched();
  const headers = { 'x-request-id': 'chosen-by-the-caller' };
  const replies = [call({ ...chat(), headers }), call({ ...chat(), headers })];
  const [first, second] = [await upstream.next(), await upstream.next()];
  clock.advance(5);
  completeReply('chat')(second);
  await ended(1);
  clock.advance(5);
  completeReply('chat')(first);
  await Promise.all(replies);
  await ended(2);

  expect(spans().map(({ name, toMs }) => [name, toMs])).toEqual([
    ['tollgate.attempt', 5],
    ['chat chat', 5],
    ['tollgate.attempt', 10],
    ['chat chat', 10],
  ]);
  const [inner, outer, otherInner, otherOuter] = spans();
  const ids = [outer, otherOuter].map((span) => span?.attributes['tollgate.request_id']);
  expect(ids[0]).toBe(ids[1]);
  expect(inner?.parent).not.toBe(otherInner?.parent);
});

it('a stored reply that is read has a span of its own, without tokens', async () => {
  const sdk = inMemorySdk();
  let calls = 0;
  const gateway = responsesGateway({
    upstream: (call) => {
      calls += 1;
      if (call.request.method === 'POST') return answer(call, String(calls));
      const isKnown = call.request.method === 'GET' && calls === 2;
      call.answer(isKnown ? 200 : 404, { id: 'resp_1', object: 'response' });
    },
  });
  await gateway.ask({});
  openTelemetry(gateway.gateway, sdk);
  await gateway.stored('GET resp_1');
  await gateway.stored('GET resp_1');

  const [read, missing, ...more] = sdk.spans().map((span) => plain(span, startMs));
  expect(more).toEqual([]);
  expect(read).toMatchObject({ name: 'fetch_response', kind: SpanKind.CLIENT, status: 0 });
  expect(read?.attributes).toMatchObject({
    'gen_ai.operation.name': 'fetch_response',
    'gen_ai.provider.name': 'openai',
    'gen_ai.response.id': 'resp_1',
    'tollgate.channel.id': 'eu',
  });
  expect(Object.keys(read?.attributes ?? {}).join()).not.toMatch(/usage|error/);
  expect(missing?.status).toBe(SpanStatusCode.ERROR);
  expect((await sdk.points())['gen_ai.client.inference.usage.input_tokens']).toBeUndefined();
});

it('after stop nothing is recorded, and the other watch continues', async () => {
  const other = inMemorySdk();
  const handlers = [completeReply('chat'), completeReply('chat')];
  const { call, ended, spans, watch, gateway } = watched({ handlers });
  openTelemetry(gateway, other);
  await call(chat());
  await ended(1);
  watch.stop();
  await call(chat());
  await ended(2);

  expect([spans().length, other.spans().length]).toEqual([2, 4]);
});

it('two gateways do not see the calls of each other', async () => {
  const [one, another] = [1, 2].map(() => watched({ handlers: [completeReply('chat')] }));
  await one?.call(chat());
  await one?.ended(1);

  expect([one?.spans().length, another?.spans().length]).toEqual([2, 0]);
});

it('without an SDK calls work, and nothing is recorded', async () => {
  const gateway = gatewayInProcess({ handlers: [completeReply('chat')] });
  openTelemetry(gateway.gateway);

  expect((await gateway.call(chat())).status).toBe(200);
});

it('no span and no metric holds a secret, a prompt or a completion', async () => {
  const { call, start, upstream, ended, sdk } = watched({ models: [two] });
  const secretPrompt = chat({ messages: [{ role: 'user', content: 'canary-prompt' }] });
  const failing = call(secretPrompt);
  (await upstream.next()).answer(503, { error: { message: 'canary-error' } });
  (await upstream.next()).answer(400, { error: { message: 'canary-error' } });
  await failing;
  const { reply } = start(
    chat({ stream: true, messages: [{ role: 'user', content: 'canary-prompt' }] }),
  );
  const sent = await upstream.next();
  sent.respond(200, { 'content-type': 'text/event-stream' });
  sent.write(events({ choices: [{ index: 0, delta: { content: 'canary-completion' } }] }));
  finishStream(sent);
  expect((await reply).text).toContain('canary-completion');
  await ended(2);
  await call({ ...secretPrompt, path: '/v1/nowhere/canary-prompt' });

  const exported = JSON.stringify([
    sdk.spans().map((span) => plain(span, startMs)),
    await sdk.points(),
  ]);
  expect(exported).toContain('openai-a');
  expect(exported).not.toMatch(/canary|caller-secret|account-secret|openai\.example/);
});

function finishStream(sent: DrivenCall): void {
  sent.write(events({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  sent.write(events({ choices: [], usage }, '[DONE]'));
  sent.end();
}
