// suite: quick
/**
 * Calls with an `Idempotency-Key` that may have run never run again under that key, and the store
 * knows that before their caller gets the error.
 */
import { describe, expect, it } from 'vitest';
import { gate } from '../../../src/testing/providers/scripts.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { type CallerReply, gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  headersOf,
  model,
  replies,
  sampleRequests,
} from '../../support/models.ts';
import { inTime, pass, turns } from '../ports/failing.ts';
import { codeOf, keyed, keyedKinds, sharedStores } from './idempotent-calls.ts';

/** Ways to fail after the request was sent, and the status that the caller gets. */
const failures: readonly (readonly [how: string, status: number, CallHandler])[] = [
  ['a 500', 502, (up) => up.answer(500, { error: { message: 'Oops.' } })],
  ['a 504', 504, (up) => up.answer(504, {})],
  ['a reset', 502, (up) => up.breakOff('reset')],
  ['a timeout', 504, (up) => up.breakOff('headers_timeout', { timedOut: true })],
  ['half a reply', 502, (up) => up.answer(200, '{"choices":[')],
  ['no reply', 502, (up) => up.answer(200, '')],
];

describe.each(keyedKinds)('%s that may have run', (kind) => {
  it.each(failures)('after %s fails again with %d and is not run again', async (_how, ...row) => {
    const [status, handler] = row;
    const { call, upstream, state, records } = gatewayInProcess({
      handlers: [handler, completeReply(kind)],
    });
    const first = await call(keyed(sampleRequests[kind]));
    const before = await state();

    const second = await call(keyed(sampleRequests[kind]));

    expect([first.status, second.status]).toEqual([status, status]);
    expect([first.headers['x-should-retry'], first.headers['retry-after']]).toEqual([
      'false',
      undefined,
    ]);
    expectsNoRetry(second, first);
    expect(upstream.calls).toHaveLength(1);
    expect(records).toHaveLength(1);
    expect(await state()).toEqual(before);
  });

  it('after a 503 does not ask its first caller to retry', async () => {
    const busy: CallHandler = (up) => up.answer(503, {}, { 'retry-after': '1' });
    const { call } = gatewayInProcess({ handlers: [busy] });

    const { headers } = await call(keyed(sampleRequests[kind]));

    expect([headers['x-should-retry'], headers['retry-after']]).toEqual(['false', undefined]);
  });

  it('is unknown in the store before its caller gets the error', async () => {
    const order: string[] = [];
    const kept = gate();
    const stores = sharedStores();
    const { idempotency } = stores.options;
    const { start } = stores.gateway({
      handlers: [(up) => up.answer(500, {})],
      options: {
        idempotency: {
          ...idempotency,
          finish: async (input) => {
            order.push(`${input.state} ${input.httpStatus}`);
            await kept.opened;
            return idempotency.finish(input);
          },
        },
      },
    });

    const calling = start(keyed(sampleRequests[kind]));
    void calling.reply.then(() => order.push('answered'));
    await turns();
    await turns();
    expect(order).toEqual(['unknown 502']);
    kept.open();
    await calling.reply;

    expect(order).toEqual(['unknown 502', 'answered']);
  });

  it('because its gateway crashed is unknown once the lease is over, and not before', async () => {
    const stores = sharedStores();
    const { clock } = stores;
    const { idempotency } = stores.options;
    const crashing = stores.gateway({
      options: {
        idempotency: { ...idempotency, finish: () => Promise.reject(new Error('gone')) },
      },
    });
    const other = stores.gateway();
    void crashing.start(keyed(sampleRequests[kind])).reply;
    await crashing.upstream.next();

    // The total time of a call, and the margin.
    await pass(clock, 900_000 + 59_000);
    const early = await inTime(clock, other.call(keyed(sampleRequests[kind])));
    const late = await other.call(keyed(sampleRequests[kind]));

    // It polled every few seconds until the lease was over.
    expect([early.status, late.status]).toEqual([502, 502]);
    expect(late.headers['x-should-retry']).toBe('false');
    expect(other.upstream.calls).toEqual([]);
  });

  it('gives every waiting caller the same error', async () => {
    const { start, upstream } = gatewayInProcess();
    const callings = Array.from({ length: 5 }, () => start(keyed(sampleRequests[kind])));

    (await upstream.next()).answer(500, {});
    const [first, ...others] = await Promise.all(callings.map(({ reply }) => reply));

    expect(first?.status).toBe(502);
    for (const other of others) {
      expect(other.status).toBe(502);
      expectsNoRetry(other, first);
    }
    expect(upstream.calls).toHaveLength(1);
  });

  it('when its gateway was closed is unknown to every other gateway', async () => {
    const stores = sharedStores();
    const closing = stores.gateway();
    const other = stores.gateway();
    const calling = closing.start(keyed(sampleRequests[kind]));
    await closing.upstream.next();
    const waiting = closing.start(keyed(sampleRequests[kind]));

    await inTime(stores.clock, closing.gateway.close({ drainMs: 1 }));
    const [first, second] = [await calling.reply, await waiting.reply];
    const third = await other.call(keyed(sampleRequests[kind]));

    expect([first.status, second.status, third.status]).toEqual([503, 503, 503]);
    expectsNoRetry(third, first);
    expect(other.upstream.calls).toEqual([]);
  });
});

it('a call that may have run on one channel is unknown, whatever the last returned', async () => {
  const { call, upstream } = gatewayInProcess({
    models: [model({ channels: [channel(), channel({ id: 'openai-b', priority: 1 })] })],
    handlers: [
      (up) => up.answer(500, {}),
      (up) => up.answer(429, { error: { message: 'Slow down.' } }),
      completeReply('chat'),
    ],
  });
  const first = await call(keyed(sampleRequests.chat));

  const second = await call(keyed(sampleRequests.chat));

  expect(first.status).toBe(429);
  expect(second.status).toBe(502);
  expectsNoRetry(second, first);
  expect(upstream.calls).toHaveLength(2);
});

it('an image that broke off half-way is unknown', async () => {
  const { start, call, upstream } = gatewayInProcess();
  const calling = start(keyed(sampleRequests.image));
  const up = await upstream.next();
  up.respond(200, headersOf('image'));
  up.write(`{"data":[{"b64_json":"${'A'.repeat(100_000)}`);
  await calling.firstBytes;
  up.breakOff('reset');
  expect((await calling.reply).isCut).toBe(true);

  const second = await call(keyed(sampleRequests.image));

  expect([second.status, codeOf(second.text)]).toEqual([502, 'upstream_failed']);
  expect(second.headers['x-should-retry']).toBe('false');
  expect(upstream.calls).toHaveLength(1);
});

it('an end that comes after its lease still counts', async () => {
  const stores = sharedStores();
  const { idempotency } = stores.options;
  const { start, upstream } = stores.gateway({
    options: {
      idempotency: {
        ...idempotency,
        claim: (input) => idempotency.claim({ ...input, leaseMs: 1_000 }),
      },
    },
  });
  const other = stores.gateway();
  const calling = start(keyed(sampleRequests.chat));
  const up = await upstream.next();
  stores.clock.advance(1_001);
  expect((await other.call(keyed(sampleRequests.chat))).status).toBe(502);

  completeReply('chat')(up);
  await calling.reply;
  await turns();

  expect((await other.call(keyed(sampleRequests.chat))).text).toBe(replies.chat);
  expect(other.upstream.calls).toEqual([]);
});

/** Expects an error that says where to look and what to do, and that tells SDKs not to retry. */
function expectsNoRetry({ text, headers }: CallerReply, first: CallerReply | undefined): void {
  const { message } = JSON.parse(text).error;
  expect(message).toMatch(/usage log/);
  expect(message).toMatch(/new Idempotency-Key/);
  expect(headers).toMatchObject({
    'x-should-retry': 'false',
    'original-request': first?.headers['x-request-id'],
  });
  expect(headers).not.toHaveProperty('retry-after');
}
