/** The contract of `IdempotencyStore`: one claim owns a name, for the time it must be kept. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../ports/call-options.ts';
import type {
  ClaimInput,
  ClaimRecord,
  ClaimResult,
  FinishInput,
  IdempotencyStore,
} from '../../ports/replies/idempotency-store.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  overSetups,
} from './contract-case.ts';

/** A store to test, with its clock. */
export interface IdempotencyStoreSetup extends Cleanable {
  /** The store to test, without records of an earlier case. */
  readonly store: IdempotencyStore;
  /** Advances the store's clock; leases and records must end by this clock only. */
  readonly clock: {
    /** Moves the store's time on. */
    advance(ms: number): MaybePromise<void>;
  };
}

/**
 * The cases of the idempotency contract. `make` is called once per case; stores may share a
 * database, since each case claims new names.
 */
export function idempotencyStoreContract(
  make: () => MaybePromise<IdempotencyStoreSetup>,
): readonly ContractCase[] {
  return overSetups(cases, make, caseContext);
}

interface CaseContext {
  readonly store: IdempotencyStore;
  advance(ms: number): Promise<void>;
  claim(input: ClaimInput): Promise<ClaimResult>;
  finish(input: ClaimInput, state: FinishInput['state'], httpStatus?: number): Promise<string>;
  abandon(input: ClaimInput): Promise<string>;
  /** The record of a name; fails where there is none. */
  recordOf(input: ClaimInput): Promise<ClaimRecord>;
}

const leaseMs = 60_000;
const keepMs = 3_600_000;

/** A claim of a new name, with the given changes. */
function fresh(change: Partial<ClaimInput> = {}): ClaimInput {
  return {
    name: randomBytes(32).toString('hex'),
    fingerprint: randomBytes(32).toString('hex'),
    keyId: 'key-1',
    operation: 'chat',
    claimId: randomUUID(),
    requestId: randomUUID(),
    leaseMs,
    keepMs,
    ifTaken: 'answer',
    ...change,
  };
}

/** Another call that claims the same name. */
function rival({ name, fingerprint }: ClaimInput, change: Partial<ClaimInput> = {}): ClaimInput {
  return fresh({ name, fingerprint, ...change });
}

function caseContext({ store, clock }: IdempotencyStoreSetup): CaseContext {
  const claim = async (input: ClaimInput): Promise<ClaimResult> => store.claim(input);
  return {
    store,
    advance: async (ms) => clock.advance(ms),
    claim,
    finish: async ({ name, claimId, keepMs: keptMs }, state, httpStatus = 200) =>
      (await store.finish({ name, claimId, state, httpStatus, keepMs: keptMs })).status,
    abandon: async ({ name, claimId }) => (await store.abandon({ name, claimId })).status,
    recordOf: async (input) => {
      const result = await claim(rival(input));
      assert(result.status === 'taken', 'there is no record of the name');
      return result.record;
    },
  };
}

const cases: Cases<CaseContext> = {
  async 'IS-01 the first claim owns the name, and the next one gets its record'(store) {
    const first = fresh();

    assert.equal((await store.claim(first)).status, 'claimed');

    const { state, fingerprint, claimId, requestId, status, endedAtMs } =
      await store.recordOf(first);
    assert.deepEqual(
      { state, fingerprint, claimId, requestId },
      {
        state: 'running',
        fingerprint: first.fingerprint,
        claimId: first.claimId,
        requestId: first.requestId,
      },
    );
    assert.equal(status ?? undefined, undefined);
    assert.equal(endedAtMs ?? undefined, undefined);
  },
  async 'IS-02 exactly one of fifty concurrent claims of a name owns it'({ claim }) {
    const first = fresh();
    const rivals = Array.from({ length: 50 }, () => rival(first));

    const results = await Promise.all(rivals.map(claim));

    assert.equal(results.filter(({ status }) => status === 'claimed').length, 1);
    const owner = rivals[results.findIndex(({ status }) => status === 'claimed')]?.claimId;
    for (const result of results) {
      if (result.status === 'taken') assert.equal(result.record.claimId, owner);
    }
  },
  async 'IS-03 names are independent of each other'({ claim, finish, recordOf }) {
    const [one, other] = [fresh(), fresh()];

    assert.equal((await claim(one)).status, 'claimed');
    assert.equal((await claim(other)).status, 'claimed');

    await finish(one, 'done');
    assert.equal((await recordOf(other)).state, 'running');
  },
  async 'IS-04 a finished claim is kept with its state and status'({ claim, finish, recordOf }) {
    for (const [state, httpStatus] of [
      ['done', 200],
      ['unknown', 504],
    ] as const) {
      const first = fresh();
      await claim(first);

      assert.equal(await finish(first, state, httpStatus), 'finished');

      const record = await recordOf(first);
      assert.equal(record.state, state);
      assert.equal(record.status, httpStatus);
      assert.equal(record.fingerprint, first.fingerprint);
      assert.equal(record.requestId, first.requestId);
    }
  },
  async 'IS-05 the first ending of a claim is final'({ claim, finish, abandon, recordOf }) {
    const first = fresh();
    await claim(first);
    await finish(first, 'unknown', 502);

    assert.equal(await finish(first, 'done'), 'gone');
    assert.equal(await abandon(first), 'gone');

    const record = await recordOf(first);
    assert.deepEqual([record.state, record.status], ['unknown', 502]);
  },
  async 'IS-06 an abandoned name is free'({ claim, abandon, finish, recordOf }) {
    const first = fresh();
    await claim(first);

    assert.equal(await abandon(first), 'abandoned');

    const second = rival(first);
    assert.equal((await claim(second)).status, 'claimed');
    assert.equal(await abandon(first), 'gone');
    assert.equal(await finish(first, 'done'), 'gone');
    assert.equal((await recordOf(first)).claimId, second.claimId);
  },
  async 'IS-07 a call can end neither the claim of another call nor one that doesn’t exist'(store) {
    const first = fresh();
    assert.equal(await store.finish(first, 'done'), 'gone');
    assert.equal(await store.abandon(first), 'gone');
    await store.claim(first);

    assert.equal(await store.finish(rival(first), 'done'), 'gone');
    assert.equal(await store.abandon(rival(first)), 'gone');

    assert.equal((await store.recordOf(first)).state, 'running');
  },
  async 'IS-08 a claim whose lease has run out is unknown, and its name is not free'(store) {
    const first = fresh();
    await store.claim(first);

    await store.advance(leaseMs - 1_000);
    assert.equal((await store.recordOf(first)).state, 'running');
    await store.advance(1_001);

    const record = await store.recordOf(first);
    assert.equal(record.state, 'unknown');
    assert.equal(record.claimId, first.claimId);
    assert.equal(record.status ?? undefined, undefined);
  },
  async 'IS-09 the owner can still end a claim whose lease has run out'(store) {
    const [late, spared] = [fresh(), fresh()];
    await store.claim(late);
    await store.claim(spared);
    await store.advance(leaseMs + 1);

    assert.equal(await store.finish(late, 'done'), 'finished');
    assert.equal(await store.abandon(spared), 'abandoned');

    assert.equal((await store.recordOf(late)).state, 'done');
    assert.equal((await store.claim(rival(spared))).status, 'claimed');
  },
  async 'IS-10 a finished claim is kept for keepMs after its end, then the name is free'(store) {
    const first = fresh();
    await store.claim(first);
    await store.advance(leaseMs / 2);
    await store.finish(first, 'done');

    await store.advance(keepMs - 1_000);
    assert.equal((await store.recordOf(first)).state, 'done');
    await store.advance(1_001);

    assert.equal((await store.claim(rival(first))).status, 'claimed');
  },
  async 'IS-11 a claim that was never ended is kept for keepMs after its lease'(store) {
    const first = fresh();
    await store.claim(first);

    await store.advance(leaseMs + keepMs - 1_000);
    assert.equal((await store.recordOf(first)).state, 'unknown');
    await store.advance(1_001);

    assert.equal((await store.claim(rival(first))).status, 'claimed');
  },
  async 'IS-12 a lease may be longer than keepMs'({ claim, advance, recordOf }) {
    const first = fresh({ leaseMs: 2 * keepMs });
    await claim(first);

    await advance(keepMs + 1_000);

    assert.equal((await recordOf(first)).state, 'running');
  },
  async 'IS-13 a claim with ifTaken: replace takes over the name from any record'(store) {
    const first = fresh();
    await store.claim(first);
    const second = rival(first, { ifTaken: 'replace' });

    assert.equal((await store.claim(second)).status, 'claimed');

    assert.equal((await store.recordOf(first)).claimId, second.claimId);
    assert.equal(await store.finish(first, 'done'), 'gone');
    assert.equal(await store.abandon(first), 'gone');
    assert.equal(await store.finish(second, 'done'), 'finished');
    const third = rival(first, { ifTaken: 'replace', fingerprint: fresh().fingerprint });
    assert.equal((await store.claim(third)).status, 'claimed');
    const record = await store.recordOf(first);
    assert.deepEqual([record.state, record.fingerprint], ['running', third.fingerprint]);
  },
  async 'IS-14 reading a record prolongs neither its lease nor its retention'(store) {
    const [running, ended] = [fresh(), fresh()];
    await store.claim(running);
    await store.claim(ended);
    await store.finish(ended, 'done');

    await store.advance(leaseMs / 2);
    await store.recordOf(running);
    await store.advance(leaseMs / 2 + 1);
    assert.equal((await store.recordOf(running)).state, 'unknown');
    await store.advance(keepMs - leaseMs);

    assert.equal((await store.claim(rival(ended))).status, 'claimed');
  },
  async 'IS-15 claims of keys whose ids have any printable characters are independent'(store) {
    const claims = everyId.map((keyId) => fresh({ keyId }));
    for (const each of claims) assert.equal((await store.claim(each)).status, 'claimed');

    for (const [index, each] of claims.entries()) {
      if (index % 2 === 0) assert.equal(await store.finish(each, 'done'), 'finished');
    }

    for (const [index, each] of claims.entries()) {
      const { state, claimId } = await store.recordOf(each);
      const expected = index % 2 === 0 ? 'done' : 'running';
      assert.deepEqual([state, claimId], [expected, each.claimId]);
    }
  },
};
