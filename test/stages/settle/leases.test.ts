// suite: quick
/** The leases of holds while their calls run and end: in order, and never lost silently. */
import { expect, it } from 'vitest';
import { gate } from '../../../src/testing/providers/scripts.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';
import { pass, turns } from '../ports/failing.ts';

it('a renewal under way never shortens the long lease of an image left pending', async () => {
  const answered = gate();
  const landed: number[] = [];
  const { start, upstream, clock, state } = gatewayInProcess({
    options: { leaseMs: 30_000 },
    store: (quota) => ({
      extend: async (inputs, options) => {
        const [{ ttlMs = 0 } = {}] = inputs;
        if (ttlMs === 30_000) await answered.opened;
        landed.push(ttlMs);
        return quota.extend(inputs, options);
      },
    }),
  });
  const calling = start(sampleRequests.image);
  const up = await upstream.next();
  await pass(clock, 10_000);

  up.answer(500, { error: { message: 'No.' } });
  await turns();
  expect(landed).toEqual([]);
  answered.open();
  await calling.reply;
  await pass(clock, 60_000);

  expect(landed).toEqual([30_000, 900_000]);
  expect(await state()).toEqual({ held: 500n, used: 0n, inFlight: 0 });
});

it('a hold that the store has lost is reported once, and its call charged at its end', async () => {
  let requestCount = 0;
  const { start, upstream, clock, events, nextRecord, state } = gatewayInProcess({
    store: () => ({
      extend: () => {
        requestCount += 1;
        return [{ status: 'gone', as: 'expired' }];
      },
    }),
  });
  const calling = start(sampleRequests.chat);
  const up = await upstream.next();

  await pass(clock, 60_000);
  completeReply('chat')(up);
  await calling.reply;

  const { requestId } = await nextRecord();
  expect(events.filter(({ type }) => type === 'hold_lapsed')).toEqual([
    { type: 'hold_lapsed', requestId, reason: 'expired' },
  ]);
  expect(requestCount).toBe(1);
  expect(await state()).toEqual({ held: 0n, used: 20n, inFlight: 0 });
});

it('a hold that its call has just ended is not reported as lost', async () => {
  const answered = gate();
  const { start, upstream, clock, eventTypes, nextRecord } = gatewayInProcess({
    store: () => ({
      extend: async () => {
        await answered.opened;
        return [{ status: 'gone', as: 'expired' }];
      },
    }),
  });
  const calling = start(sampleRequests.chat);
  const up = await upstream.next();
  await pass(clock, 10_000);

  completeReply('chat')(up);
  await calling.reply;
  await nextRecord();
  answered.open();
  await turns();

  expect(eventTypes()).toEqual(['call_ended']);
});

it('the shortest legal lease outlives a renewal that has to be retried', async () => {
  let requestCount = 0;
  const { start, upstream, clock, state } = gatewayInProcess({
    options: { leaseMs: 5_000 },
    store: (quota) => ({
      extend: (inputs, options) => {
        requestCount += 1;
        if (requestCount % 2 === 1) throw new Error('down');
        return quota.extend(inputs, options);
      },
    }),
  });
  start(sampleRequests.chat);
  await upstream.next();

  await pass(clock, 60_000);

  expect(await state()).toEqual({ held: 211n, used: 0n, inFlight: 1 });
});

it('a partition whose renewals fail does not affect others', async () => {
  const { start, upstream, clock, quota } = gatewayInProcess({
    options: {
      keys: {
        find: (secret) => ({
          id: secret,
          group: 'staff',
          disabled: false,
          quota: [{ id: secret, period: 'total', limitNanos: 1_000_000n }],
          quotaPartition: secret,
        }),
      },
    },
    store: (store) => ({
      extend: (inputs, options) => {
        if (inputs.some(({ partition }) => partition === 'ill')) throw new Error('down');
        return store.extend(inputs, options);
      },
    }),
  });
  for (const partition of ['ill', 'well']) {
    start({ ...sampleRequests.chat, headers: { authorization: `Bearer ${partition}` } });
    await upstream.next();
  }

  await pass(clock, 60_000);

  expect(await quota.read('well', '', 'well')).toMatchObject({ held: 211n });
  expect(await quota.read('ill', '', 'ill')).toMatchObject({ held: 0n });
});
