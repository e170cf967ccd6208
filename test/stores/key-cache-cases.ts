/** What the cache of a key table must not hide: its own changes, and those of others for long. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { ApiKey } from '../../src/ports/keys/key-store.ts';
import { mintSecret } from '../../src/secret.ts';
import type { SqlKeyStore, SqlKeyStoreOptions } from '../../src/stores/sql/key-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

/** Returns a function that makes a store over one empty table, as each process does. */
type OpenTable = () => MaybePromise<(options?: SqlKeyStoreOptions) => SqlKeyStore>;

const secrets = [0, 1, 2].map(() => mintSecret());
const steps = fc.array(
  fc.record({
    act: fc.constantFrom('add', 'disable', 'enable', 'remove', 'find'),
    key: fc.integer({ min: 0, max: secrets.length - 1 }),
    store: fc.integer({ min: 0, max: 1 }),
    passedMs: fc.constantFrom(0, 0, 400, 1_000),
  }),
  { maxLength: 40 },
);

/** Adds the cases to the suite. */
export function keyCacheCases(open: OpenTable): void {
  it('a change is seen here at its next call, and by another process after ttlMs', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const clock = fakeClock();
        const cache = { ttlMs: 1_000, negativeTtlMs: 1_000, clock };
        const make = await open();
        const stores = [make({ cache }), make({ cache })];
        const uncached = make({ cache: false });
        const keys = secrets.map((_, n) => ({ id: `key_${n}`, versions: [absentAt(0, 0)] }));
        for (const { act, key: number, store: at, passedMs } of sequence) {
          clock.advance(passedMs);
          const [store, key, secret] = [stores[at], keys[number], secrets[number]];
          if (store === undefined || key === undefined || secret === undefined) throw new Error();
          const before = key.versions.at(-1)?.key;
          const after = await apply(store, secret, { act, id: key.id, before });
          if (after !== before) key.versions.push({ key: after, by: at, atMs: clock.now() });
          for (const [reader, { find }] of stores.entries()) {
            const allowed = visible(key.versions, reader, clock.now() - cache.ttlMs);
            expect(allowed).toContainEqual(await find(secret));
          }
          expect(await uncached.find(secret)).toEqual(after);
        }
        for (const { id } of keys) await uncached.remove(id);
      }),
      { numRuns: 20 },
    );
  });

  it('a lookup that a change overtakes is not cached', async () => {
    const make = await open();
    const keys = make();
    const secret = mintSecret();

    const missed = keys.find(secret);
    await keys.add(secret, keyOf('key_late', false));
    await missed;
    expect(await keys.find(secret)).toEqual(keyOf('key_late', false));

    keys.clear();
    const found = keys.find(secret);
    await keys.update('key_late', { disabled: true });
    await found;
    expect(await keys.find(secret)).toEqual(keyOf('key_late', true));
    await keys.remove('key_late');
  });
}

interface Version {
  readonly key: ApiKey | undefined;
  readonly by: number;
  readonly atMs: number;
}

const absentAt = (atMs: number, by: number): Version => ({ key: undefined, by, atMs });

function keyOf(id: string, disabled: boolean): ApiKey {
  return { id, group: 'staff', disabled, quota: [{ id, period: 'total', limitNanos: 1n }] };
}

/** Makes the change, if there is something to change, and returns what the key is now. */
async function apply(
  store: SqlKeyStore,
  secret: string,
  { act, id, before }: { act: string; id: string; before: ApiKey | undefined },
): Promise<ApiKey | undefined> {
  if (act === 'find') return before;
  if (act === 'add') {
    if (before !== undefined) return before;
    await store.add(secret, keyOf(id, false));
    return keyOf(id, false);
  }
  if (act === 'remove') {
    expect(await store.remove(id)).toBe(before !== undefined);
    return undefined;
  }
  const disabled = act === 'disable';
  expect(await store.update(id, { disabled })).toBe(before !== undefined);
  return before?.disabled === disabled ? before : before && keyOf(id, disabled);
}

/** The newest version, and those that another process has replaced only lately. */
function visible(versions: readonly Version[], reader: number, sinceMs: number) {
  return versions
    .filter((_, index) => {
      const next = versions[index + 1];
      const replacedHere = versions.slice(index + 1).some(({ by }) => by === reader);
      return next === undefined || (!replacedHere && next.atMs > sinceMs);
    })
    .map(({ key }) => key);
}
