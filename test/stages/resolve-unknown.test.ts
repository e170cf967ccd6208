/** A host ends the hold of an image whose outcome was unknown. */
import { describe, expect, it } from 'vitest';
import type { UnknownResolution } from '../../src/stages/resolve-unknown.ts';
import type { DrivenCall } from './driven-upstream.ts';
import { type Scene, type SceneSetup, scene } from './scene.ts';
import { ask, whole } from './scene-models.ts';

/** An image that a 500 left in doubt. */
async function inDoubt(setup: SceneSetup = {}): Promise<Scene> {
  const set = scene({
    plays: [(up) => up.answer(500, { error: { message: 'No.' } })],
    ...setup,
  });
  await set.call(ask.image);
  return set;
}

async function resolved(set: Scene, resolution: UnknownResolution): Promise<unknown> {
  const [record] = set.records;
  return record && (await set.gateway.resolveUnknown(record, resolution));
}

describe('an image in doubt', () => {
  it('keeps its hold for a quarter of an hour, and is recorded so', async () => {
    const set = await inDoubt();

    expect(set.records).toMatchObject([
      {
        outcome: 'unknown',
        chargeNanos: 0n,
        heldNanos: 500n,
        partition: 'default',
        lines: [{ subject: 'caller', period: '', heldNanos: 500n }],
      },
    ]);
    expect(await set.state()).toMatchObject({ held: 500n, used: 0n });
    set.clock.advance(901_000);
    expect(await set.state()).toMatchObject({ held: 0n, used: 0n });
  });

  it.each<[string, UnknownResolution, bigint]>([
    ['what was held, where it ran', { ran: true }, 500n],
    ['what the host names', { ran: true, chargeNanos: 120n }, 120n],
    ['nothing, where it did not run', { ran: false }, 0n],
  ])('costs %s', async (_what, resolution, charge) => {
    const set = await inDoubt();

    await resolved(set, resolution);

    expect(await set.state()).toMatchObject({ held: 0n, used: charge });
    expect(set.records.at(-1)).toMatchObject({
      requestId: set.records[0]?.requestId,
      outcome: resolution.ran ? 'complete' : 'not_run',
      reason: 'resolved',
      basis: 'policy',
      chargeNanos: charge,
    });
  });

  it('is charged late, if the host found out late', async () => {
    const set = await inDoubt();
    set.clock.advance(1_000_000);

    expect(await resolved(set, { ran: true })).toMatchObject({ status: 'settled_late' });

    expect(await set.state()).toMatchObject({ held: 0n, used: 500n });
  });

  it('is ended once', async () => {
    const set = await inDoubt();
    await resolved(set, { ran: true, chargeNanos: 120n });

    expect(await resolved(set, { ran: true })).toMatchObject({ status: 'already' });
    expect(await resolved(set, { ran: false })).toMatchObject({ status: 'already' });

    expect(await set.state()).toMatchObject({ used: 120n });
    expect(set.records).toHaveLength(2);
  });

  it('keeps its money held and frees its slot: the key can call as if nothing ran', async () => {
    const ruined = (up: DrivenCall): void => up.answer(500, { error: { message: 'No.' } });
    const set = scene({
      key: { maxConcurrentCalls: 2 },
      plays: [ruined, ruined, ruined, whole('chat')],
    });

    const statuses: number[] = [];
    for (const asked of [ask.image, ask.image, ask.image, ask.chat]) {
      statuses.push((await set.call(asked)).status);
    }

    expect(statuses).toEqual([502, 502, 502, 200]);
    expect(await set.state()).toMatchObject({ held: 1_500n, inFlight: 0 });
  });

  it('charges nothing to a subject that only counts calls', async () => {
    const set = await inDoubt({
      key: { quota: [{ id: 'team', period: 'month', limitNanos: 9_000n }], maxConcurrentCalls: 3 },
    });

    await resolved(set, { ran: true });

    expect(await set.state('team', '2026-01')).toMatchObject({ used: 500n });
    expect(await set.state('caller')).toMatchObject({ used: 0n, inFlight: 0 });
  });

  it('stays in doubt while the store is down, and can be ended later', async () => {
    let isDown = false;
    const set = await inDoubt({
      store: (quota) => ({
        settle: (input) => {
          if (isDown) throw new Error('down');
          return quota.settle(input);
        },
      }),
    });
    isDown = true;
    await expect(resolved(set, { ran: true })).rejects.toMatchObject({ code: 'store_unavailable' });

    isDown = false;
    await resolved(set, { ran: true });

    expect(await set.state()).toMatchObject({ used: 500n });
  });

  it('is ended although the usage sink fails', async () => {
    const set = await inDoubt();
    set.gateway.update({
      usage: {
        record: () => {
          throw new Error('full');
        },
        close: async () => {},
      },
    });

    expect(await resolved(set, { ran: true })).toMatchObject({ status: 'settled' });
    expect(set.eventTypes()).toContain('port_failed');
  });
});

it.each<[string, Record<string, unknown>, UnknownResolution]>([
  ['record', { outcome: 'complete' }, { ran: true }],
  ['record', { heldNanos: '500' }, { ran: true }],
  ['chargeNanos', {}, { ran: true, chargeNanos: -1n }],
  ['chargeNanos', {}, { ran: true, chargeNanos: 2n ** 53n }],
])('an illegal %s is refused, and nothing changes', async (name, change, said) => {
  const set = await inDoubt();
  const [record] = set.records;
  if (record === undefined) throw new Error('no record');

  const refused = set.gateway.resolveUnknown({ ...record, ...change }, said);

  await expect(refused).rejects.toThrow(`resolveUnknown: ${name} must`);
  expect(await set.state()).toMatchObject({ held: 500n, used: 0n });
});
