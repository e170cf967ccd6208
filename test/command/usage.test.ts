// suite: slow host
/** `tollgate usage …` over SQLite: reports, exports and the deletion of old records. */
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { sqliteUsageSink } from '../../src/stores/sqlite/stores.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { type CommandFolder, commandFolder } from './called.ts';

/** The fake clock's start, 1 January 2026. */
const january = Date.UTC(2026, 0, 1);

describe('tollgate usage', () => {
  const groupings = ['key', 'group', 'model', 'channel', 'day', 'outcome', 'metadata.team'];
  const pairs = groupings.flatMap((one) =>
    groupings.filter((other) => other !== one).map((other) => [one, other] as const),
  );

  it('sums by any two groupings, and all of them agree', async () => {
    const host = await withCalls(12);
    for (const [by, then] of pairs) {
      const report = await host.call('usage', '--by', by, '--then', then, '--json');
      const { data, total } = JSON.parse(report.out);

      expect([by, then, report.code]).toEqual([by, then, 0]);
      expect(total).toMatchObject({ calls: 12, inputTokens: 36, chargeNanos: '96' });
      expect(sumOf(data, 'calls')).toBe(12);
      for (const { names } of data) expect(names).toHaveLength(2);
    }
    expect(pairs).toHaveLength(42);
  });

  it('leaves out of JSON a cost that no channel states', async () => {
    const host = await withCalls(2, (record, index) => ({
      ...record,
      metadata: { team: `${index}` },
      costNanos: index === 0 ? undefined : 3n,
    }));
    const report = await host.call('usage', '--by', 'metadata.team', '--json');
    const { data, total } = JSON.parse(report.out);

    const costs = [...data, total].map(({ costNanos, marginNanos }) => [costNanos, marginNanos]);
    expect(costs).toEqual([
      [undefined, undefined],
      ['3', '5'],
      ['3', '5'],
    ]);
  });

  it('prints a table with a total, and CSV without formulas', async () => {
    const host = await withCalls(4, (record, index) => ({
      ...record,
      metadata: { team: index < 2 ? '=1+1' : '\u001b[31mred' },
    }));
    const shown = await host.call('usage', '--by', 'metadata.team');
    const csv = await host.call('usage', '--by', 'metadata.team', '--csv');

    expect(shown.out).toMatch(/^=1\+1 +2 +6 +0 +10 +0 +0 +0\.000000016 +-$/m);
    expect(shown.out).toMatch(/^\?\[31mred +2 /m);
    expect(shown.out).toMatch(/^total +4 +12 /m);
    expect(csv.out).toMatch(/^metadata\.team,calls,input_tokens,.*,charge,cost\r\n/);
    expect(csv.out).toContain("\r\n'=1+1,2,6,0,10,0,0,0.000000016,\r\n");
  });

  it('shows the most expensive first, with aligned decimals, and days by their dates', async () => {
    const charges = [50n, 7_000_000_000n, 28_799_958_000n];
    const host = await withCalls(3, (record, index) => ({
      ...record,
      keyId: `key-${index}`,
      startedAtMs: january + index * 86_400_000,
      chargeNanos: charges[index] ?? 0n,
    }));
    const charged = async (by: string): Promise<readonly (string | undefined)[]> => {
      const { out } = await host.call('usage', '--by', by, '--to', '2026-02-01');
      return out.split('\n').map((line) => / ([\d.]+) +-$/.exec(line)?.[1]);
    };

    expect((await charged('key')).slice(1, 5)).toEqual([
      '28.79995800',
      '7.00000000',
      '0.00000005',
      '35.79995805',
    ]);
    expect((await charged('day')).slice(1, 3)).toEqual(['0.00000005', '7.00000000']);
  });

  it.each<readonly [args: readonly string[], sentence: string]>([
    [['--by', 'nonsense'], 'must be key, group'],
    [['--from', 'nonsense'], '--from must be a date'],
    [['--by', 'key', '--then', 'key'], 'must differ'],
    [['--json', '--csv'], 'exclude each other'],
    [['delete'], '--before'],
    [['delete', '--before', '2026-01-01'], '--yes'],
    [['delete', '--before', 'soon', '--yes'], '--before must be a date'],
  ])('%j is refused', async (args, sentence) => {
    const { code, err } = await commandFolder().call('usage', ...args);

    expect(code).toBe(2);
    expect(err).toContain(sentence);
  });
});

describe('tollgate usage calls', () => {
  it('exports every call once, page by page, with its progress on a terminal', async () => {
    const host = await withCalls(1_001);
    const csv = await host.callOnTerminal('usage', 'calls');
    const { data, complete } = JSON.parse((await host.call('usage', 'calls', '--json')).out);

    const lines = csv.out.trimEnd().split('\r\n').slice(1);
    expect(new Set(lines).size).toBe(1_001);
    expect(csv.err).toContain('\rReading calls: 1000 …\rReading calls: 1001 …');
    expect(complete).toBe(true);
    expect(new Set(data.map((call: object) => JSON.stringify(call))).size).toBe(1_001);
    expect(data[0]).toMatchObject({ requestId: 'req_0', chargeNanos: '8' });
  });

  it('finds a request of any age by its id', async () => {
    const host = await withCalls(3, (record) => ({ ...record, startedAtMs: 1 }));
    const found = await host.call('usage', 'calls', '--request', 'req_1');

    expect(found.out).toMatch(/\r\n1970-01-01|\r\n1,req_1,/);
    expect(found.out.trimEnd().split('\r\n')).toHaveLength(2);
  });

  it('prints a complete JSON document even if the log fails halfway', async () => {
    const host = await withCalls(1_001);
    const file = new Database(join(host.folder, 'tollgate.db'));
    file.exec("UPDATE tollgate_usage SET outcome = 'x' WHERE request_id = 'req_1000'");
    file.close();
    const { code, out, err } = await host.call('usage', 'calls', '--json');

    expect(code).not.toBe(0);
    expect(JSON.parse(out).complete).toBe(false);
    expect(JSON.parse(err).error.code).toBe('failed');
  });

  it('stops reading when its output is closed', async () => {
    let pieces = 0;
    const host = await withCalls(2_001, (record) => record, {
      isOutClosed: () => {
        pieces += 1;
        return pieces > 1;
      },
    });
    const { code, out } = await host.call('usage', 'calls');

    expect(code).toBe(0);
    expect(out.trimEnd().split('\r\n')).toHaveLength(1_001);
  });
});

describe('tollgate usage delete', () => {
  it('deletes in batches what began before a day, and nothing else', async () => {
    const host = await withCalls(1_500, (record, index) => ({
      ...record,
      startedAtMs: january - (index < 1_200 ? 1 : 0),
    }));
    const args = ['usage', 'delete', '--before', '2026-01-01', '--yes'];
    const shown = await host.callOnTerminal(...args);
    const repeated = await host.call(...args, '--json');
    const left = await host.call('usage', '--from', '2020-01-01', '--json');

    expect(shown.out).toBe('1200 records from before 2026-01-01T00:00:00.000Z are deleted.\n');
    expect(shown.err).toContain('\rDeleting records: 1000 …\rDeleting records: 1200 …');
    expect(JSON.parse(repeated.out)).toEqual({ before: '2026-01-01T00:00:00.000Z', deleted: 0 });
    expect(JSON.parse(left.out).total.calls).toBe(300);
  });
});

/** A folder whose usage log has this many calls. */
async function withCalls(
  count: number,
  change: (record: UsageRecord, index: number) => UsageRecord = (record) => record,
  around: Parameters<typeof commandFolder>[0] = {},
): Promise<CommandFolder> {
  const host = commandFolder(around);
  await host.call('migrate');
  const client = new Database(join(host.folder, 'tollgate.db'));
  const sink = sqliteUsageSink({ client, onLost: () => {} });
  for (let index = 0; index < count; index += 1) {
    await sink.record(change(recordOf(index), index));
  }
  await sink.close();
  client.close();
  return host;
}

function recordOf(index: number): UsageRecord {
  return usageRecord({
    requestId: `req_${index}`,
    reservationId: `reservation_${String(index).padStart(6, '0')}`,
    keyId: `key-${index % 2}`,
    modelId: `model-${index % 3}`,
    startedAtMs: january,
    metadata: { team: `team-${index % 4}` },
  });
}

function sumOf(rows: readonly object[], name: string): number {
  return rows.reduce((total, row) => total + Number(Reflect.get(row, name)), 0);
}
