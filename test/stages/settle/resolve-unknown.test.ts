// suite: quick
/** A host ends the hold of an image whose outcome was unknown. */
import { describe, expect, it } from 'vitest';
import type { UnknownResolution } from '../../../src/stages/settle/resolve-unknown.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import {
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';

/** An image that a 500 left in doubt. */
async function inDoubt(setup: GatewaySetup = {}): Promise<InProcessGateway> {
  const harness = gatewayInProcess({
    handlers: [(up) => up.answer(500, { error: { message: 'No.' } })],
    ...setup,
  });
  await harness.call(sampleRequests.image);
  return harness;
}

async function resolved(
  harness: InProcessGateway,
  resolution: UnknownResolution,
): Promise<unknown> {
  const [record] = harness.records;
  return record && (await harness.gateway.resolveUnknown(record, resolution));
}

describe('an image in doubt', () => {
  it('keeps its hold for a quarter of an hour, and is recorded so', async () => {
    const harness = await inDoubt();

    expect(harness.records).toMatchObject([
      {
        outcome: 'unknown',
        chargeNanos: 0n,
        heldNanos: 500n,
        partition: 'default',
        lines: [{ subject: 'caller', period: '', heldNanos: 500n }],
      },
    ]);
    expect(await harness.state()).toMatchObject({ held: 500n, used: 0n });
    harness.clock.advance(901_000);
    expect(await harness.state()).toMatchObject({ held: 0n, used: 0n });
  });

  it.each<[string, UnknownResolution, bigint]>([
    ['what was held, where it ran', { ran: true }, 500n],
    ['what the host names', { ran: true, chargeNanos: 120n }, 120n],
    ['nothing, where it did not run', { ran: false }, 0n],
  ])('costs %s', async (_what, resolution, charge) => {
    const harness = await inDoubt();

    await resolved(harness, resolution);

    expect(await harness.state()).toMatchObject({ held: 0n, used: charge });
    expect(harness.records.at(-1)).toMatchObject({
      requestId: harness.records[0]?.requestId,
      outcome: resolution.ran ? 'complete' : 'not_run',
      reason: 'resolved',
      basis: 'policy',
      chargeNanos: charge,
    });
  });

  it('is charged late, if the host found out late', async () => {
    const harness = await inDoubt();
    harness.clock.advance(1_000_000);

    expect(await resolved(harness, { ran: true })).toMatchObject({ status: 'settled_late' });

    expect(await harness.state()).toMatchObject({ held: 0n, used: 500n });
  });

  it('is ended once', async () => {
    const harness = await inDoubt();
    await resolved(harness, { ran: true, chargeNanos: 120n });

    expect(await resolved(harness, { ran: true })).toMatchObject({ status: 'already' });
    expect(await resolved(harness, { ran: false })).toMatchObject({ status: 'already' });

    expect(await harness.state()).toMatchObject({ used: 120n });
    expect(harness.records).toHaveLength(2);
  });

  it('keeps its money held and frees its slot: the key can call as if nothing ran', async () => {
    const ruined = (up: DrivenCall): void => up.answer(500, { error: { message: 'No.' } });
    const harness = gatewayInProcess({
      key: { maxConcurrentCalls: 2 },
      handlers: [ruined, ruined, ruined, completeReply('chat')],
    });

    const statuses: number[] = [];
    for (const request of [
      sampleRequests.image,
      sampleRequests.image,
      sampleRequests.image,
      sampleRequests.chat,
    ]) {
      statuses.push((await harness.call(request)).status);
    }

    expect(statuses).toEqual([502, 502, 502, 200]);
    expect(await harness.state()).toMatchObject({ held: 1_500n, inFlight: 0 });
  });

  it('charges nothing to a subject that only counts calls', async () => {
    const harness = await inDoubt({
      key: { quota: [{ id: 'team', period: 'month', limitNanos: 9_000n }], maxConcurrentCalls: 3 },
    });

    await resolved(harness, { ran: true });

    expect(await harness.state('team', '2026-01')).toMatchObject({ used: 500n });
    expect(await harness.state('caller')).toMatchObject({ used: 0n, inFlight: 0 });
  });

  it('stays in doubt while the store is down, and can be ended later', async () => {
    let isDown = false;
    const harness = await inDoubt({
      store: (quota) => ({
        settle: (input) => {
          if (isDown) throw new Error('down');
          return quota.settle(input);
        },
      }),
    });
    isDown = true;
    await expect(resolved(harness, { ran: true })).rejects.toMatchObject({
      code: 'store_unavailable',
    });

    isDown = false;
    await resolved(harness, { ran: true });

    expect(await harness.state()).toMatchObject({ used: 500n });
  });

  it('is ended although the usage sink fails', async () => {
    const harness = await inDoubt();
    harness.gateway.update({
      usage: {
        record: () => {
          throw new Error('full');
        },
        close: async () => {},
      },
    });

    expect(await resolved(harness, { ran: true })).toMatchObject({ status: 'settled' });
    expect(harness.eventTypes()).toContain('port_failed');
  });
});

it.each<[string, Record<string, unknown>, UnknownResolution]>([
  ['record', { outcome: 'complete' }, { ran: true }],
  ['record', { heldNanos: '500' }, { ran: true }],
  ['chargeNanos', {}, { ran: true, chargeNanos: -1n }],
  ['chargeNanos', {}, { ran: true, chargeNanos: 2n ** 53n }],
])('an illegal %s is refused, and nothing changes', async (name, change, resolution) => {
  const harness = await inDoubt();
  const [record] = harness.records;
  if (record === undefined) throw new Error('no record');

  const refused = harness.gateway.resolveUnknown({ ...record, ...change }, resolution);

  await expect(refused).rejects.toThrow(`resolveUnknown: ${name} must`);
  expect(await harness.state()).toMatchObject({ held: 500n, used: 0n });
});
