// suite: quick
/** A usage record says `booked` only for a charge that the quota store has taken. */
import { describe, expect, it } from 'vitest';
import { gate } from '../../../src/testing/providers/scripts.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';
import { inTime, pass, turns } from '../ports/failing.ts';

const ruined = (up: DrivenCall): void => up.answer(500, { error: { message: 'No.' } });

describe('a charge that the store can not take', () => {
  it('is logged as not booked, and again when it is booked', async () => {
    let isDown = true;
    const { call, records, events, clock, state } = gatewayInProcess({
      handlers: [completeReply('chat')],
      store: (quota) => ({
        settle: (input) => {
          if (isDown) throw new Error('down');
          return quota.settle(input);
        },
      }),
    });
    await call(sampleRequests.chat);
    await pass(clock, 3_000);
    expect(records).toMatchObject([{ booked: false, revision: 1, outcome: 'complete' }]);
    expect(await state()).toMatchObject({ used: 0n });

    isDown = false;
    await pass(clock, 20_000);

    const [first, second] = records;
    expect(records).toHaveLength(2);
    expect(second).toEqual({ ...first, booked: true, revision: 2 });
    expect(await state()).toMatchObject({ used: second?.chargeNanos });
    const reported = events.filter(({ type }) => type === 'call_ended' || type === 'call_booked');
    expect(reported).toEqual([
      { type: 'call_ended', record: first },
      { type: 'call_booked', record: second },
    ]);
  });

  it('is logged as booked before the sink closes, if that is at the last moment', async () => {
    let isDown = true;
    const { call, records, gateway } = gatewayInProcess({
      handlers: [completeReply('chat')],
      store: (quota) => ({
        settle: (input) => {
          if (isDown) throw new Error('down');
          return quota.settle(input);
        },
      }),
    });
    await call(sampleRequests.chat);

    isDown = false;
    await gateway.close();

    expect(records.map(({ booked, revision }) => [booked, revision])).toEqual([
      [false, 1],
      [true, 2],
    ]);
  });

  it('stays unbooked in the log if it is lost', async () => {
    const { call, records, gateway, clock, eventTypes } = gatewayInProcess({
      leavesHolds: 'No store has taken the end of the call.',
      handlers: [completeReply('chat')],
      store: () => ({
        settle: () => {
          throw new Error('down');
        },
      }),
    });
    await call(sampleRequests.chat);

    await inTime(clock, gateway.close());

    expect(records.map(({ booked }) => booked)).toEqual([false]);
    expect(eventTypes()).toContain('settlement_lost');
  });
});

it('a charge that is booked immediately is in the only record of its call', async () => {
  const { call, records, eventTypes } = gatewayInProcess({ handlers: [completeReply('chat')] });

  await call(sampleRequests.chat);

  expect(records).toMatchObject([{ booked: true, revision: 1 }]);
  expect(eventTypes()).not.toContain('call_booked');
});

describe('a call in doubt', () => {
  it('has its record written before its hold is extended', async () => {
    const written = gate();
    const order: string[] = [];
    const { start, state } = gatewayInProcess({
      handlers: [ruined],
      options: {
        usage: {
          record: async ({ outcome }) => {
            await written.opened;
            order.push(`recorded ${outcome}`);
          },
          close: async () => {},
        },
      },
      store: (quota) => ({
        extend: (inputs, options) => {
          order.push('extended');
          return quota.extend(inputs, options);
        },
      }),
    });
    const calling = start(sampleRequests.image);
    await turns();
    expect(order).toEqual([]);

    written.open();
    await calling.reply;

    expect(order).toEqual(['recorded unknown', 'extended']);
    expect(await state()).toEqual({ held: 500n, used: 0n, inFlight: 0 });
  });

  it('has its hold extended even if its record hangs for storeTimeoutMs', async () => {
    const { start, state, clock, eventTypes } = gatewayInProcess({
      handlers: [ruined],
      options: { usage: { record: () => new Promise(() => {}), close: async () => {} } },
    });
    const calling = start(sampleRequests.image);
    await turns();
    expect(await state()).toMatchObject({ inFlight: 1 });

    await pass(clock, 1_000);
    await calling.reply;

    expect(await state()).toEqual({ held: 500n, used: 0n, inFlight: 0 });
    expect(eventTypes()).toContain('port_failed');
  });

  it('is not booked until it is resolved, and resolving it twice is the same', async () => {
    const { call, records, gateway } = gatewayInProcess({ handlers: [ruined] });
    await call(sampleRequests.image);
    const [doubtful] = records;
    if (doubtful === undefined) throw new Error('no record');
    expect(doubtful).toMatchObject({ booked: false, revision: 1, outcome: 'unknown' });

    await gateway.resolveUnknown(doubtful, { ran: true });
    // As if the first answer had been lost: the log must not lack a charge that the store has
    // booked.
    await gateway.resolveUnknown(doubtful, { ran: true });

    const resolved = { booked: true, revision: 2, outcome: 'complete', chargeNanos: 500n };
    expect(records.slice(1)).toMatchObject([resolved, resolved]);
  });
});
