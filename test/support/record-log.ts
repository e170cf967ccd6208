/** The usage records of a gateway under test, in the order in which they were written. */
import type { UsageRecord } from '../../src/ports/usage-sink.ts';

/** Keeps records, and returns each of them once to a test that waits. */
export interface RecordLog {
  readonly records: readonly UsageRecord[];
  add(record: UsageRecord): void;
  /** The next record that was not returned yet; waits until there is one. */
  next(): Promise<UsageRecord>;
}

/** Creates an empty log. */
export function recordLog(): RecordLog {
  const records: UsageRecord[] = [];
  const untaken: UsageRecord[] = [];
  const waiters: ((record: UsageRecord) => void)[] = [];
  return {
    records,
    add: (record) => {
      records.push(record);
      const waiter = waiters.shift();
      if (waiter === undefined) untaken.push(record);
      else waiter(record);
    },
    next: () => {
      const record = untaken.shift();
      if (record !== undefined) return Promise.resolve(record);
      return new Promise((resolve) => {
        waiters.push(resolve);
      });
    },
  };
}
