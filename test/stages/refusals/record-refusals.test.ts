// suite: quick
/** A gateway records how often it refused requests, and why, if its host wants it. */
import { describe, expect, it } from 'vitest';
import type { RecordedRefusals, RefusalLog } from '../../../src/ports/refusal-log.ts';
import { memoryUsageSink } from '../../../src/stores/memory/usage-sink.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import { chat, completeReply, defaultModels, model, sampleRequests } from '../../support/models.ts';
import { failures, inTime, pass, untyped } from '../ports/failing.ts';

const startMs = Date.UTC(2026, 10, 23, 9, 30, 20);
const minuteMs = 60_000;
const stranger = { ...sampleRequests.chat, headers: { authorization: 'Bearer nobody' } };

function recording(log: RefusalLog): InProcessGateway {
  const forbidden = model({ id: 'forbidden', groups: ['board'] });
  return gatewayInProcess({
    models: [...defaultModels(), forbidden],
    startMs,
    options: { recordRefusals: log },
  });
}

const withoutIds = (counts: readonly RecordedRefusals[]): readonly Omit<RecordedRefusals, 'id'>[] =>
  counts.map(({ id: _id, ...count }) => count);

it('the refusals of a minute are written after it, as one count for each kind', async () => {
  const log = memoryUsageSink();
  const { call, clock } = recording(log);
  await call(stranger);
  await call(chat({ model: 'forbidden' }));
  await call(stranger);
  await call(chat({ model: 'no-such-model' }));
  await pass(clock, 39_000);
  expect(log.refusals).toEqual([]);

  await pass(clock, 2_000);

  const common = {
    atMs: Date.UTC(2026, 10, 23, 9, 30),
    protocol: 'chat',
    reason: undefined,
    detail: undefined,
  };
  const caller = { ...common, keyId: 'caller', group: 'staff' };
  expect(withoutIds(log.refusals)).toEqual([
    {
      ...common,
      keyId: undefined,
      group: undefined,
      modelId: undefined,
      code: 'invalid_key',
      reason: 'key_unknown',
      refusals: 2,
    },
    { ...caller, modelId: 'forbidden', code: 'model_not_allowed', detail: 'model', refusals: 1 },
    { ...caller, modelId: undefined, code: 'model_not_found', detail: 'model', refusals: 1 },
  ]);
  expect(new Set(log.refusals.map(({ id }) => id)).size).toBe(3);
});

it.each([0, 1, 12])('the detail of a count is a member without its index: %i', async (index) => {
  const log = memoryUsageSink();
  const { call, clock } = recording(log);
  const before = Array.from({ length: index }, () => ({ type: 'function' }));

  await call(chat({ tools: [...before, { type: 'web_search' }] }));
  await pass(clock, minuteMs);

  expect(log.refusals.map(({ detail }) => detail)).toEqual(['tools[].type']);
});

it.each([
  ['/v1/files/file-of-ada', '/v1/files'],
  ['/v1beta/corpora/of-ada', '/v1beta'],
  ['/responses/resp_of-ada', '/responses/{id}'],
  ['/v1/v1/models/of-ada', '/v1/v1/models/{model}'],
  ['/of-ada', undefined],
])('the detail of %s is a path of the tables: %s', async (path, detail) => {
  const log = memoryUsageSink();
  const { call, clock } = recording(log);

  await call({ ...sampleRequests.chat, method: 'GET', path });
  await pass(clock, minuteMs);

  expect(log.refusals.map((count) => [count.code, count.detail])).toEqual([
    ['route_not_found', detail],
  ]);
});

it('members that a caller invents make few counts', async () => {
  const log = memoryUsageSink();
  const { call, clock } = recording(log);
  for (let name = 0; name < 100; name += 1) {
    const tools = [{ functionDeclarations: [] }, { [`of_ada_${name}`]: {} }];
    await call({ ...sampleRequests.native, body: { contents: [{ parts: [] }], tools } });
  }
  await pass(clock, minuteMs);

  const details = log.refusals.map(({ detail, refusals }) => [detail, refusals]);
  expect(details).toContainEqual(['tools[].of_ada_15', 1]);
  expect(details).toContainEqual([undefined, 84]);
  expect(details).toHaveLength(17);
});

it('the same refusals in two minutes are two counts', async () => {
  const log = memoryUsageSink();
  const { call, clock } = recording(log);

  await call(stranger);
  await pass(clock, minuteMs);
  await call(stranger);
  await pass(clock, minuteMs);

  expect(log.refusals.map(({ atMs, refusals }) => [atMs - startMs, refusals])).toEqual([
    [-20_000, 1],
    [40_000, 1],
  ]);
  expect(new Set(log.refusals.map(({ id }) => id)).size).toBe(2);
});

it('calls that ran are not counted, and nothing is without the option', async () => {
  const log = memoryUsageSink();
  const { call, clock, upstream, gateway } = recording(log);
  const answer = call(sampleRequests.chat);
  completeReply('chat')(await upstream.next());
  await answer;
  gateway.update({ recordRefusals: untyped(undefined)() });
  await call(stranger);

  await pass(clock, 2 * minuteMs);

  expect(log.refusals).toEqual([]);
});

it('refusals are counted where nobody listens to events', async () => {
  const log = memoryUsageSink();
  const { call, clock, gateway } = recording(log);
  gateway.update({ onEvent: untyped(undefined)() });

  await call(stranger);
  gateway.refuse(
    { method: 'POST', path: '/v1/chat/completions', headers: {} },
    'body_too_large',
    '',
  );
  await pass(clock, minuteMs);

  expect(log.refusals.map(({ code }) => code)).toEqual(['invalid_key', 'body_too_large']);
});

it('counts go to the log that was set when they were counted', async () => {
  const logs = [memoryUsageSink(), memoryUsageSink()] as const;
  const { call, clock, gateway } = recording(logs[0]);
  await call(stranger);
  gateway.update({ recordRefusals: logs[1] });
  await call(stranger);
  await call(stranger);

  await pass(clock, minuteMs);

  expect(logs.map(({ refusals }) => refusals.map((count) => count.refusals))).toEqual([[1], [2]]);
});

it('two gateways in a process count their own refusals', async () => {
  const logs = [memoryUsageSink(), memoryUsageSink()] as const;
  const [one, other] = logs.map(recording);
  await one?.call(stranger);
  await other?.call(chat({ model: 'forbidden' }));

  for (const gateway of [one, other]) if (gateway) await pass(gateway.clock, minuteMs);

  expect(logs.map(({ refusals }) => refusals.map(({ code }) => code))).toEqual([
    ['invalid_key'],
    ['model_not_allowed'],
  ]);
});

it('closing writes the minute that has begun, with the refusals while calls end', async () => {
  const log = memoryUsageSink();
  const { call, start, upstream, gateway, clock } = recording(log);
  await call(stranger);
  const running = start(sampleRequests.chat);
  const up = await upstream.next();

  const closed = gateway.close();
  await call(sampleRequests.chat);
  completeReply('chat')(up);
  await running.reply;
  await inTime(clock, closed);

  expect(log.refusals.map(({ code }) => code)).toEqual(['invalid_key', 'draining']);
});

describe.each(failures)('a log that $how', ({ fail }) => {
  it('gets the same counts again, with longer pauses, and each is kept once', async () => {
    const log = memoryUsageSink();
    const tries: string[] = [];
    let isDown = true;
    const { call, clock, eventTypes } = recording({
      recordRefusals: (counts) => {
        tries.push(counts.map(({ id }) => id).join());
        log.recordRefusals(counts);
        return isDown ? fail() : undefined;
      },
    });
    await call(stranger);
    await pass(clock, minuteMs);
    await pass(clock, 3 * minuteMs);
    expect(tries.length).toBeGreaterThan(4);
    expect(tries.length).toBeLessThan(12);
    isDown = false;
    await pass(clock, 2 * minuteMs);

    const written = tries.length;
    await pass(clock, 20 * minuteMs);

    expect(tries).toHaveLength(written);
    expect(new Set(tries).size).toBe(1);
    expect(log.refusals.map(({ refusals }) => refusals)).toEqual([1]);
    expect(new Set(eventTypes())).toEqual(new Set(['port_failed']));
  });

  it('loses counts after 15 minutes, which an event reports', async () => {
    const { call, clock, events } = recording({ recordRefusals: fail });
    await call(stranger);
    await call(stranger);

    await pass(clock, 18 * minuteMs);

    const lost = events.filter(({ type }) => type === 'refusals_lost');
    const atMs = Date.UTC(2026, 10, 23, 9, 30);
    expect(lost).toEqual([{ type: 'refusals_lost', atMs, refusals: 2 }]);
  });

  it('does not keep the gateway from closing, and what is lost is an event', async () => {
    const { call, gateway, clock, events } = recording({ recordRefusals: fail });
    await call(stranger);

    await inTime(clock, gateway.close());

    expect(events.filter(({ type }) => type === 'refusals_lost')).toMatchObject([{ refusals: 1 }]);
  });

  it('keeps no caller waiting', async () => {
    const { call, clock, upstream } = recording({ recordRefusals: fail });
    await call(stranger);
    await pass(clock, minuteMs);

    expect((await call(stranger)).status).toBe(401);
    const answer = call(sampleRequests.chat);
    completeReply('chat')(await upstream.next());
    expect((await answer).status).toBe(200);
  });
});

it('a batch that the log can never take holds up no other', async () => {
  const log = memoryUsageSink();
  const { call, clock } = recording({
    recordRefusals: (counts) => {
      if (counts.some(({ code }) => code === 'invalid_key')) throw new Error('a bad row');
      log.recordRefusals(counts);
    },
  });
  await call(stranger);
  await pass(clock, minuteMs);
  await call(chat({ model: 'forbidden' }));

  await pass(clock, 3 * minuteMs);

  expect(log.refusals.map(({ code }) => code)).toEqual(['model_not_allowed']);
});
