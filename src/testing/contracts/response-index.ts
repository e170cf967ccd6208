/** The contract of `ResponseIndex`: an owner finds its own entries, and nothing of another's. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { IndexEntry, ResponseIndex } from '../../ports/replies/response-index.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  forgetAll,
  overSetups,
} from './contract-case.ts';

/** An index to test, with its clock. It keeps at least 2,000 entries. */
export interface ResponseIndexSetup extends Cleanable {
  /** The index to test, without entries of an earlier case. */
  readonly index: ResponseIndex;
  /** The index's clock; entries must expire by this clock only. */
  readonly clock: {
    /** Unix ms. */
    now(): number;
    /** Moves the index's time on. */
    advance(ms: number): MaybePromise<void>;
  };
}

/**
 * The cases of the index contract. `make` is called once per case; indexes may share a database,
 * since each case uses new owners.
 */
export function responseIndexContract(
  make: () => MaybePromise<ResponseIndexSetup>,
): readonly ContractCase[] {
  return overSetups(cases, make, (setup) => setup);
}

const hourMs = 3_600_000;

function newOwner(): string {
  return `key_${randomUUID()}`;
}

function entry({ clock }: ResponseIndexSetup, change: Partial<IndexEntry> = {}): IndexEntry {
  return {
    id: 'resp_0a',
    owner: newOwner(),
    account: 'openai-eu',
    modelId: 'gpt-5.5',
    kind: 'response',
    expiresAtMs: clock.now() + hourMs,
    ...change,
  };
}

/** What is found. An index may return `null` for nothing. */
async function found(
  { index }: ResponseIndexSetup,
  owner: string,
  ids: readonly string[],
): Promise<readonly (IndexEntry | undefined)[]> {
  const entries = await index.find(owner, ids);
  return entries.map((one) => (one === undefined || one === null ? undefined : { ...one }));
}

const cases: Cases<ResponseIndexSetup> = {
  async 'RI-01 entries are returned as they were, in the order of the ids'(setup) {
    const owner = newOwner();
    const account = 'a "quoted"\naccount: ü|{}';
    const response = entry(setup, { owner, account, maxTokens: 123_456 });
    const item = entry(setup, { owner, id: 'rs_-_Z9', kind: 'item', modelId: 'vendor/m:1' });
    const sealed = entry(setup, { owner, id: 'rs_sealed', kind: 'sealed' });
    await setup.index.remember([response, item, sealed]);

    const ids = ['rs_-_Z9', 'msg_unknown', 'resp_0a', 'rs_sealed'];

    assert.deepEqual(await found(setup, owner, ids), [item, undefined, response, sealed]);
  },
  async 'RI-02 another owner finds nothing, whatever the names'(setup) {
    const base = newOwner();
    const owners = [base, `${base}_resp`, `${base}|`, `${base}:resp`, `${base}\n`, `${base}}`];
    const [owner = base, ...others] = owners;
    await setup.index.remember([entry(setup, { owner, id: 'resp_a' })]);

    for (const other of others) {
      assert.deepEqual(await found(setup, other, ['resp_a', '_resp_a', 'a']), [
        undefined,
        undefined,
        undefined,
      ]);
    }
  },
  async 'RI-03 entries of two owners with one id are independent'(setup) {
    const [first, second] = [entry(setup), entry(setup, { account: 'openai-us' })];
    await setup.index.remember([first]);
    await setup.index.remember([second]);
    await setup.index.forget(second.owner, [second.id]);

    assert.deepEqual(await found(setup, first.owner, [first.id]), [first]);
    assert.deepEqual(await found(setup, second.owner, [first.id]), [undefined]);
  },
  async 'RI-04 a later entry wins, also with fewer members'(setup) {
    const before = entry(setup, { maxTokens: 5 });
    const { owner } = before;
    const after = entry(setup, { owner, account: 'openai-us', kind: 'item' });
    await setup.index.remember([before]);
    await setup.index.remember([entry(setup, { owner, maxTokens: 7 }), after]);

    assert.deepEqual(await found(setup, owner, [after.id]), [after]);
  },
  async 'RI-05 an entry is unknown once it has expired'(setup) {
    const short = entry(setup, { expiresAtMs: setup.clock.now() + 1_000 });
    const long = entry(setup, { owner: short.owner, id: 'resp_long' });
    await setup.index.remember([short, long]);

    await setup.clock.advance(999);
    assert.deepEqual(await found(setup, short.owner, [short.id]), [short]);
    await setup.clock.advance(1);

    assert.deepEqual(await found(setup, short.owner, [short.id, long.id]), [undefined, long]);
  },
  async 'RI-06 a forgotten entry is unknown, and unknown ids are ignored'(setup) {
    const [gone, kept] = [entry(setup), entry(setup, { id: 'rs_kept', kind: 'item' })];
    const { owner } = gone;
    await setup.index.remember([gone, { ...kept, owner }]);

    await setup.index.forget(owner, [gone.id, 'resp_unknown']);
    await setup.index.forget(newOwner(), ['rs_kept']);

    const entries = await found(setup, owner, [gone.id, 'rs_kept']);
    assert.deepEqual(entries, [undefined, { ...kept, owner }]);
  },
  async 'RI-07 1,024 entries are remembered and found at once, an id twice'(setup) {
    const owner = newOwner();
    const ids = Array.from({ length: 1_024 }, (_, number) => `${'x'.repeat(100)}_${number}`);
    await setup.index.remember(ids.map((id) => entry(setup, { owner, id, kind: 'item' })));

    const entries = await found(setup, owner, [...ids.slice(1), 'rs_none'].slice(0, 1_023));
    assert.deepEqual(
      entries.map((one) => one?.id),
      ids.slice(1),
    );
    const twice = await found(setup, owner, [ids[0] ?? '', ids[0] ?? '']);
    assert.deepEqual(
      twice.map((one) => one?.id),
      [ids[0], ids[0]],
    );
  },
  async 'RI-08 no entries and no ids are allowed'(setup) {
    await setup.index.remember([]);
    await setup.index.forget(newOwner(), []);

    assert.deepEqual(await found(setup, newOwner(), []), []);
  },
  async 'RI-09 fifty replies at once are all remembered'(setup) {
    const owner = newOwner();
    const ids = Array.from({ length: 50 }, (_, number) => `resp_${number}`);
    await Promise.all(ids.map(async (id) => setup.index.remember([entry(setup, { owner, id })])));

    const entries = await found(setup, owner, ids);
    assert.deepEqual(
      entries.map((one) => one?.id),
      ids,
    );
  },
  async 'RI-10 forgetOwner, if there is one, removes all entries of an owner and no others'(setup) {
    const { index } = setup;
    if (index.forgetOwner === undefined) return;
    const [owner, other] = [newOwner(), newOwner()];
    const ids = Array.from({ length: 1_024 }, (_, number) => `rs_${number}`);
    await index.remember(ids.map((id) => entry(setup, { owner, id, kind: 'item' })));
    const kept = entry(setup, { owner: other, id: 'rs_1', kind: 'item' });
    await index.remember([kept]);
    await index.forget(owner, ['rs_0']);

    const forgotten = await forgetAll(async () => (await index.forgetOwner?.(owner)) ?? 0);

    assert.equal(forgotten, ids.length - 1);
    assert((await found(setup, owner, ids)).every((one) => one === undefined));
    assert.deepEqual(await found(setup, other, ['rs_1']), [kept]);
    assert.equal(await index.forgetOwner(newOwner()), 0);
  },
  async 'RI-11 owners whose ids have any printable characters are kept apart'(setup) {
    const entries = everyId.map((owner) => entry(setup, { owner, account: randomUUID() }));
    for (const each of entries) await setup.index.remember([each]);

    for (const [index, each] of entries.entries()) {
      assert.deepEqual(await found(setup, each.owner, [each.id]), [each]);
      if (index % 2 === 0) continue;
      await setup.index.forget(each.owner, [each.id]);
      assert.deepEqual(await found(setup, each.owner, [each.id]), [undefined]);
    }

    for (const [index, each] of entries.entries()) {
      const left = index % 2 === 0 ? each : undefined;
      assert.deepEqual(await found(setup, each.owner, [each.id]), [left]);
    }
  },
};
