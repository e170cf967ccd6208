// suite: slow
/** Rows F65, F66, F77 and F81 with many calls: outages under load, slow stores, many streams. */
import { expect, it } from 'vitest';
import { type MaybePromise, StoreUnavailable } from '../../../src/ports/call-options.ts';
import { inTime, pass, turns } from '../../stages/ports/failing.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import {
  completeReply,
  costNanos,
  headersOf,
  kinds,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { countedRows } from '../rows/counted.ts';

countedRows('F65, F66, F77, F81 with many calls');

const streams = ['chatStream', 'nativeStream'] as const;

it('F65 a quota store that is down for 60 s under load has every charge in the end', async () => {
  let isDown = true;
  const sent = Array.from({ length: 20 }, () => kinds).flat();
  const { call, clock, records, state, events } = gatewayInProcess({
    handlers: sent.map(completeReply),
    store: (quota) => ({
      settle: (input) => {
        if (isDown) throw new StoreUnavailable('down');
        return quota.settle(input);
      },
      extend: (inputs) => {
        if (isDown) throw new StoreUnavailable('down');
        return quota.extend(inputs);
      },
    }),
  });

  for (const kind of sent) {
    expect((await call(sampleRequests[kind])).status).toBe(200);
    clock.advance(600);
  }
  await turns();
  expect(await state()).toMatchObject({ used: 0n });
  isDown = false;
  await pass(clock, 30_000);

  const used = sent.reduce((sum, kind) => sum + costNanos[kind], 0n);
  expect(await state()).toEqual({ held: 0n, used, inFlight: 0 });
  const booked = records.filter((record) => record.booked);
  expect(booked.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n)).toBe(used);
  expect(events.filter(({ type }) => type === 'settlement_lost')).toEqual([]);
});

it.each(
  kinds,
)('F66 a store that takes 5 s to hold: 503 after 1 s, nothing held: %s', async (kind) => {
  const harness: InProcessGateway = gatewayInProcess({
    store: (quota) => ({
      reserve: (input) => later(harness, 5_000, () => quota.reserve(input)),
      release: (input) => later(harness, 5_000, () => quota.release(input)),
    }),
  });

  const calling = harness.call(sampleRequests[kind]);
  await turns();
  harness.clock.advance(1_000);
  expect((await calling).status).toBe(503);
  await pass(harness.clock, 20_000);

  expect(harness.upstream.calls).toEqual([]);
  expect(await harness.state()).toEqual({ held: 0n, used: 0n, inFlight: 0 });
});

it('F77 a gateway that closes over 300 streams: each gets an error, all are settled', async () => {
  const { start, upstream, gateway, clock, records, state } = gatewayInProcess({
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000_000n }] },
  });
  const callers = Array.from({ length: 150 }, () => streams)
    .flat()
    .map((kind) => ({ kind, calling: start(sampleRequests[kind]) }));
  for (const { kind, calling } of callers) {
    const up = await upstream.next();
    up.respond(200, headersOf(kind));
    up.write(streamBeginnings[kind]);
    await calling.firstBytes;
  }

  const closed = inTime(clock, gateway.close({ drainMs: 5_000 }));
  await turns();
  const refused = await start(sampleRequests.chat).reply;
  await closed;
  const replies = await Promise.all(callers.map(({ calling }) => calling.reply));

  expect(refused).toMatchObject({ status: 503, headers: { connection: 'close' } });
  expect(replies.filter(({ text, isCut }) => isCut || !text.includes('"error"'))).toEqual([]);
  expect(records).toHaveLength(300);
  expect(new Set(records.map(({ outcome, reason }) => `${outcome} ${reason}`))).toEqual(
    new Set(['cut draining']),
  );
  const used = records.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n);
  expect(await state()).toEqual({ held: 0n, used, inFlight: 0 });
});

it('F81 2,000 streams at once are renewed in batches, and each is settled', async () => {
  const batches: number[] = [];
  const { start, upstream, clock, records, state } = gatewayInProcess({
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000_000n }] },
    store: (quota) => ({
      extend: (inputs) => {
        batches.push(inputs.length);
        return quota.extend(inputs);
      },
    }),
  });
  const callers = Array.from({ length: 1_000 }, () => streams)
    .flat()
    .map((kind) => ({ kind, calling: start(sampleRequests[kind]) }));
  const ups = [];
  for (const { kind, calling } of callers) {
    const up = await upstream.next();
    up.respond(200, headersOf(kind));
    up.write(streamBeginnings[kind]);
    await calling.firstBytes;
    ups.push({ up, kind });
  }

  await pass(clock, 20_000);
  for (const { up, kind } of ups) completeReply(kind)(up);
  const replies = await Promise.all(callers.map(({ calling }) => calling.reply));
  await turns();

  expect(replies.filter(({ status, isCut }) => status !== 200 || isCut)).toEqual([]);
  expect(batches).toEqual([2_000, 2_000]);
  expect(records).toHaveLength(2_000);
  expect(await state()).toEqual({ held: 0n, used: 40_000n, inFlight: 0 });
});

/** The answer of a slow store. */
function later<T>(
  { clock }: InProcessGateway,
  ms: number,
  work: () => MaybePromise<T>,
): Promise<T> {
  return new Promise((resolve) => {
    const stop = clock.every(ms, () => {
      stop();
      resolve(work());
    });
  });
}
