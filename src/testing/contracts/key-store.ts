/**
 * The contract of `KeyStore`: a secret finds exactly its key, and any other text finds nothing.
 */
import assert from 'node:assert/strict';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { KeyOwner, OwnerTable } from '../../ports/keys/key-owner.ts';
import type { ApiKey, KeyStore } from '../../ports/keys/key-store.ts';
import { mintSecret } from '../../secret.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  overSetups,
} from './contract-case.ts';

/** A store to test, and a function that adds keys to it. */
export interface KeyStoreSetup extends Cleanable {
  /** The store to test, without keys of an earlier case. */
  readonly store: KeyStore;
  /** Stores a key under a secret, as the host's own code would. */
  put(secret: string, key: ApiKey): MaybePromise<void>;
  /** The owners of a store that joins them to its keys. Without it their cases test nothing. */
  readonly owners?: OwnerTable;
}

/** The cases of the key contract, for your own store. `make` is called once per case. */
export function keyStoreContract(make: () => MaybePromise<KeyStoreSetup>): readonly ContractCase[] {
  return overSetups(cases, make, (setup) => setup);
}

const cases: Cases<KeyStoreSetup> = {
  async 'a key is found by its secret, with every member'({ store, put }) {
    const secret = mintSecret();
    await put(secret, alice);
    await put(mintSecret(), keyNamed('key_bob'));

    assert.deepEqual({ ...(await store.find(secret)) }, alice);
  },
  async 'an unknown secret finds nothing'({ store, put }) {
    await put(mintSecret(), alice);

    assert.equal(await store.find(mintSecret()), undefined);
  },
  async 'a disabled or expired key is found unchanged, since the gateway refuses it'(setup) {
    const secret = mintSecret();
    await setup.put(secret, { ...alice, disabled: true, expiresAtMs: 1 });

    const key = await setup.store.find(secret);

    assert.equal(key?.disabled, true);
    assert.equal(key?.expiresAtMs, 1);
  },
  async 'a secret must match to its last character, including case and white space'(setup) {
    const secret = mintSecret();
    await setup.put(secret, alice);
    const last = secret.endsWith('A') ? 'B' : 'A';
    const shorter = secret.slice(0, -1);
    const longer = [`${secret}A`, ` ${secret}`, `${secret} `, `${secret}\n`];

    for (const other of [shorter, shorter + last, ...longer, swapCase(secret)])
      assert.equal(await setup.store.find(other), undefined);
  },
  async 'two secrets with the same first 200 characters find two keys'({ store, put }) {
    const shared = Array.from({ length: 4 }, mintSecret).join('').slice(0, 200);
    await put(`${shared}one`, keyNamed('key_one'));
    await put(`${shared}two`, keyNamed('key_two'));

    assert.equal((await store.find(`${shared}one`))?.id, 'key_one');
    assert.equal((await store.find(`${shared}two`))?.id, 'key_two');
    assert.equal(await store.find(`${shared}six`), undefined);
  },
  async 'hostile text finds nothing and does no harm'({ store, put }) {
    const secret = mintSecret();
    await put(secret, alice);

    for (const text of hostile) assert.equal(await store.find(text), undefined);

    assert.equal((await store.find(secret))?.id, alice.id);
  },
  async 'fifty concurrent lookups each find their own key'({ store, put }) {
    const secrets = Array.from({ length: 50 }, mintSecret);
    for (const [index, secret] of secrets.entries()) await put(secret, keyNamed(`key_${index}`));

    const found = await Promise.all(secrets.map(async (secret) => store.find(secret)));

    assert.deepEqual(
      found.map((key) => key?.id),
      secrets.map((_secret, index) => `key_${index}`),
    );
  },
  async 'a record contains neither its secret nor the random part of it'({ store, put }) {
    const secret = mintSecret();
    await put(secret, alice);

    const text = JSON.stringify(await store.find(secret), (_name, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );

    assert(!text.includes(secret.slice(12)));
  },
  async 'a key is charged to its owner too, and shares its rate limits'({ store, put, owners }) {
    if (owners === undefined) return;
    const secret = mintSecret();
    await owners.add(acme);
    await put(secret, ofAcme);

    const { owner, quota, sharedRates, disabled } = (await store.find(secret)) ?? ofAcme;

    const subject = 'owner.acme';
    assert.deepEqual([owner, disabled], ['acme', false]);
    assert.deepEqual(quota, [
      ...ofAcme.quota,
      { id: subject, period: 'month', anchorDay: 15, limitNanos: 500n },
    ]);
    assert.deepEqual(sharedRates, [{ calls: { perMinute: 9 }, model: 'gpt', subject }]);
    assert.deepEqual({ ...(await owners.get('acme')) }, acme);
  },
  async 'a change of an owner counts at the next lookup of each of its keys'(setup) {
    const { store, put, owners } = setup;
    if (owners === undefined) return;
    const secrets = [mintSecret(), mintSecret()];
    await owners.add(acme);
    for (const [index, secret] of secrets.entries()) {
      await put(secret, { ...ofAcme, id: `key_${index}` });
      await store.find(secret);
    }

    await owners.update('acme', { limitNanos: 9n, disabled: true, rates: undefined });

    for (const secret of secrets) {
      const key = await store.find(secret);
      assert.deepEqual([key?.quota.at(-1)?.limitNanos, key?.disabled], [9n, true]);
      assert.equal(key?.sharedRates, undefined);
    }
  },
  async 'an owner without a limit is counted, up to the largest amount'({ store, put, owners }) {
    if (owners === undefined) return;
    const secret = mintSecret();
    await owners.add({ id: 'acme', period: 'total', disabled: false });
    await put(secret, { ...ofAcme, quota: [] });

    const key = await store.find(secret);

    const counted = { id: 'owner.acme', period: 'total', limitNanos: 9_007_199_254_740_991n };
    assert.deepEqual(key?.quota, [counted]);
  },
  async 'an owner stays while a key names it, and no key names one that does not exist'(setup) {
    const { put, owners } = setup;
    if (owners === undefined) return;
    await assert.rejects(async () => put(mintSecret(), ofAcme));
    await owners.add(acme);
    await owners.add({ ...acme, id: 'other' });
    await put(mintSecret(), ofAcme);

    assert.equal(await owners.remove('acme'), false);
    assert.equal(await owners.remove('other'), true);
    assert.equal(await owners.remove('other'), false);
    await assert.rejects(async () => owners.add(acme));
    assert.equal(await owners.update('nobody', { name: 'Nobody' }), false);
  },
  async 'owners are found by text in any case, and in pages ordered by id'({ owners }) {
    if (owners === undefined) return;
    for (const id of ['c', 'a', 'b']) await owners.add({ ...acme, id, name: `Ärzte ${id}` });

    const first = await owners.page({ limit: 2 });
    const rest = await owners.page(first.next === undefined ? {} : { after: first.next });
    const { owners: found } = await owners.page({ search: 'äRZTE B' });

    assert.deepEqual(
      [first.owners, rest.owners, found].map((page) => page.map(({ id }) => id)),
      [['a', 'b'], ['c'], ['b']],
    );
  },
  async 'keys whose ids have any printable characters are kept apart'({ store, put }) {
    const secrets = everyId.map(() => mintSecret());
    for (const [index, id] of everyId.entries()) await put(secrets[index] ?? '', keyNamed(id));

    for (const [index, id] of everyId.entries()) {
      assert.deepEqual({ ...(await store.find(secrets[index] ?? '')) }, keyNamed(id));
    }
  },
};

const acme: KeyOwner = {
  id: 'acme',
  name: 'Acme, Ltd.',
  limitNanos: 500n,
  period: 'month',
  anchorDay: 15,
  rates: [{ calls: { perMinute: 9 }, model: 'gpt' }],
  disabled: false,
  metadata: { invoice: 'a "quoted" name\n' },
};

const ofAcme: ApiKey = {
  id: 'key_of_acme',
  group: 'chat',
  owner: 'acme',
  disabled: false,
  quota: [{ id: 'key_of_acme', period: 'week', limitNanos: 5n }],
};

const alice: ApiKey = {
  id: 'key_alice',
  group: 'chat',
  models: ['vendor/model:1', 'other*'],
  disabled: false,
  expiresAtMs: 4_102_444_800_000,
  quota: [
    {
      id: 'key_alice',
      period: 'month',
      limitNanos: 9_007_199_254_740_991n,
      maxConcurrentCalls: 3,
      visible: true,
    },
    { id: 'group-chat', period: 'total' },
    { id: 'group-large', period: 'month', anchorDay: 31, models: ['vendor/large'] },
    { id: 'group-week', period: 'week', limitNanos: 0n },
  ],
  quotaPartition: 'eu',
  responseOwner: 'key_that_it_replaced',
  maxConcurrentCalls: 5,
  rates: [
    { calls: { perMinute: 60 }, tokens: { perHour: 200_000, perDay: 10_000_000_000 } },
    { subject: 'group-chat', model: 'vendor/model:1', calls: { perDay: 1 }, visible: true },
  ],
  metadata: { team: 'a "quoted" team\n' },
};

const hostile: readonly string[] = [
  ...['', ' ', '__proto__', 'constructor', 'toString', '*', '%', '_'.repeat(62), '$(id)'],
  ...["' OR '1'='1", "'; DROP TABLE keys; --", 'a\r\nSET a b\r\n', '{"$gt":""}'],
  ...['\u0000', '\ud800', 'x'.repeat(100_000)],
];

function keyNamed(id: string): ApiKey {
  return { ...alice, id, quota: [{ id, period: 'total', limitNanos: 1n }] };
}

function swapCase(text: string): string {
  return [...text]
    .map((letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    )
    .join('');
}
