/** No key may name an owner that is gone, whenever the owner is removed. */
import { expect } from 'vitest';
import type { SqlEngine } from '../../src/stores/sql/engine.ts';
import { type SqlKeyStore, sqlKeyStore } from '../../src/stores/sql/key-store.ts';

const changes = {
  issue: (keys: SqlKeyStore) =>
    keys.issue({ id: 'new', group: 'staff', limitNanos: 5n, owner: 'acme' }),
  update: (keys: SqlKeyStore) => keys.update('old', { owner: 'acme' }),
} as const;

const outcomeOf = (change: Promise<unknown>): Promise<unknown> =>
  change.then(
    () => 'done',
    (error: unknown) => String(error),
  );

/** Calls `before` before each statement of an engine. */
function interrupted(engine: SqlEngine, before: () => Promise<void>): SqlEngine {
  return {
    ...engine,
    read: async (...statement) => {
      await before();
      return engine.read(...statement);
    },
    change: async (...statement) => {
      await before();
      return engine.change(...statement);
    },
  };
}

async function newOwner(keys: SqlKeyStore): Promise<void> {
  for (const id of ['new', 'old']) await keys.remove(id);
  await keys.owners.remove('acme');
  await keys.owners.add({ id: 'acme', period: 'total', disabled: false });
  await keys.issue({ id: 'old', group: 'staff', limitNanos: 5n });
}

async function expectNoOrphan(keys: SqlKeyStore, when: string): Promise<void> {
  const hasOwner = (await keys.owners.get('acme')) !== undefined;
  const named = (await keys.list()).filter(({ owner }) => owner === 'acme');
  if (!hasOwner) expect(named, when).toEqual([]);
}

/** Removes the owner at every moment of each change of a key, and the other way round. */
export async function removeOwnerAtEveryMoment(engine: SqlEngine): Promise<void> {
  const keys = sqlKeyStore('test', engine, { cache: false });
  const remove = () => outcomeOf(Promise.resolve(keys.owners.remove('acme')));
  for (const [name, change] of Object.entries(changes)) {
    for (const isRemovalCut of [false, true]) {
      for (let moment = 0; moment < 6; moment += 1) {
        await newOwner(keys);
        let left = moment;
        const cut = interrupted(engine, async () => {
          if (left === 0) await (isRemovalCut ? outcomeOf(change(keys)) : remove());
          left -= 1;
        });
        const slow = sqlKeyStore('test', cut, { cache: false });
        await outcomeOf(isRemovalCut ? Promise.resolve(slow.owners.remove('acme')) : change(slow));
        await expectNoOrphan(keys, `${name}, cut at statement ${moment}`);
      }
    }
  }
}

/** Removes the owner while keys are given to it, through as many connections as there are. */
export async function removeOwnerMeanwhile(engine: SqlEngine): Promise<void> {
  const keys = sqlKeyStore('test', engine, { cache: false });
  for (let round = 0; round < 60; round += 1) {
    await newOwner(keys);
    await Promise.all([
      outcomeOf(changes.issue(keys)),
      outcomeOf(changes.update(keys)),
      outcomeOf(Promise.resolve(keys.owners.remove('acme'))),
    ]);
    await expectNoOrphan(keys, `round ${round}`);
  }
}
