/** What key tables and usage logs must do with the ids of keys and subjects, whatever they are. */
import { expect, it, onTestFinished } from 'vitest';
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { ApiKey } from '../../src/ports/keys/key-store.ts';
import type { UsageSink } from '../../src/ports/usage-sink.ts';
import { mintSecret } from '../../src/secret.ts';
import type { KeyTable } from '../../src/stores/sql/key-row.ts';
import type { UsageQueries } from '../../src/stores/sql/usage/report.ts';
import { everyId } from '../../src/testing/contracts/contract-case.ts';
import { usageRecord } from '../../src/testing/index.ts';

const idsOf = (keys: readonly ApiKey[]): readonly string[] => keys.map(({ id }) => id);
const ordered = everyId.toSorted();

/** Adds the case of keys to the suite; `open` returns an empty table. */
export function keyIdCases(open: () => MaybePromise<KeyTable>): void {
  it('keys with any ids are read, listed, searched, changed and removed one by one', async () => {
    const keys = await open();
    const keyOf = (id: string): ApiKey => ({
      id,
      group: `of ${id}`,
      disabled: false,
      quota: [{ id, period: 'total', limitNanos: 1n }],
    });
    for (const id of everyId) await keys.add(mintSecret(), keyOf(id));

    const paged: string[] = [];
    for (let after: string | undefined; paged.length <= everyId.length; ) {
      const page = await keys.page({ limit: 50, ...(after === undefined ? {} : { after }) });
      paged.push(...idsOf(page.keys));
      after = page.next;
      if (after === undefined) break;
    }
    expect(paged).toEqual(ordered);
    expect(idsOf(await keys.list())).toEqual(ordered);
    for (const id of everyId) {
      expect(await keys.get(id)).toEqual(keyOf(id));
      expect(idsOf(await keys.list(`of ${id}`))).toEqual([id]);
      const search = id.toLowerCase();
      const { keys: found } = await keys.page({ search: id, limit: 1_000 });
      const groupsToo = ordered.filter((one) => `of ${one}`.toLowerCase().includes(search));
      expect(idsOf(found)).toEqual(groupsToo);
    }
    const [changed, removed] = [0, 1].map((rest) => everyId.filter((_, at) => at % 3 === rest));
    for (const id of changed ?? []) expect(await keys.update(id, { disabled: true })).toBe(true);
    for (const id of removed ?? []) expect(await keys.remove(id)).toBe(true);
    for (const [index, id] of everyId.entries()) {
      const rest = { ...keyOf(id), disabled: index % 3 === 0 };
      expect(await keys.get(id)).toEqual(index % 3 === 1 ? undefined : rest);
    }
    for (const id of everyId) await keys.remove(id);
    expect(await keys.list()).toEqual([]);
  });
}

/** Adds the case of usage logs to the suite; `open` returns an empty log. */
export function usageIdCases(open: () => MaybePromise<UsageSink & UsageQueries>): void {
  it('calls of keys and subjects with any ids are reported one by one', async () => {
    const log = await open();
    onTestFinished(() => log.close());
    const records = everyId.map((keyId, index) =>
      usageRecord({
        requestId: `req_${index}`,
        reservationId: `reservation_${index}`,
        keyId,
        lines: [{ subject: keyId, period: '', heldNanos: 1n }],
        startedAtMs: index,
        chargeNanos: BigInt(index),
      }),
    );
    for (const record of records) await log.record(record);

    const span = { fromMs: 0, toMs: records.length };
    const rows = await log.usageReport({ by: 'key', ...span });
    const sums = rows.map(({ names: [id = ''], chargeNanos }) => [id, chargeNanos] as const);
    expect(new Map(sums)).toEqual(new Map(everyId.map((id, index) => [id, BigInt(index)])));
    expect(rows).toHaveLength(everyId.length);
    for (const record of records) {
      const { records: found } = await log.usageRecords({ keyId: record.keyId }, { limit: 10 });
      expect(found).toEqual([record]);
    }
    const last = await log.usageLastCalls(everyId);
    expect(last).toEqual(everyId.map((_, index) => index));
  });
}
