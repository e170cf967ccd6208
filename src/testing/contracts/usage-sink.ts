/** The contract of `UsageSink`: after `close` every record is stored exactly once, unchanged. */
import assert from 'node:assert/strict';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { UsageRecord, UsageSink } from '../../ports/usage-sink.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  overSetups,
} from './contract-case.ts';

/** The members of a record that the cases read back. */
export type StoredUsage = Pick<
  UsageRecord,
  'requestId' | 'keyId' | 'metadata' | 'heldNanos' | 'chargeNanos' | 'outcome'
>;

/** A sink to test, and a function that reads what it wrote. */
export interface UsageSinkSetup extends Cleanable {
  /** The sink to test, without records of an earlier case. */
  readonly sink: UsageSink;
  /** The written records, oldest first; called only after `close`. */
  stored(): MaybePromise<readonly StoredUsage[]>;
}

/**
 * The cases of the usage contract. `make` is called once per case; a sink must accept 500 records.
 */
export function usageSinkContract(
  make: () => MaybePromise<UsageSinkSetup>,
): readonly ContractCase[] {
  return overSetups(cases, make, (setup) => setup);
}

const cases: Cases<UsageSinkSetup> = {
  async 'all records are written in order by the time the sink is closed'({ sink, stored }) {
    const requestIds = Array.from({ length: 200 }, (_, index) => `req_${index}`);
    for (const requestId of requestIds) await sink.record(usageRecord({ requestId }));

    await sink.close();

    const written = (await stored()).map((record) => record.requestId);
    assert.deepEqual(written, requestIds);
  },
  async 'fifty concurrent records are each written once'({ sink, stored }) {
    const requestIds = Array.from({ length: 50 }, (_, index) => `req_${index}`);
    await Promise.all(requestIds.map(async (requestId) => sink.record(usageRecord({ requestId }))));

    await sink.close();

    const written = (await stored()).map((record) => record.requestId);
    assert.deepEqual(written.toSorted(), requestIds.toSorted());
  },
  async 'amounts are exact'({ sink, stored }) {
    const amounts = { heldNanos: 9_007_199_254_740_991n, chargeNanos: 9_007_199_254_740_989n };
    await sink.record(usageRecord(amounts));

    await sink.close();

    const [record] = await stored();
    assert.equal(record?.heldNanos, amounts.heldNanos);
    assert.equal(record?.chargeNanos, amounts.chargeNanos);
  },
  async 'labels with any characters are read back unchanged and forge no record'({ sink, stored }) {
    const metadata = { 'a\nb': '"}\r\n{"requestId":"forged"}\u0000\u2028\u001b[31m', team: 'ü' };
    await sink.record(usageRecord({ requestId: 'req_first', metadata }));
    await sink.record(usageRecord({ requestId: 'req_last' }));

    await sink.close();

    const [first, ...others] = await stored();
    assert.deepEqual({ ...first?.metadata }, metadata);
    assert.deepEqual(
      others.map((record) => record.requestId),
      ['req_last'],
    );
  },
  async 'a sink can be closed twice, and without records'({ sink, stored }) {
    await sink.close();
    await sink.close();

    assert.deepEqual(await stored(), []);
  },
  async 'ids of keys with any printable characters are read back'({ sink, stored }) {
    const records = everyId.map((keyId, index) =>
      usageRecord({ requestId: `req_${index}`, keyId }),
    );
    for (const record of records) await sink.record(record);

    await sink.close();

    assert.deepEqual(
      (await stored()).map(({ keyId }) => keyId),
      everyId,
    );
  },
};

/** A record of a simple chat call, with the given changes. */
export function usageRecord(change: Partial<UsageRecord> = {}): UsageRecord {
  return {
    booked: true,
    revision: 1,
    requestId: 'req_1',
    reservationId: 'reservation_0001',
    partition: 'default',
    lines: [{ subject: 'alice', period: '2026-11', heldNanos: 100n }],
    keyId: 'key_alice',
    group: 'chat',
    metadata: undefined,
    protocol: 'chat',
    streamed: false,
    modelId: 'gpt-5',
    channelId: 'openai-1',
    upstreamModel: 'gpt-5',
    attempts: [
      { channelId: 'openai-1', status: 200, reason: undefined, mayHaveRun: true, durationMs: 12 },
    ],
    startedAtMs: 1_767_225_600_000,
    durationMs: 14,
    firstByteMs: 13,
    status: 200,
    outcome: 'complete',
    reason: undefined,
    usage: { inputTokens: 3, cachedInputTokens: 0, outputTokens: 5, images: 0 },
    basis: 'usage',
    heldNanos: 100n,
    chargeNanos: 8n,
    costNanos: undefined,
    price: { per: 'token', rates: { input: 1_000_000n, output: 1_000_000n } },
    ...change,
  };
}
