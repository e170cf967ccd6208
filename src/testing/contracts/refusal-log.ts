/** The contract of `RefusalLog`: each count is kept once, unchanged, however often it is sent. */
import assert from 'node:assert/strict';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { RecordedRefusals, RefusalLog } from '../../ports/refusal-log.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  overSetups,
} from './contract-case.ts';

/** A log to test, and a function that reads what it keeps. */
export interface RefusalLogSetup extends Cleanable {
  /** The log to test, without counts of an earlier case. */
  readonly log: RefusalLog;
  /** All counts, in any order. */
  stored(): MaybePromise<readonly RecordedRefusals[]>;
}

/** The cases of the contract. `make` is called once per case; a log must keep 600 counts. */
export function refusalLogContract(
  make: () => MaybePromise<RefusalLogSetup>,
): readonly ContractCase[] {
  return overSetups(cases, make, (setup) => setup);
}

const cases: Cases<RefusalLogSetup> = {
  async 'RF-01 all members are read back unchanged, also those that are undefined'(setup) {
    const stranger = recordedRefusals({ id: idOf(2), keyId: undefined, group: undefined });
    const counts = [
      recordedRefusals({ reason: 'rate' }),
      {
        ...stranger,
        protocol: undefined,
        modelId: undefined,
        reason: undefined,
        detail: undefined,
      },
      recordedRefusals({ id: idOf(3), keyId: '(other)', group: '', modelId: 'a"\\ü😀%_\'' }),
      recordedRefusals({ id: idOf(4), detail: '/v1beta/models/{model}:generateContent' }),
      recordedRefusals({ id: idOf(5), detail: `messages[].content.${'a'.repeat(45)}` }),
    ];

    await setup.log.recordRefusals(counts);

    assert.deepEqual(await inOrder(setup.stored), counts);
  },
  async 'RF-02 numbers up to 2^53 − 1 are exact'({ log, stored }) {
    const counts = [recordedRefusals({ refusals: Number.MAX_SAFE_INTEGER })];

    await log.recordRefusals(counts);

    assert.deepEqual(await inOrder(stored), counts);
  },
  async 'RF-03 counts that are sent again are kept once'({ log, stored }) {
    const counts = [recordedRefusals(), recordedRefusals({ id: idOf(2), refusals: 5 })];
    await log.recordRefusals(counts);

    await log.recordRefusals(counts);
    await log.recordRefusals(counts);

    assert.deepEqual(await inOrder(stored), counts);
  },
  async 'RF-04 new counts that are sent together with known ones are added'({ log, stored }) {
    const [first, second, third] = numbered(3);
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await log.recordRefusals([second]);

    await log.recordRefusals([first, second, third]);

    assert.deepEqual(await inOrder(stored), [first, second, third]);
  },
  async 'RF-05 counts that differ only in their id are both kept'({ log, stored }) {
    const counts = [recordedRefusals(), recordedRefusals({ id: idOf(2) })];

    await log.recordRefusals(counts);

    assert.deepEqual(await inOrder(stored), counts);
  },
  async 'RF-06 the same counts that are sent at once, in any order, are kept once'(setup) {
    const counts = numbered(20);
    const orders = Array.from({ length: 10 }, (_, index) => [
      ...counts.slice(index),
      ...counts.slice(0, index),
    ]);

    await Promise.all(orders.map(async (order) => setup.log.recordRefusals(order)));

    assert.deepEqual(await inOrder(setup.stored), counts);
  },
  async 'RF-07 a batch may have five hundred counts, or none'({ log, stored }) {
    const counts = numbered(500);

    await log.recordRefusals(counts);
    await log.recordRefusals([]);

    assert.deepEqual(await inOrder(stored), counts);
  },
  async 'RF-08 ids of keys with any printable characters are kept apart'({ log, stored }) {
    const counts = everyId.map((keyId, index) => recordedRefusals({ id: idOf(index), keyId }));

    await log.recordRefusals(counts);

    assert.deepEqual(await inOrder(stored), counts);
  },
};

async function inOrder(stored: RefusalLogSetup['stored']): Promise<readonly RecordedRefusals[]> {
  return (await stored()).toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

function numbered(length: number): readonly RecordedRefusals[] {
  return Array.from({ length }, (_, index) => recordedRefusals({ id: idOf(index) }));
}

function idOf(number: number): string {
  return `minute_000000000.${String(number).padStart(3, '0')}`;
}

/** A count of refusals for a key without money, with the given changes. */
export function recordedRefusals(change: Partial<RecordedRefusals> = {}): RecordedRefusals {
  return {
    id: idOf(1),
    atMs: 1_767_225_600_000,
    keyId: 'key_alice',
    group: 'chat',
    protocol: 'chat',
    modelId: 'gpt-5',
    code: 'insufficient_quota',
    reason: 'insufficient',
    detail: 'messages[].content[].type',
    refusals: 3,
    ...change,
  };
}
