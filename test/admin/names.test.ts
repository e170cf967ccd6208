// suite: slow host
/** The names that filters complete: of the key store, the catalog and the usage log. */
import { describe, expect, it } from 'vitest';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { drawn } from '../support/seeds.ts';
import { adminSetup } from './admin-host.ts';

describe('the names to choose from', () => {
  it.each([1, 2, 3])('are those that have the text, at most fifty, seed %d', async (seed) => {
    const draw = drawn(seed);
    const log = memoryUsageSink({ limit: 1_000 });
    const { admin, clock } = adminSetup({ usage: log });
    const letters = 'abAB1-';
    const word = () => Array.from({ length: 1 + draw(4) }, () => letters[draw(6)]).join('');
    const kinds = { key: 'keyId', model: 'modelId', channel: 'channelId', group: 'group' } as const;
    for (let index = 0; index < 300; index += 1) {
      const names = { keyId: word(), modelId: word(), channelId: word(), group: word() };
      const ids = { requestId: `r${index}`, reservationId: `h${index}`, startedAtMs: clock.now() };
      log.record(usageRecord({ ...ids, ...names, metadata: { user: word() } }));
    }
    const listed = admin.channels.list();
    const ofCatalog: Readonly<Record<string, readonly string[]>> = {
      model: listed.map(({ modelId }) => modelId),
      group: listed.flatMap(({ groups: of }) => of),
      channel: listed.flatMap(({ channels }) => channels.map(({ channelId }) => channelId)),
    };

    for (let query = 0; query < 30; query += 1) {
      const q = draw(4) === 0 ? '' : word();
      for (const of of ['key', 'model', 'channel', 'group', 'metadata.user'] as const) {
        const ofLog = log.records.map((record) =>
          of === 'metadata.user' ? record.metadata?.user : record[kinds[of]],
        );
        const fits = [...(ofCatalog[of] ?? []), ...ofLog].filter(
          (name) => name?.toLowerCase().includes(q.toLowerCase()) === true,
        );
        const names = await admin.names({ of, q });

        expect(names).toHaveLength(Math.min(50, new Set(fits).size));
        expect(new Set(fits)).toEqual(new Set([...fits, ...names]));
        expect(new Set(names).size).toBe(names.length);
        const begins = names.map((name) => name.toLowerCase().startsWith(q.toLowerCase()));
        expect(begins).toEqual(begins.toSorted((one, other) => Number(other) - Number(one)));
      }
    }
    expect(await admin.names({ of: 'metadata' })).toEqual(['user']);
    expect(await admin.names({ of: 'code', q: 'quota' })).toEqual(['insufficient_quota']);
  });

  it('are the keys of the store, and without a log there are still those', async () => {
    const { admin } = adminSetup();
    for (const id of ['team-a', 'team-b', 'other']) {
      await admin.keys.issue('ada', { id, group: 'default', limitNanos: 1n });
    }

    expect(await admin.names({ of: 'key', q: 'TEAM' })).toEqual(['team-a', 'team-b']);
    expect(await admin.names({ of: 'metadata.user' })).toEqual([]);
  });
});
