/** The contract of `ResultStore`: what it still has it gives back byte for byte. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ResultStore, StoredResult } from '../../ports/result-store.ts';
import type { ContractCase } from './contract-case.ts';

/** A store to be proved; it must have room for 4 MiB. */
export interface ResultStoreSetup {
  readonly store: ResultStore;
  /** Called when the case is over, however it ended. */
  cleanup?(): MaybePromise<void>;
}

/**
 * The cases of the result contract. `make` is called once a case; stores may share a bucket, for
 * each case puts names of its own.
 */
export function resultStoreContract(
  make: () => MaybePromise<ResultStoreSetup>,
): readonly ContractCase[] {
  return cases.map(({ name, run }) => ({
    name,
    run: async () => {
      const setup = await make();
      try {
        await run(setup.store);
      } finally {
        await setup.cleanup?.();
      }
    },
  }));
}

interface ResultCase {
  readonly name: string;
  readonly run: (store: ResultStore) => Promise<void>;
}

const headers = { 'content-type': 'application/json', 'x-tollgate-dropped': 'seed,top_p' };

function newName(): string {
  return `${randomBytes(32).toString('hex')}.${randomUUID()}`;
}

/** Insists that a reply comes back as it was; a host's `null` is nothing too. */
function assertSame(found: StoredResult | undefined, expected: StoredResult): void {
  assert(found, 'nothing came back');
  assert.deepEqual({ ...found.headers }, expected.headers);
  assert(Buffer.from(expected.body).equals(found.body), 'other bytes came back');
}

const cases: readonly ResultCase[] = [
  {
    name: 'RS-01 a reply comes back byte for byte, with its headers',
    run: async (store) => {
      const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      for (const body of [new Uint8Array(0), every, Buffer.from('{"a":"ü\\u0000"}')]) {
        const name = newName();
        await store.put(name, { headers, body });

        assertSame(await store.get(name), { headers, body });
      }
    },
  },
  {
    name: 'RS-02 four MiB come back too',
    run: async (store) => {
      const [name, body] = [newName(), randomBytes(4 * 1024 * 1024)];
      await store.put(name, { headers, body });

      assertSame(await store.get(name), { headers, body });
    },
  },
  {
    name: 'RS-03 nothing comes back under a name that has nothing',
    run: async (store) => {
      await store.put(newName(), { headers, body: randomBytes(8) });

      assert.equal((await store.get(newName())) ?? undefined, undefined);
    },
  },
  {
    name: 'RS-04 fifty replies at once are apart',
    run: async (store) => {
      const all = Array.from({ length: 50 }, () => ({ name: newName(), body: randomBytes(1024) }));
      await Promise.all(all.map(async ({ name, body }) => store.put(name, { headers, body })));

      for (const { name, body } of all) assertSame(await store.get(name), { headers, body });
    },
  },
  {
    name: 'RS-05 what is kept is a copy: who handed it over may write to it again',
    run: async (store) => {
      const [name, large] = [newName(), randomBytes(4096)];
      const body = large.subarray(16, 32);
      const before = Uint8Array.from(body);
      await store.put(name, { headers, body });

      large.fill(0);

      assertSame(await store.get(name), { headers, body: before });
    },
  },
  {
    name: 'RS-06 a reply comes back as often as it is asked for',
    run: async (store) => {
      const [name, body] = [newName(), randomBytes(64)];
      await store.put(name, { headers, body });

      for (let times = 0; times < 3; times += 1) {
        assertSame(await store.get(name), { headers, body });
      }
    },
  },
];
