/** The contract of `ItemStore`: an owner gets its own items byte for byte, and no others. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ItemStore } from '../../ports/replies/item-store.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  forgetAll,
  overSetups,
} from './contract-case.ts';

/** A store to test, with its clock. It keeps at least 1 MiB of one owner, in items up to 64 KiB. */
export interface ItemStoreSetup extends Cleanable {
  /** The store to test, without items of an earlier case. */
  readonly store: ItemStore;
  /** Advances the store's clock; items must expire by this clock only. */
  readonly clock: {
    /** Moves the store's time on. */
    advance(ms: number): MaybePromise<void>;
  };
}

/**
 * The cases of the item contract. `make` is called once per case; stores may share a database,
 * since each case uses new owners.
 */
export function itemStoreContract(
  make: () => MaybePromise<ItemStoreSetup>,
): readonly ContractCase[] {
  return overSetups(cases, make, (setup) => setup);
}

const hourMs = 3_600_000;

function newOwner(): string {
  return `key_${randomUUID()}`;
}

/** What is found, in Base64. A store may return `null` for nothing. */
async function found(
  { store }: ItemStoreSetup,
  owner: string,
  ids: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const items = await store.get(owner, ids);
  return items.map((json) => (json === undefined || json === null ? undefined : base64(json)));
}

/**
 * Items are compared in this form: Node takes minutes and gigabytes to describe how long arrays of
 * bytes differ.
 */
function base64(json: Uint8Array): string {
  return Buffer.from(json).toString('base64');
}

const cases: Cases<ItemStoreSetup> = {
  async 'IT-01 items are returned byte for byte, in the order of the ids'(setup) {
    const owner = newOwner();
    const every = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte));
    const text = Buffer.from('{"a":"ü\\u0000"}');
    const tooLarge = await setup.store.put(
      owner,
      [
        { id: 'msg_tg_1', json: every },
        { id: 'rs_tg_-_2', json: text },
      ],
      hourMs,
    );

    assert.deepEqual([...tooLarge], []);
    const items = await found(setup, owner, ['rs_tg_-_2', 'msg_unknown', 'msg_tg_1']);
    assert.deepEqual(items, [base64(text), undefined, base64(every)]);
  },
  async 'IT-02 another owner finds nothing, whatever the names'(setup) {
    const owner = newOwner();
    await setup.store.put(owner, [{ id: 'msg_tg_1', json: randomBytes(8) }], hourMs);

    for (const other of [`${owner}_`, `${owner}|`, `${owner}:msg`, `${owner}\n`, newOwner()]) {
      const items = await found(setup, other, ['msg_tg_1', '_msg_tg_1']);
      assert.deepEqual(items, [undefined, undefined]);
    }
  },
  async 'IT-03 items of two owners with one id are independent'(setup) {
    const [first, second] = [newOwner(), newOwner()];
    const json = randomBytes(64);
    await setup.store.put(first, [{ id: 'msg_tg_1', json }], hourMs);
    await setup.store.put(second, [{ id: 'msg_tg_1', json: randomBytes(64) }], hourMs);
    await setup.store.forget(second, ['msg_tg_1']);

    assert.deepEqual(await found(setup, first, ['msg_tg_1']), [base64(json)]);
    assert.deepEqual(await found(setup, second, ['msg_tg_1']), [undefined]);
  },
  async 'IT-04 an item that is put again is replaced'(setup) {
    const [owner, after] = [newOwner(), randomBytes(16)];
    await setup.store.put(owner, [{ id: 'msg_tg_1', json: randomBytes(4096) }], hourMs);
    await setup.store.put(owner, [{ id: 'msg_tg_1', json: after }], hourMs);

    assert.deepEqual(await found(setup, owner, ['msg_tg_1']), [base64(after)]);
  },
  async 'IT-05 an item is gone after its time, also if it was used meanwhile'(setup) {
    const [owner, json] = [newOwner(), randomBytes(16)];
    await setup.store.put(owner, [{ id: 'msg_tg_1', json }], 1_000);
    await setup.store.put(owner, [{ id: 'msg_tg_2', json }], hourMs);

    await setup.clock.advance(999);
    assert.deepEqual(await found(setup, owner, ['msg_tg_1']), [base64(json)]);
    await setup.clock.advance(1);

    assert.deepEqual(await found(setup, owner, ['msg_tg_1', 'msg_tg_2']), [
      undefined,
      base64(json),
    ]);
  },
  async 'IT-06 a forgotten item is gone, and unknown ids are ignored'(setup) {
    const [owner, json] = [newOwner(), randomBytes(16)];
    const items = ['msg_tg_1', 'msg_tg_2'].map((id) => ({ id, json }));
    await setup.store.put(owner, items, hourMs);

    await setup.store.forget(owner, ['msg_tg_1', 'msg_tg_9']);
    await setup.store.forget(newOwner(), ['msg_tg_2']);

    assert.deepEqual(await found(setup, owner, ['msg_tg_1', 'msg_tg_2']), [
      undefined,
      base64(json),
    ]);
  },
  async 'IT-07 the store keeps a copy, so that the caller may reuse the buffer'(setup) {
    const [owner, large] = [newOwner(), randomBytes(4096)];
    const json = large.subarray(16, 32);
    const before = Buffer.from(json);
    await setup.store.put(owner, [{ id: 'msg_tg_1', json }], hourMs);

    large.fill(0);

    assert.deepEqual(await found(setup, owner, ['msg_tg_1']), [base64(before)]);
  },
  async 'IT-08 an item can be read any number of times, and fifty replies are kept apart'(setup) {
    const owner = newOwner();
    const all = Array.from({ length: 50 }, (_, number) => ({
      id: `msg_tg_${number}`,
      json: randomBytes(1024),
    }));
    await Promise.all(all.map(async (item) => setup.store.put(owner, [item], hourMs)));

    const ids = all.map(({ id }) => id);
    for (let times = 0; times < 3; times += 1) {
      const items = await found(setup, owner, ids);
      assert.deepEqual(
        items,
        all.map(({ json }) => base64(json)),
      );
    }
  },
  async 'IT-09 no items and no ids are allowed, and an item may be empty'(setup) {
    const owner = newOwner();
    assert.deepEqual([...(await setup.store.put(owner, [], hourMs))], []);
    await setup.store.forget(owner, []);
    await setup.store.put(owner, [{ id: 'msg_tg_1', json: Buffer.alloc(0) }], hourMs);

    assert.deepEqual(await found(setup, owner, []), []);
    assert.deepEqual(await found(setup, owner, ['msg_tg_1']), [base64(Buffer.alloc(0))]);
  },
  async 'IT-10 forgetOwner, if there is one, removes all items of an owner and no others'({
    store,
    ...setup
  }) {
    if (store.forgetOwner === undefined) return;
    const [owner, other, json] = [newOwner(), newOwner(), randomBytes(16)];
    const ids = Array.from({ length: 250 }, (_, number) => `msg_tg_${number}`);
    for (const id of ids) await store.put(owner, [{ id, json }], hourMs);
    await store.put(other, [{ id: 'msg_tg_1', json }], hourMs);

    const forgotten = await forgetAll(async () => (await store.forgetOwner?.(owner)) ?? 0);

    assert.equal(forgotten, ids.length);
    const left = await found({ store, ...setup }, owner, ids);
    assert(left.every((item) => item === undefined));
    assert.deepEqual(await found({ store, ...setup }, other, ['msg_tg_1']), [base64(json)]);
    assert.equal(await store.forgetOwner(newOwner()), 0);
    await store.put(owner, [{ id: 'msg_tg_1', json }], hourMs);
    assert.deepEqual(await found({ store, ...setup }, owner, ['msg_tg_1']), [base64(json)]);
  },
  async 'IT-11 owners whose ids have any printable characters are kept apart'(setup) {
    const contents = everyId.map((owner) => ({ owner, json: randomBytes(16) }));
    for (const { owner, json } of contents) {
      await setup.store.put(owner, [{ id: 'msg_tg_1', json }], hourMs);
    }

    for (const [index, { owner, json }] of contents.entries()) {
      assert.deepEqual(await found(setup, owner, ['msg_tg_1']), [base64(json)]);
      if (index % 2 === 0) continue;
      await setup.store.forget(owner, ['msg_tg_1']);
      assert.deepEqual(await found(setup, owner, ['msg_tg_1']), [undefined]);
    }

    for (const [index, { owner, json }] of contents.entries()) {
      const left = index % 2 === 0 ? base64(json) : undefined;
      assert.deepEqual(await found(setup, owner, ['msg_tg_1']), [left]);
    }
  },
};
