// suite: quick
/** The memory log of refusals fulfils its contract, and the contract detects faults of others. */
import { describe, expect, it } from 'vitest';
import type { RecordedRefusals, RefusalLog } from '../../src/ports/refusal-log.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { refusalLogContract } from '../../src/testing/contracts/refusal-log.ts';

describe('memoryUsageSink as a log of refusals', () => {
  const contract = refusalLogContract(() => {
    const log = memoryUsageSink();
    return { log, stored: () => log.refusals };
  });
  for (const { name, run } of contract) it(name, run);
});

type Rows = Map<string, RecordedRefusals>;
/** Adds a batch to what is kept. */
type Faulty = (rows: Rows, counts: readonly RecordedRefusals[]) => void | Promise<void>;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const changed =
  (change: (count: RecordedRefusals) => Partial<RecordedRefusals>): Faulty =>
  (rows, counts) => {
    for (const count of counts) {
      if (!rows.has(count.id)) rows.set(count.id, { ...count, ...change(count) });
    }
  };
/** Adds a count whatever is there. */
const again = (rows: Rows, counts: readonly RecordedRefusals[]): void => {
  for (const count of counts) rows.set(`${count.id}/${rows.size}`, count);
};

/** By the beginning of the name of the case that detects the fault. */
const faults: readonly (readonly [fault: string, caughtBy: string, Faulty])[] = [
  ['keeps no reason', 'RF-01', changed(() => ({ reason: undefined }))],
  ['reads a missing key as an empty name', 'RF-01', changed((one) => ({ keyId: one.keyId ?? '' }))],
  [
    'counts in single precision',
    'RF-02',
    changed((one) => ({ refusals: Math.fround(one.refusals) })),
  ],
  ['keeps what is sent again', 'RF-03', again],
  [
    'adds up what is sent again',
    'RF-03',
    (rows, counts) => {
      for (const count of counts) {
        const refusals = count.refusals + (rows.get(count.id)?.refusals ?? 0);
        rows.set(count.id, { ...count, refusals });
      }
    },
  ],
  [
    'takes a batch with a known count for known',
    'RF-04',
    (rows, counts) => {
      if (counts.some(({ id }) => rows.has(id))) return;
      for (const count of counts) rows.set(count.id, count);
    },
  ],
  [
    'tells counts apart by what they count',
    'RF-05',
    (rows, counts) => {
      for (const count of counts) {
        const known = [...rows.values()].some(
          (row) => JSON.stringify({ ...row, id: '' }) === JSON.stringify({ ...count, id: '' }),
        );
        if (!known) rows.set(count.id, count);
      }
    },
  ],
  [
    'looks first and writes later',
    'RF-06',
    async (rows, counts) => {
      const news = counts.filter(({ id }) => !rows.has(id));
      await turn();
      again(rows, news);
    },
  ],
  ['takes a hundred', 'RF-07', (rows, counts) => changed(() => ({}))(rows, counts.slice(0, 100))],
  ['encodes ids', 'RF-08', changed(({ keyId = '' }) => ({ keyId: encodeURIComponent(keyId) }))],
];

function faultyLog(add: Faulty) {
  const rows: Rows = new Map();
  const log: RefusalLog = { recordRefusals: (counts) => add(rows, counts) };
  return { log, stored: () => [...rows.values()] };
}

describe('the contract of refusal logs detects a log that', () => {
  it.each(faults)('%s: %s', async (_fault, caughtBy, add) => {
    const contract = refusalLogContract(() => faultyLog(add));

    const [found] = contract.filter(({ name }) => name.startsWith(caughtBy));

    await expect(found?.run()).rejects.toThrow();
  });

  it('has any of the faults, of which there is one for each case', () => {
    const names = refusalLogContract(() => faultyLog(() => {})).map(({ name }) => name.slice(0, 5));

    expect([...new Set(faults.map(([, caughtBy]) => caughtBy))].toSorted()).toEqual(names);
  });
});
