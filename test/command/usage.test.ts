// suite: slow host
/** `tollgate usage …` over SQLite: reports, exports and the deletion of old records. */
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { sqliteUsageSink } from '../../src/stores/sqlite/stores.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
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

    expect(shown.out).toMatch(/^=1\+1 +2 +6 +0 +10 +0 +0 +0\.000000016 +- +50\.0%$/m);
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
      return out.split('\n').map((line) => / ([\d.,]+) +- +[\d.]+%$/.exec(line)?.[1]);
    };

    expect((await charged('key')).slice(1, 5)).toEqual([
      '28.79995800',
      '7.00000000',
      '0.00000005',
      '35.79995805',
    ]);
    expect((await charged('day')).slice(1, 3)).toEqual(['0.00000005', '7.00000000']);
  });

  it('separates thousands, and sums up what is not among the largest', async () => {
    const host = await withCalls(5, (record, index) => ({
      ...record,
      keyId: `key-${index % 4}`,
      modelId: `model-${index}`,
      chargeNanos: BigInt(index + 1) * 1_234_000_000_000n,
    }));
    const linesOf = (out: string): readonly string[] =>
      out.split('\n').map((line) =>
        line
          .split(/ {2,}/)
          .filter((_, at) => [0, 7, 9].includes(at))
          .join(' '),
      );
    const one = await host.call('usage', '--top', '2');
    const two = await host.call('usage', '--then', 'model');
    const json = JSON.parse((await host.call('usage', '--top', '1', '--json')).out);

    expect(linesOf(one.out).slice(1, 5)).toEqual([
      'key-0 7,404 40.0%',
      'key-3 4,936 26.7%',
      '(2 others) 6,170 33.3%',
      'total 18,510 100.0%',
    ]);
    const keys = two.out
      .split('\n')
      .slice(1, 6)
      .map((line) => line.split(/ +/).slice(0, 2));
    expect(keys).toEqual([
      ['key-0', 'model-4'],
      ['key-0', 'model-0'],
      ['key-3', 'model-3'],
      ['key-2', 'model-2'],
      ['key-1', 'model-1'],
    ]);
    expect(json.data).toMatchObject([{ names: ['key-0'], chargeNanos: '7404000000000' }]);
    expect(json.total).toMatchObject({ calls: 5, chargeNanos: '18510000000000' });
  });

  it.each([
    ['today', '2026-03-01T00:00', '2026-03-01T10:30'],
    ['yesterday', '2026-02-28T00:00', '2026-03-01T00:00'],
    ['this-month', '2026-03-01T00:00', '2026-03-01T10:30'],
    ['last-month', '2026-02-01T00:00', '2026-03-01T00:00'],
    ['24h', '2026-02-28T10:30', '2026-03-01T10:30'],
    ['7d', '2026-02-22T10:30', '2026-03-01T10:30'],
  ])('selects the calls of the time %s', async (last, from, to) => {
    const clock = fakeClock(Date.UTC(2026, 2, 1, 10, 30));
    const { out } = await commandFolder({ clock }).call('usage', '--last', last);

    expect(out).toContain(`from ${from} to ${to} (UTC)`);
  });

  it.each<readonly [args: readonly string[], sentence: string]>([
    [['--last', 'week'], '--last must be 24h, 7d, today'],
    [['--last', '0d'], '--last must be'],
    [['--last', '7d', '--to', '2026-01-01'], 'exclude each other'],
    [['--top', '0'], '--top must be an integer'],
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
