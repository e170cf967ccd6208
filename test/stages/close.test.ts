// suite: slow host
/**
 * How a gateway closes: new calls are refused, running ones end or are cut, and all charges are
 * delivered.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/ports/call-options.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { gate } from '../../src/testing/providers/scripts.ts';
import { childScript } from '../support/child-script.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import {
  channel,
  chat,
  completeReply,
  headersOf,
  kinds,
  model,
  sampleRequests,
  streamBeginnings,
} from '../support/models.ts';
import { inTime, pass, turns } from './ports/failing.ts';

const leavesHolds = 'No store has taken the end of the call.';

describe('a gateway that closes', () => {
  it('refuses new calls and lists in the dialect of each, and ends the connection', async () => {
    const { call, gateway } = gatewayInProcess();
    await gateway.close();

    for (const request of [
      ...kinds.map((kind) => sampleRequests[kind]),
      { method: 'GET', path: '/v1/models' },
    ]) {
      const { status, headers, text } = await call(request);

      expect(status).toBe(503);
      expect(headers).toMatchObject({ connection: 'close', 'retry-after': '1' });
      expect(JSON.parse(text).error.message).toMatch(/shutting down/);
    }
  });

  it('ends the connection of a call that it lets finish', async () => {
    const { start, upstream, gateway } = gatewayInProcess();
    const calling = start(sampleRequests.chat);
    const up = await upstream.next();

    const closed = gateway.close();
    completeReply('chat')(up);
    await closed;

    const { status, headers } = await calling.reply;
    expect(status).toBe(200);
    expect(headers).toMatchObject({ connection: 'close' });
  });

  it('ends the connection of a call that fails while it closes', async () => {
    const { start, upstream, gateway } = gatewayInProcess();
    const calling = start(sampleRequests.chat);
    const up = await upstream.next();

    const closed = gateway.close();
    up.respond(400, { 'content-type': 'application/json' });
    up.write('{"error":{"message":"no"}}');
    up.end();
    await closed;

    const { status, headers } = await calling.reply;
    expect(status).toBe(400);
    expect(headers).toMatchObject({ connection: 'close' });
  });

  it.each([
    ['a path that is not served', { method: 'POST', path: '/v1/unknown' }, 404],
    ['a method that is not served', { method: 'DELETE', path: '/v1/chat/completions' }, 405],
    ['OPTIONS', { method: 'OPTIONS', path: '/v1/chat/completions' }, 204],
  ])('ends the connection with its response to %s', async (_what, request, expected) => {
    const { call, gateway } = gatewayInProcess();
    await gateway.close();

    const { status, headers } = await call(request);

    expect(status).toBe(expected);
    expect(headers).toMatchObject({ connection: 'close' });
  });

  it('ends the connection of a request that the host’s middleware refused', async () => {
    const { gateway } = gatewayInProcess();
    const refused = { method: 'POST', path: '/v1/chat/completions', headers: {} };
    expect(gateway.refuse(refused, 'body_too_large', 'Too large.').headers).toHaveProperty(
      'connection',
    );
    expect(gateway.refuse(refused, 'invalid_request', 'No.').headers).not.toHaveProperty(
      'connection',
    );

    await gateway.close();

    expect(gateway.refuse(refused, 'invalid_request', 'No.').headers).toMatchObject({
      connection: 'close',
    });
  });

  it('lets a stream finish, and then closes the upstream client', async () => {
    const { start, upstream, gateway, nextRecord } = gatewayInProcess();
    const calling = start(sampleRequests.chatStream);
    const up = await upstream.next();
    up.respond(200, headersOf('chatStream'));
    up.write(streamBeginnings.chatStream);
    await calling.firstBytes;

    const closed = gateway.close();
    await turns();
    expect(upstream.isClosed).toBe(false);
    completeReply('chatStream')(up);
    await closed;

    expect((await calling.reply).text).toMatch(/\[DONE\]\n\n$/);
    expect(await nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: 20n });
    expect(upstream.isClosed).toBe(true);
  });

  it('cuts calls that run longer, at any stage, and leaves no hold except an image’s', async () => {
    const { start, upstream, gateway, clock, state, records } = gatewayInProcess();
    const dialling = start(sampleRequests.chat);
    (await upstream.next()).dial();
    const waiting = start(sampleRequests.native);
    await upstream.next();
    const image = start(sampleRequests.image);
    await upstream.next();

    const closed = gateway.close({ drainMs: 5_000 });
    clock.advance(4_999);
    await turns();
    expect(records).toEqual([]);
    clock.advance(1);
    await closed;

    const replies = await Promise.all([dialling, waiting, image].map(({ reply }) => reply));
    expect(replies.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(replies.map(({ headers }) => headers['x-should-retry'])).toEqual([
      undefined,
      undefined,
      'false',
    ]);
    expect(records.map(({ outcome, reason }) => `${outcome} ${reason}`).sort()).toEqual([
      'not_run draining',
      'unknown draining',
      'unknown draining',
    ]);
    expect(await state()).toEqual({ held: 500n, used: 0n, inFlight: 0 });
    expect(upstream.calls).toHaveLength(3);
  });

  it('cuts a call that is between two channels', async () => {
    const { start, upstream, gateway, clock, records } = gatewayInProcess({
      models: twoChannels(() => new Promise(() => {})),
      handlers: [(up) => up.answer(429, { error: { message: 'No.' } })],
    });
    const calling = start(sampleRequests.chat);
    await upstream.next();
    await turns();

    const closed = gateway.close({ drainMs: 1 });
    clock.advance(1);
    await closed;

    expect((await calling.reply).status).toBe(503);
    expect(upstream.calls).toHaveLength(1);
    expect(records.map(({ attempts }) => attempts.map(({ reason }) => reason))).toEqual([
      ['upstream_rate_limited', 'draining'],
    ]);
    // The host's function never answers; nobody waits for it for longer than this.
    clock.advance(5_000);
  });

  it('does not wait forever for a body that does not arrive', async () => {
    const { gateway, clock, upstream } = gatewayInProcess();
    const headers = { authorization: 'Bearer caller-secret' };
    const body = new Readable({ read: () => {} });
    void gateway.handle({
      method: 'POST',
      path: '/v1/chat/completions',
      search: '',
      headers,
      rawHeaders: Object.entries(headers).flat(),
      body,
      onClose: () => {},
    });
    await turns();

    await inTime(clock, gateway.close({ drainMs: 1_000 }));

    expect(upstream.isClosed).toBe(true);
    body.destroy();
  });

  it('refuses a call whose key it was still looking up', async () => {
    const received = gate();
    const answered = gate();
    const { start, gateway, upstream, records } = gatewayInProcess({
      options: {
        keys: {
          find: async () => {
            received.open();
            await answered.opened;
            return {
              id: 'caller',
              group: 'staff',
              disabled: false,
              quota: [{ id: 'caller', period: 'total', limitNanos: 1_000n }],
            };
          },
        },
      },
    });
    const calling = start(sampleRequests.chat);
    await received.opened;

    await gateway.close();
    answered.open();

    expect((await calling.reply).status).toBe(503);
    expect(upstream.calls).toEqual([]);
    expect(records).toEqual([]);
  });

  it.each([
    [Number.POSITIVE_INFINITY, 2 ** 31 - 1],
    [2 ** 31, 2 ** 31 - 1],
    [Number.NaN, 10_000],
    [-5, 1],
  ])('waits for the longest delay of a timer when given %d ms', async (drainMs, waitMs) => {
    const waits: number[] = [];
    const clock = fakeClock();
    const { start, upstream, gateway } = gatewayInProcess({
      options: {
        clock: {
          ...clock,
          every: (intervalMs, tick) => {
            waits.push(intervalMs);
            return clock.every(intervalMs, tick);
          },
        },
      },
    });
    const calling = start(sampleRequests.chat);
    const up = await upstream.next();
    waits.length = 0;

    const closed = gateway.close({ drainMs });
    completeReply('chat')(up);
    await closed;

    expect((await calling.reply).status).toBe(200);
    expect(waits[0]).toBe(waitMs);
  });

  it('closes once, however often it is called', async () => {
    let flushes = 0;
    const { gateway } = gatewayInProcess({
      options: {
        usage: {
          record: () => {},
          close: async () => {
            flushes += 1;
          },
        },
      },
    });

    await Promise.all([gateway.close(), gateway.close({ drainMs: 1 })]);
    await gateway.close();

    expect(flushes).toBe(1);
  });

  it.each([
    { drainMs: 8_000, backAfterMs: 6_000, lost: 0 },
    { drainMs: 8_000, backAfterMs: 12_000, lost: 1 },
    { drainMs: 1, backAfterMs: 1_000, lost: 0 },
    { drainMs: 1, backAfterMs: 4_000, lost: 1 },
  ])('gives a store that is away the rest of the drain time: %j', async (row) => {
    const { drainMs, backAfterMs, lost } = row;
    let backMs = Number.POSITIVE_INFINITY;
    const { call, gateway, clock, nextRecord, state, events } = gatewayInProcess({
      ...(lost === 0 ? {} : { leavesHolds }),
      handlers: [completeReply('chat')],
      store: (quota) => ({
        settle: (input) => {
          if (clock.monotonicMs() < backMs) throw new StoreUnavailable('down');
          return quota.settle(input);
        },
      }),
    });
    await call(sampleRequests.chat);
    await nextRecord();

    backMs = clock.monotonicMs() + backAfterMs;
    await inTime(clock, gateway.close({ drainMs }));

    expect(events.filter(({ type }) => type === 'settlement_lost')).toHaveLength(lost);
    expect(await state()).toMatchObject({ used: lost === 0 ? 20n : 0n });
  });

  it('delivers pending charges, and reports those that no store takes', async () => {
    for (const isDown of [false, true]) {
      let fails = true;
      const { call, gateway, clock, nextRecord, state, events } = gatewayInProcess({
        ...(isDown ? { leavesHolds } : {}),
        handlers: [completeReply('chat')],
        store: (quota) => ({
          settle: (input) => {
            if (fails) throw new StoreUnavailable('down');
            return quota.settle(input);
          },
        }),
      });
      await call(sampleRequests.chat);
      await nextRecord();

      fails = isDown;
      await inTime(clock, gateway.close());

      const lost = events.filter(({ type }) => type === 'settlement_lost');
      expect(lost).toHaveLength(isDown ? 1 : 0);
      expect(await state()).toMatchObject({ used: isDown ? 0n : 20n });
    }
  });

  it('flushes the usage sink last, and survives one that fails', async () => {
    const order: string[] = [];
    const { start, upstream, gateway, clock, events } = gatewayInProcess({
      options: {
        usage: {
          record: () => void order.push('record'),
          close: () => {
            order.push('close');
            return Promise.reject(new Error('disk full'));
          },
        },
      },
    });
    const calling = start(chat());
    await upstream.next();

    const closed = gateway.close({ drainMs: 1 });
    clock.advance(1);
    await closed;
    await calling.reply;

    expect(order).toEqual(['record', 'close']);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'port_failed', port: 'usage', operation: 'close' }),
    );
    expect(upstream.isClosed).toBe(true);
  });

  it('does not call its stores any more', async () => {
    const requested: string[] = [];
    const { gateway, clock } = gatewayInProcess({
      store: (quota) => ({
        sweep: (options) => {
          requested.push('sweep');
          return quota.sweep(options);
        },
      }),
    });
    await gateway.close();

    await pass(clock, 120_000);

    expect(requested).toEqual([]);
  });
});

it('a process whose gateway has closed exits by itself: nothing is left open', async () => {
  const script = await childScript(join(import.meta.dirname, 'closing-gateway.ts'));

  const child = fork(script, { stdio: 'pipe' });
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const [code] = await once(child, 'exit');

  expect({ code, output: text }).toEqual({
    code: 0,
    output: 'complete 200, cut 200 with an error, closed\n',
  });
});

/** A second channel whose secret comes from this function. */
function twoChannels(credential: () => Promise<string>): readonly Model[] {
  return [model({ channels: [channel(), channel({ id: 'openai-b', priority: 1, credential })] })];
}
