// suite: quick host
/** A host's hooks other than stores may fail too; and the background work for the quota store. */
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  headersOf,
  kinds,
  model,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { failures, inTime, pass, turns } from './failing.ts';

describe('hooks of the host that misbehave change nothing', () => {
  it.each(failures)('a usage sink that $how', async ({ fail }) => {
    for (const kind of kinds) {
      const { call, clock, state, events } = gatewayInProcess({
        handlers: [completeReply(kind)],
        options: { usage: { record: fail, close: async () => {} } },
      });

      expect((await inTime(clock, call(sampleRequests[kind]))).status).toBe(200);
      await pass(clock, 2_000);

      expect(await state()).toMatchObject({ held: 0n, inFlight: 0 });
      expect(events).toContainEqual(
        expect.objectContaining({ type: 'port_failed', port: 'usage', operation: 'record' }),
      );
    }
  });

  it.each(failures)('a listener that $how', async ({ fail }) => {
    const { call, nextRecord, state } = gatewayInProcess({
      handlers: [(up) => up.answer(500, { error: { message: 'No.' } })],
      options: { onEvent: fail },
    });

    expect((await call(sampleRequests.chat)).status).toBe(502);
    await nextRecord();
    expect(await state()).toEqual(untouched);
  });

  it('ids that throw', async () => {
    const { call } = gatewayInProcess({
      options: {
        ids: () => {
          throw new Error('no entropy');
        },
      },
    });

    expect((await call(sampleRequests.chat)).status).toBe(500);
  });

  it('a listener whose promise is from another realm', async () => {
    const { call } = gatewayInProcess({
      handlers: [(up) => up.answer(500, { error: { message: 'No.' } })],
      options: { onEvent: () => runInNewContext('Promise.reject(new Error("disk full"))') },
    });

    expect((await call(sampleRequests.chat)).status).toBe(502);
    await turns();
  });

  it('a price that is broken in place while a stream runs: the reply still ends', async () => {
    const broken = model();
    const { start, upstream } = gatewayInProcess({
      options: { catalog: { find: () => broken, list: () => [broken] } },
    });

    const calling = start(sampleRequests.chatStream);
    const up = await upstream.next();
    up.respond(200, headersOf('chatStream'));
    up.write(streamBeginnings.chatStream);
    await calling.firstBytes;
    Reflect.set(broken, 'price', undefined);
    up.write('data: [DONE]\n\n');
    const { isCut, text } = await calling.reply;

    expect([isCut, text.endsWith('data: [DONE]\n\n')]).toEqual([false, true]);
  });

  it('an error whose message looks like a stack frame is reported without it', async () => {
    const { call, events } = gatewayInProcess({
      options: {
        ids: () => {
          throw new Error('bad id\n    at PROMPT: my diagnosis is');
        },
      },
    });

    await call(sampleRequests.chat);

    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'internal_error',
        at: expect.stringMatching(/^Error at (?!.*PROMPT).*hooks\.test\.ts/),
      }),
    );
  });

  it.each(failures)('a credential that $how: the next channel is tried', async ({ fail }) => {
    const channels = [channel({ credential: fail }), channel({ id: 'openai-b', priority: 1 })];
    const { call, clock, nextRecord } = gatewayInProcess({
      models: [model({ channels })],
      handlers: [completeReply('chat')],
    });

    expect((await inTime(clock, call(sampleRequests.chat))).status).toBe(200);
    expect(await nextRecord()).toMatchObject({
      attempts: [{ reason: 'credential_unavailable', status: undefined }, { reason: undefined }],
    });
  });
});

describe('the background work for the quota store', () => {
  it('runs its self-test once, and reports its problems', async () => {
    const { events } = gatewayInProcess({
      store: () => ({
        check: async () => ({ ok: false, problems: ['evicts keys'] }),
      }),
    });
    await turns();

    expect(events).toEqual([
      {
        type: 'port_failed',
        requestId: undefined,
        port: 'quota',
        operation: 'check',
        reason: 'evicts keys',
      },
    ]);
  });

  it('expires leases that no call touches any more', async () => {
    let sweeps = 0;
    const { clock } = gatewayInProcess({
      store: (quota) => ({
        sweep: (options) => {
          sweeps += 1;
          return quota.sweep(options);
        },
      }),
    });

    await pass(clock, 120_000);

    expect(sweeps).toBeGreaterThan(3);
    expect(sweeps).toBeLessThan(10);
  });
});
