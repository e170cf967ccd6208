/** The contract of `IdempotencyStore`: of all who claim a name one has it, for long enough. */
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
import type { ContractCase } from './contract-case.ts';

/** A store to be proved, with the clock that it lives by. */
export interface IdempotencyStoreSetup {
  readonly store: IdempotencyStore;
  /** Moves the store's own clock; leases and records must end by nothing else. */
  readonly clock: { advance(ms: number): MaybePromise<void> };
  /** Called when the case is over, however it ended. */
  cleanup?(): MaybePromise<void>;
}

/**
 * The cases of the idempotency contract. `make` is called once a case; stores may share a database,
 * for each case claims names of its own.
 */
export function idempotencyStoreContract(
  make: () => MaybePromise<IdempotencyStoreSetup>,
): readonly ContractCase[] {
  return cases.map(({ name, run }) => ({
    name,
    run: async () => {
      const setup = await make();
      try {
        await run(openScene(setup));
      } finally {
        await setup.cleanup?.();
      }
    },
  }));
}

interface Scene {
  readonly store: IdempotencyStore;
  advance(ms: number): Promise<void>;
  claim(input: ClaimInput): Promise<ClaimResult>;
  finish(input: ClaimInput, state: FinishInput['state'], httpStatus?: number): Promise<string>;
  abandon(input: ClaimInput): Promise<string>;
  /** What stands under a name; insists that something does. */
  standing(input: ClaimInput): Promise<ClaimRecord>;
}

interface IdempotencyCase {
  readonly name: string;
  readonly run: (scene: Scene) => Promise<void>;
}

const leaseMs = 60_000;
const keepMs = 3_600_000;

/** A claim of a fresh name, changed where asked. */
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

/** Another call that wants the same name. */
function rival({ name, fingerprint }: ClaimInput, change: Partial<ClaimInput> = {}): ClaimInput {
  return fresh({ name, fingerprint, ...change });
}

function openScene({ store, clock }: IdempotencyStoreSetup): Scene {
  const claim = async (input: ClaimInput): Promise<ClaimResult> => store.claim(input);
  return {
    store,
    advance: async (ms) => clock.advance(ms),
    claim,
    finish: async ({ name, claimId, keepMs: keptMs }, state, httpStatus = 200) =>
      (await store.finish({ name, claimId, state, httpStatus, keepMs: keptMs })).status,
    abandon: async ({ name, claimId }) => (await store.abandon({ name, claimId })).status,
    standing: async (input) => {
      const result = await claim(rival(input));
      assert(result.status === 'taken', 'nothing stands under the name');
      return result.record;
    },
  };
}

const cases: readonly IdempotencyCase[] = [
  {
    name: 'IS-01 the first claim has the name, and the next one is told of it',
    run: async ({ claim, standing }) => {
      const first = fresh();

      assert.equal((await claim(first)).status, 'claimed');

      const { state, fingerprint, claimId, requestId, status, endedAtMs } = await standing(first);
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
  },
  {
    name: 'IS-02 of fifty who claim one name at once exactly one has it',
    run: async ({ claim }) => {
      const first = fresh();
      const rivals = Array.from({ length: 50 }, () => rival(first));

      const results = await Promise.all(rivals.map(claim));

      assert.equal(results.filter(({ status }) => status === 'claimed').length, 1);
      const owner = rivals[results.findIndex(({ status }) => status === 'claimed')]?.claimId;
      for (const result of results) {
        if (result.status === 'taken') assert.equal(result.record.claimId, owner);
      }
    },
  },
  {
    name: 'IS-03 names are apart',
    run: async ({ claim, finish, standing }) => {
      const [one, other] = [fresh(), fresh()];

      assert.equal((await claim(one)).status, 'claimed');
      assert.equal((await claim(other)).status, 'claimed');

      await finish(one, 'done');
      assert.equal((await standing(other)).state, 'running');
    },
  },
  {
    name: 'IS-04 an end is kept with its status, for both who may read it',
    run: async ({ claim, finish, standing }) => {
      for (const [state, httpStatus] of [
        ['done', 200],
        ['unknown', 504],
      ] as const) {
        const first = fresh();
        await claim(first);

        assert.equal(await finish(first, state, httpStatus), 'finished');

        const record = await standing(first);
        assert.equal(record.state, state);
        assert.equal(record.status, httpStatus);
        assert.equal(record.fingerprint, first.fingerprint);
        assert.equal(record.requestId, first.requestId);
      }
    },
  },
  {
    name: 'IS-05 the first end stands',
    run: async ({ claim, finish, abandon, standing }) => {
      const first = fresh();
      await claim(first);
      await finish(first, 'unknown', 502);

      assert.equal(await finish(first, 'done'), 'gone');
      assert.equal(await abandon(first), 'gone');

      const record = await standing(first);
      assert.deepEqual([record.state, record.status], ['unknown', 502]);
    },
  },
  {
    name: 'IS-06 an abandoned name is free',
    run: async ({ claim, abandon, finish, standing }) => {
      const first = fresh();
      await claim(first);

      assert.equal(await abandon(first), 'abandoned');

      const second = rival(first);
      assert.equal((await claim(second)).status, 'claimed');
      assert.equal(await abandon(first), 'gone');
      assert.equal(await finish(first, 'done'), 'gone');
      assert.equal((await standing(first)).claimId, second.claimId);
    },
  },
  {
    name: 'IS-07 nobody ends the claim of another, nor one that never was',
    run: async ({ claim, finish, abandon, standing }) => {
      const first = fresh();
      assert.equal(await finish(first, 'done'), 'gone');
      assert.equal(await abandon(first), 'gone');
      await claim(first);

      assert.equal(await finish(rival(first), 'done'), 'gone');
      assert.equal(await abandon(rival(first)), 'gone');

      assert.equal((await standing(first)).state, 'running');
    },
  },
  {
    name: 'IS-08 a claim whose lease has run out reads as unknown, and is not free',
    run: async ({ claim, advance, standing }) => {
      const first = fresh();
      await claim(first);

      await advance(leaseMs - 1_000);
      assert.equal((await standing(first)).state, 'running');
      await advance(1_001);

      const record = await standing(first);
      assert.equal(record.state, 'unknown');
      assert.equal(record.claimId, first.claimId);
      assert.equal(record.status ?? undefined, undefined);
    },
  },
  {
    name: 'IS-09 a claim whose lease has run out can still be ended by its owner',
    run: async ({ claim, advance, finish, abandon, standing }) => {
      const [late, spared] = [fresh(), fresh()];
      await claim(late);
      await claim(spared);
      await advance(leaseMs + 1);

      assert.equal(await finish(late, 'done'), 'finished');
      assert.equal(await abandon(spared), 'abandoned');

      assert.equal((await standing(late)).state, 'done');
      assert.equal((await claim(rival(spared))).status, 'claimed');
    },
  },
  {
    name: 'IS-10 an end is kept for its time from the end on, and then the name is free',
    run: async ({ claim, advance, finish, standing }) => {
      const first = fresh();
      await claim(first);
      await advance(leaseMs / 2);
      await finish(first, 'done');

      await advance(keepMs - 1_000);
      assert.equal((await standing(first)).state, 'done');
      await advance(1_001);

      assert.equal((await claim(rival(first))).status, 'claimed');
    },
  },
  {
    name: 'IS-11 a crashed claim is kept for its time behind its lease',
    run: async ({ claim, advance, standing }) => {
      const first = fresh();
      await claim(first);

      await advance(leaseMs + keepMs - 1_000);
      assert.equal((await standing(first)).state, 'unknown');
      await advance(1_001);

      assert.equal((await claim(rival(first))).status, 'claimed');
    },
  },
  {
    name: 'IS-12 a lease longer than its record’s time is no less a lease',
    run: async ({ claim, advance, standing }) => {
      const first = fresh({ leaseMs: 2 * keepMs });
      await claim(first);

      await advance(keepMs + 1_000);

      assert.equal((await standing(first)).state, 'running');
    },
  },
  {
    name: 'IS-13 a claim that replaces takes the name, whatever stands there',
    run: async ({ claim, finish, abandon, standing }) => {
      const first = fresh();
      await claim(first);
      const second = rival(first, { ifTaken: 'replace' });

      assert.equal((await claim(second)).status, 'claimed');

      assert.equal((await standing(first)).claimId, second.claimId);
      assert.equal(await finish(first, 'done'), 'gone');
      assert.equal(await abandon(first), 'gone');
      assert.equal(await finish(second, 'done'), 'finished');
      const third = rival(first, { ifTaken: 'replace', fingerprint: fresh().fingerprint });
      assert.equal((await claim(third)).status, 'claimed');
      const record = await standing(first);
      assert.deepEqual([record.state, record.fingerprint], ['running', third.fingerprint]);
    },
  },
  {
    name: 'IS-14 asking does not renew a lease, nor the time of an end',
    run: async ({ claim, advance, finish, standing }) => {
      const [running, ended] = [fresh(), fresh()];
      await claim(running);
      await claim(ended);
      await finish(ended, 'done');

      await advance(leaseMs / 2);
      await standing(running);
      await advance(leaseMs / 2 + 1);
      assert.equal((await standing(running)).state, 'unknown');
      await advance(keepMs - leaseMs);

      assert.equal((await claim(rival(ended))).status, 'claimed');
    },
  },
];
