/** The contract of `ResultStore`: a reply that is still kept is returned byte for byte. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ResultStore, StoredResult } from '../../ports/replies/result-store.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  forgetAll,
  overSetups,
} from './contract-case.ts';

/** A store to test. It keeps at least 5 MiB of one owner. */
export interface ResultStoreSetup extends Cleanable {
  /** The store to test, without replies of an earlier case. */
  readonly store: ResultStore;
  /**
   * How many bytes the store keeps, a quarter of them for one owner; undefined if it has no such
   * bound. RS-08 fills the store three times.
   */
  readonly maxBytes?: number;
}

/**
 * The cases of the result contract. `make` is called once per case; stores may share a bucket,
 * since each case uses new names.
 */
export function resultStoreContract(
  make: () => MaybePromise<ResultStoreSetup>,
): readonly ContractCase[] {
  return overSetups(cases, make, (setup) => setup);
}

/** More than a store counts for a reply besides its body. */
const maxEntryBytes = 4096;
const headers = { 'content-type': 'application/json', 'x-tollgate-dropped': 'seed,top_p' };

function newName(): string {
  return `${randomBytes(32).toString('hex')}.${randomUUID()}`;
}

/** Asserts that a reply is unchanged. A store may return `null` for nothing. */
function assertSame(found: StoredResult | undefined, expected: StoredResult): void {
  assert(found, 'nothing was returned');
  assert.deepEqual({ ...found.headers }, expected.headers);
  assert(Buffer.from(expected.body).equals(found.body), 'other bytes were returned');
}

const cases: Cases<ResultStoreSetup> = {
  async 'RS-01 a reply is returned byte for byte, with its headers'({ store }) {
    const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    for (const body of [new Uint8Array(0), every, Buffer.from('{"a":"ü\\u0000"}')]) {
      const name = newName();
      await store.put(name, { headers, body });

      assertSame(await store.get(name), { headers, body });
    }
  },
  async 'RS-02 a reply of 4 MiB is returned'({ store }) {
    const [name, body] = [newName(), randomBytes(4 * 1024 * 1024)];
    await store.put(name, { headers, body });

    assertSame(await store.get(name), { headers, body });
  },
  async 'RS-03 an unknown name returns nothing'({ store }) {
    await store.put(newName(), { headers, body: randomBytes(8) });

    assert.equal((await store.get(newName())) ?? undefined, undefined);
  },
  async 'RS-04 fifty concurrent replies are kept apart'({ store }) {
    const all = Array.from({ length: 50 }, () => ({ name: newName(), body: randomBytes(1024) }));
    await Promise.all(all.map(async ({ name, body }) => store.put(name, { headers, body })));

    for (const { name, body } of all) assertSame(await store.get(name), { headers, body });
  },
  async 'RS-05 the store keeps a copy, so that the caller may reuse the buffer'({ store }) {
    const [name, large] = [newName(), randomBytes(4096)];
    const body = large.subarray(16, 32);
    const before = Uint8Array.from(body);
    await store.put(name, { headers, body });

    large.fill(0);

    assertSame(await store.get(name), { headers, body: before });
  },
  async 'RS-06 a reply can be read any number of times'({ store }) {
    const [name, body] = [newName(), randomBytes(64)];
    await store.put(name, { headers, body });

    for (let times = 0; times < 3; times += 1) {
      assertSame(await store.get(name), { headers, body });
    }
  },
  async 'RS-07 forgetOwner, if there is one, removes all replies of an owner and no others'(setup) {
    if (setup.store.forgetOwner === undefined) return;
    const [owner, other, body] = [randomUUID(), randomUUID(), randomBytes(16)];
    const names = Array.from({ length: 250 }, newName);
    for (const name of names) await setup.store.put(name, { headers, body }, { owner });
    const [first = '', kept, nobody] = [names[0], newName(), newName()];
    await setup.store.put(first, { headers, body }, { owner });
    await setup.store.put(kept, { headers, body }, { owner: other });
    await setup.store.put(nobody, { headers, body });

    const forgotten = await forgetAll(async () => (await setup.store.forgetOwner?.(owner)) ?? 0);

    assert.equal(forgotten, names.length);
    for (const name of names) assert.equal((await setup.store.get(name)) ?? undefined, undefined);
    for (const name of [kept, nobody]) assertSame(await setup.store.get(name), { headers, body });
    assert.equal(await setup.store.forgetOwner(owner), 0);
  },
  'RS-08 nobody pushes out what an owner keeps within its quarter (1)': randomly(1),
  'RS-08 nobody pushes out what an owner keeps within its quarter (2)': randomly(2),
  'RS-08 nobody pushes out what an owner keeps within its quarter (3)': randomly(3),
  'RS-08 nobody pushes out what an owner keeps within its quarter (4)': randomly(4),
  async 'RS-09 owners whose ids have any printable characters are kept apart'({ store }) {
    const replies = everyId.map((owner) => ({ owner, name: newName(), body: randomBytes(16) }));
    for (const { name, owner, body } of replies)
      await store.put(name, { headers, body }, { owner });

    for (const [index, { name, owner, body }] of replies.entries()) {
      assertSame(await store.get(name), { headers, body });
      if (store.forgetOwner === undefined || index % 2 === 0) continue;
      await forgetAll(async () => (await store.forgetOwner?.(owner)) ?? 0);
      assert.equal((await store.get(name)) ?? undefined, undefined);
    }

    for (const [index, { name, body }] of replies.entries()) {
      if (index % 2 === 0) assertSame(await store.get(name), { headers, body });
    }
  },
};

function randomly(seed: number) {
  return async ({ store, maxBytes }: ResultStoreSetup): Promise<void> => {
    if (maxBytes === undefined) return;
    const puts = randomPuts(seed, maxBytes);
    for (const { name, owner, body } of puts) await store.put(name, { headers, body }, { owner });

    for (const { name, body } of withinQuarters(puts, maxBytes)) {
      assertSame(await store.get(name), { headers, body });
    }
  };
}

interface Put {
  readonly name: string;
  readonly owner: string;
  readonly body: Uint8Array;
}

/** Replies of four owners in random order, three times as many bytes as the store keeps. */
function randomPuts(seed: number, maxBytes: number): readonly Put[] {
  // Of a size that nobody may keep, of sizes that displace others, and of small ones.
  const shares = [0.4, 0.24, 0.12, 0.03, 0.001];
  const owners = Array.from({ length: 4 }, () => randomUUID());
  let state = seed;
  const below = (count: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % count;
  };
  const puts: Put[] = [];
  for (let sum = 0; sum < 3 * maxBytes; sum += puts.at(-1)?.body.byteLength ?? 0) {
    // Half of all replies are the first owner's.
    const owner = owners[Math.max(0, below(6) - 2)] ?? '';
    const bytes = Math.floor((shares[below(shares.length)] ?? 0) * maxBytes);
    puts.push({ name: newName(), owner, body: new Uint8Array(bytes).fill(puts.length) });
  }
  return puts;
}

/** The latest replies of each owner that fit into its quarter, with what they take besides. */
function withinQuarters(puts: readonly Put[], maxBytes: number): readonly Put[] {
  const bytesOf = new Map<string, number>();
  return [...puts].reverse().filter(({ owner, body }) => {
    const bytes = body.byteLength + maxEntryBytes;
    if (bytes > maxBytes / 4) return false;
    const sum = (bytesOf.get(owner) ?? 0) + bytes;
    bytesOf.set(owner, sum);
    return sum <= maxBytes / 4;
  });
}
