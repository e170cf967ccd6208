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
} from '../../ports/idempotency-store.ts';
import {
  type Cleanable,
  type ContractCase,
  overSetups,
  rule,
  type SubjectCase,
} from './contract-case.ts';
import { everyId } from './ids.ts';

/** A store to test, with its clock. */
export interface IdempotencyStoreSetup extends Cleanable {
  readonly store: IdempotencyStore;
  /** Advances the store's clock; leases and records must end by this clock only. */
  readonly clock: { advance(ms: number): MaybePromise<void> };
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

const cases: readonly SubjectCase<CaseContext>[] = [
  rule(
    'IS-01 the first claim owns the name, and the next one gets its record',
    async ({ claim, recordOf }) => {
      const first = fresh();

      assert.equal((await claim(first)).status, 'claimed');

      const { state, fingerprint, claimId, requestId, status, endedAtMs } = await recordOf(first);
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
  ),
  rule('IS-02 exactly one of fifty concurrent claims of a name owns it', async ({ claim }) => {
    const first = fresh();
    const rivals = Array.from({ length: 50 }, () => rival(first));

    const results = await Promise.all(rivals.map(claim));

    assert.equal(results.filter(({ status }) => status === 'claimed').length, 1);
    const owner = rivals[results.findIndex(({ status }) => status === 'claimed')]?.claimId;
    for (const result of results) {
      if (result.status === 'taken') assert.equal(result.record.claimId, owner);
    }
  }),
  rule('IS-03 names are independent of each other', async ({ claim, finish, recordOf }) => {
    const [one, other] = [fresh(), fresh()];

    assert.equal((await claim(one)).status, 'claimed');
    assert.equal((await claim(other)).status, 'claimed');

    await finish(one, 'done');
    assert.equal((await recordOf(other)).state, 'running');
  }),
  rule(
    'IS-04 a finished claim is kept with its state and status',
    async ({ claim, finish, recordOf }) => {
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
  ),
  rule(
    'IS-05 the first ending of a claim is final',
    async ({ claim, finish, abandon, recordOf }) => {
      const first = fresh();
      await claim(first);
      await finish(first, 'unknown', 502);

      assert.equal(await finish(first, 'done'), 'gone');
      assert.equal(await abandon(first), 'gone');

      const record = await recordOf(first);
      assert.deepEqual([record.state, record.status], ['unknown', 502]);
    },
  ),
  rule('IS-06 an abandoned name is free', async ({ claim, abandon, finish, recordOf }) => {
    const first = fresh();
    await claim(first);

    assert.equal(await abandon(first), 'abandoned');

    const second = rival(first);
    assert.equal((await claim(second)).status, 'claimed');
    assert.equal(await abandon(first), 'gone');
    assert.equal(await finish(first, 'done'), 'gone');
    assert.equal((await recordOf(first)).claimId, second.claimId);
  }),
  rule(
    'IS-07 a call can end neither the claim of another call nor one that does not exist',
    async ({ claim, finish, abandon, recordOf }) => {
      const first = fresh();
      assert.equal(await finish(first, 'done'), 'gone');
      assert.equal(await abandon(first), 'gone');
      await claim(first);

      assert.equal(await finish(rival(first), 'done'), 'gone');
      assert.equal(await abandon(rival(first)), 'gone');

      assert.equal((await recordOf(first)).state, 'running');
    },
  ),
  rule(
    'IS-08 a claim whose lease has run out is unknown, and its name is not free',
    async ({ claim, advance, recordOf }) => {
      const first = fresh();
      await claim(first);

      await advance(leaseMs - 1_000);
      assert.equal((await recordOf(first)).state, 'running');
      await advance(1_001);

      const record = await recordOf(first);
      assert.equal(record.state, 'unknown');
      assert.equal(record.claimId, first.claimId);
      assert.equal(record.status ?? undefined, undefined);
    },
  ),
  rule(
    'IS-09 the owner can still end a claim whose lease has run out',
    async ({ claim, advance, finish, abandon, recordOf }) => {
      const [late, spared] = [fresh(), fresh()];
      await claim(late);
      await claim(spared);
      await advance(leaseMs + 1);

      assert.equal(await finish(late, 'done'), 'finished');
      assert.equal(await abandon(spared), 'abandoned');

      assert.equal((await recordOf(late)).state, 'done');
      assert.equal((await claim(rival(spared))).status, 'claimed');
    },
  ),
  rule(
    'IS-10 a finished claim is kept for keepMs after its end, then the name is free',
    async ({ claim, advance, finish, recordOf }) => {
      const first = fresh();
      await claim(first);
      await advance(leaseMs / 2);
      await finish(first, 'done');

      await advance(keepMs - 1_000);
      assert.equal((await recordOf(first)).state, 'done');
      await advance(1_001);

      assert.equal((await claim(rival(first))).status, 'claimed');
    },
  ),
  rule(
    'IS-11 a claim that was never ended is kept for keepMs after its lease',
    async ({ claim, advance, recordOf }) => {
      const first = fresh();
      await claim(first);

      await advance(leaseMs + keepMs - 1_000);
      assert.equal((await recordOf(first)).state, 'unknown');
      await advance(1_001);

      assert.equal((await claim(rival(first))).status, 'claimed');
    },
  ),
  rule('IS-12 a lease may be longer than keepMs', async ({ claim, advance, recordOf }) => {
    const first = fresh({ leaseMs: 2 * keepMs });
    await claim(first);

    await advance(keepMs + 1_000);

    assert.equal((await recordOf(first)).state, 'running');
  }),
  rule(
    'IS-13 a claim with ifTaken: replace takes over the name from any record',
    async ({ claim, finish, abandon, recordOf }) => {
      const first = fresh();
      await claim(first);
      const second = rival(first, { ifTaken: 'replace' });

      assert.equal((await claim(second)).status, 'claimed');

      assert.equal((await recordOf(first)).claimId, second.claimId);
      assert.equal(await finish(first, 'done'), 'gone');
      assert.equal(await abandon(first), 'gone');
      assert.equal(await finish(second, 'done'), 'finished');
      const third = rival(first, { ifTaken: 'replace', fingerprint: fresh().fingerprint });
      assert.equal((await claim(third)).status, 'claimed');
      const record = await recordOf(first);
      assert.deepEqual([record.state, record.fingerprint], ['running', third.fingerprint]);
    },
  ),
  rule(
    'IS-14 reading a record prolongs neither its lease nor its retention',
    async ({ claim, advance, finish, recordOf }) => {
      const [running, ended] = [fresh(), fresh()];
      await claim(running);
      await claim(ended);
      await finish(ended, 'done');

      await advance(leaseMs / 2);
      await recordOf(running);
      await advance(leaseMs / 2 + 1);
      assert.equal((await recordOf(running)).state, 'unknown');
      await advance(keepMs - leaseMs);

      assert.equal((await claim(rival(ended))).status, 'claimed');
    },
  ),
  rule(
    'IS-15 claims of keys whose ids have any printable characters are independent',
    async ({ claim, finish, recordOf }) => {
      const claims = everyId.map((keyId) => fresh({ keyId }));
      for (const each of claims) assert.equal((await claim(each)).status, 'claimed');

      for (const [index, each] of claims.entries()) {
        if (index % 2 === 0) assert.equal(await finish(each, 'done'), 'finished');
      }

      for (const [index, each] of claims.entries()) {
        const { state, claimId } = await recordOf(each);
        const expected = index % 2 === 0 ? 'done' : 'running';
        assert.deepEqual([state, claimId], [expected, each.claimId]);
      }
    },
  ),
];
