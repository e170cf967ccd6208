/** T05, F63: keys that are remembered for a while: for how long, under what name, and when not. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type MaybePromise, StoreUnavailable } from '../../src/ports/call-options.ts';
import type { ApiKey, KeyStore } from '../../src/ports/key-store.ts';
import { mintSecret } from '../../src/secret.ts';
import {
  type CachedKeyStore,
  type CachedKeyStoreOptions,
  cachedKeyStore,
} from '../../src/stores/memory/cached-key-store.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { keyStoreContract } from '../../src/testing/contracts/key-store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { gate } from '../../src/testing/fake-upstream/scripts.ts';
import { failures, inTime, mad } from '../stages/failing.ts';
import { scene } from '../stages/scene.ts';
import { ask } from '../stages/scene-models.ts';

describe.each(['at once', 'by promise'])('cachedKeyStore over a store that answers %s', (how) => {
  const contract = keyStoreContract(() => {
    const { find, add } = memoryKeyStore();
    const behind: KeyStore = how === 'at once' ? { find } : { find: async (sent) => find(sent) };
    return { store: cachedKeyStore(behind), put: add };
  });
  for (const { name, run } of contract) it(name, run);
});

describe('a key that was found', () => {
  it('is not looked up again for 30 seconds, and is answered at once', async () => {
    const { store, asked, clock } = cached({ a: key('one') });
    await store.find('a');

    clock.advance(29_999);
    const remembered = store.find('a');
    clock.advance(1);
    await store.find('a');

    expect(remembered).toEqual(key('one'));
    expect(asked).toEqual(['a', 'a']);
  });

  it('is as old as the question, not as the answer', async () => {
    const { store, asked, clock } = cached({}, { timeoutMs: 20_000 }, async () => {
      clock.advance(10_000);
      return key('slow');
    });
    await store.find('a');

    clock.advance(20_000);
    await store.find('a');

    expect(asked).toHaveLength(2);
  });

  it('serves a hundred callers at once by one question', async () => {
    const answered = gate();
    const { store, asked } = cached({}, {}, async () => {
      await answered.opened;
      return key('one');
    });

    const callers = Promise.all(Array.from({ length: 100 }, () => store.find('a')));
    answered.open();

    expect(new Set(await callers)).toEqual(new Set([key('one')]));
    expect(asked).toEqual(['a']);
  });

  it('is never another’s, however much the two secrets share', async () => {
    const shared = mintSecret().repeat(4).slice(0, 200);
    const { store } = cached({ [`${shared}1`]: key('one'), [`${shared}2`]: key('two') });

    const found = [await store.find(`${shared}1`), await store.find(`${shared}2`)];

    expect(found).toEqual([key('one'), key('two')]);
    expect(store.find(shared)).toBeInstanceOf(Promise);
  });

  it('gives way to the ones used later where there is no more room', async () => {
    const { store, asked } = cached({ a: key('a'), b: key('b'), c: key('c') }, { maxKeys: 2 });
    for (const secret of ['a', 'b', 'a', 'c']) await store.find(secret);

    await store.find('a');
    await store.find('b');

    expect(asked).toEqual(['a', 'b', 'c', 'b']);
  });

  it('keeps its place whatever number of wrong secrets is tried', async () => {
    const { store, asked } = cached({ a: key('a') }, { maxKeys: 2 });
    await store.find('a');
    for (let tried = 0; tried < 10; tried += 1) await store.find(`wrong-${tried}`);

    await store.find('a');
    await store.find('wrong-9');
    await store.find('wrong-0');

    expect(asked.filter((secret) => secret === 'a')).toHaveLength(1);
    expect(asked.slice(-2)).toEqual(['wrong-9', 'wrong-0']);
  });

  it('shows its secret nowhere in the store', async () => {
    const secret = mintSecret();
    const { store } = cached({ [secret]: key('a') });
    await store.find(secret);

    expect(inspect(store, { depth: 9, showHidden: true })).not.toContain(secret.slice(12));
  });
});

describe('a secret of no key', () => {
  it.each([undefined, null])('is not looked up again for 5 seconds: %s', async (answer) => {
    const { store, asked, clock } = cached({}, {}, mad(async () => answer)());
    await store.find('a');

    clock.advance(4_999);
    const remembered = store.find('a');
    clock.advance(1);
    await store.find('a');

    expect(remembered).toBeUndefined();
    expect(asked).toHaveLength(2);
  });

  it('becomes a key, and a key becomes none', async () => {
    const rows: Record<string, ApiKey> = {};
    const { store, clock } = cached(rows);
    const none = await store.find('a');

    rows.a = key('new');
    clock.advance(5_000);
    const found = await store.find('a');
    Reflect.deleteProperty(rows, 'a');
    clock.advance(30_000);
    const gone = await store.find('a');

    expect([none, found, gone]).toEqual([undefined, key('new'), undefined]);
  });

  it('is not remembered where the answer is no key at all', async () => {
    for (const answer of ['key', 5, {}, { id: 5 }]) {
      const { store, asked } = cached({}, {}, mad(async () => answer)());

      expect(await store.find('a')).toBe(answer);
      await store.find('a');

      expect(asked).toHaveLength(2);
    }
  });
});

describe('a key that is revoked', () => {
  it('is looked up again at once, by each of its secrets, and no other key is', async () => {
    const { store, asked } = cached({ a: key('one'), b: key('one'), c: key('two') });
    for (const secret of ['a', 'b', 'c']) await store.find(secret);

    store.forget('one');
    for (const secret of ['a', 'b', 'c']) await store.find(secret);

    expect(asked).toEqual(['a', 'b', 'c', 'a', 'b']);
  });

  it('is not remembered out of a lookup that was under way, nor waited for', async () => {
    const [first, second] = [gate(), gate()];
    const revoked = { ...key('one'), disabled: true };
    const answers = [first.opened.then(() => key('one')), second.opened.then(() => revoked)];
    const { store, asked } = cached({}, {}, async () => answers.shift());
    const before = store.find('a');

    store.forget('one');
    const after = store.find('a');
    second.open();
    await after;
    first.open();
    await before;

    expect(store.find('a')).toEqual(revoked);
    expect(asked).toHaveLength(2);
  });

  it('goes with all others, and with secrets of no key, when everything is forgotten', async () => {
    const { store, asked } = cached({ a: key('one') });
    await store.find('a');
    await store.find('none');

    store.clear();
    await store.find('a');
    await store.find('none');

    expect(asked).toEqual(['a', 'none', 'a', 'none']);
  });
});

describe('F63 while the store is down', () => {
  it.each(
    failures,
  )('and $how, a key serves as long as it is fresh, then nobody is told no', async ({ fail }) => {
    const { store, clock, fails } = cached({ a: key('one') });
    await store.find('a');
    fails(fail);

    clock.advance(29_999);
    const remembered = await store.find('a');
    clock.advance(2);

    expect(remembered).toEqual(key('one'));
    expect(
      await inTime(
        clock,
        outcome(() => store.find('a')),
      ),
    ).toBeInstanceOf(StoreUnavailable);
    expect(
      await inTime(
        clock,
        outcome(() => store.find('b')),
      ),
    ).toBeInstanceOf(StoreUnavailable);
  });

  it.each(failures)('and $how, a stale key serves as long as the host allows', async ({ fail }) => {
    const { store, clock, fails } = cached({ a: key('one') }, { staleMs: 600_000 });
    await store.find('a');
    fails(fail);

    clock.advance(590_000);
    const stale = await inTime(
      clock,
      outcome(() => store.find('a')),
    );
    clock.advance(10_001);

    expect(stale).toEqual(key('one'));
    expect(
      await inTime(
        clock,
        outcome(() => store.find('a')),
      ),
    ).toBeInstanceOf(StoreUnavailable);
  });

  it('a stale key serves no longer than allowed, though the store was just tried', async () => {
    const { store, clock, fails } = cached({ a: key('one') }, { staleMs: 600_000 });
    await store.find('a');
    fails(() => Promise.reject(new StoreUnavailable('down')));

    clock.advance(599_500);
    const stale = await store.find('a');
    clock.advance(501);

    expect(stale).toEqual(key('one'));
    expect(await outcome(() => store.find('a'))).toBeInstanceOf(StoreUnavailable);
  });

  it('a stale key makes nobody wait for the store more than once a second', async () => {
    const { store, clock, fails, asked } = cached({ a: key('one') }, { staleMs: 600_000 });
    await store.find('a');
    fails(() => new Promise(() => {}));
    clock.advance(30_000);

    await inTime(
      clock,
      outcome(() => store.find('a')),
    );
    const next = store.find('a');
    clock.advance(1_000);
    await inTime(
      clock,
      outcome(() => store.find('a')),
    );

    expect(next).toEqual(key('one'));
    expect(asked).toHaveLength(3);
  });

  it('a key that was forgotten serves no more', async () => {
    const { store, clock, fails } = cached({ a: key('one') }, { staleMs: 600_000 });
    await store.find('a');
    fails(() => Promise.reject(new StoreUnavailable('down')));

    store.forget('one');

    expect(
      await inTime(
        clock,
        outcome(() => store.find('a')),
      ),
    ).toBeInstanceOf(StoreUnavailable);
  });

  it('it is asked again when it is back', async () => {
    const { store, clock, fails } = cached({ a: key('one') });
    fails(() => Promise.reject(new StoreUnavailable('down')));
    expect(await outcome(() => store.find('a'))).toBeInstanceOf(StoreUnavailable);

    fails(undefined);

    expect(
      await inTime(
        clock,
        outcome(() => store.find('a')),
      ),
    ).toEqual(key('one'));
  });

  it('a caller gets 503, never 401', async () => {
    const { store, fails } = cached({ 'caller-secret': key('one') });
    fails(() => Promise.reject(new StoreUnavailable('down')));
    const { call } = scene({ options: { keys: store } });

    expect((await call(ask.chat)).status).toBe(503);
  });
});

describe('a gateway over a cached store', () => {
  it('refuses a key from the moment it expires, though it is remembered', async () => {
    const clock = fakeClock();
    const expiring = { ...key('one'), expiresAtMs: clock.now() + 10_000 };
    const { store, asked } = cached({ 'caller-secret': expiring }, { clock });
    const { call } = scene({ options: { keys: store, clock } });
    const models = { method: 'GET', path: '/v1/models' };

    const before = await call(models);
    clock.advance(10_000);
    const after = await call(models);

    expect([before.status, after.status]).toEqual([200, 401]);
    expect(asked).toHaveLength(1);
  });
});

interface Cached {
  readonly store: CachedKeyStore;
  readonly clock: FakeClock;
  /** The secrets the store behind was asked for, in order. */
  readonly asked: readonly string[];
  /** From now on the store behind does this; undefined: it answers again. */
  fails(how: (() => Promise<never>) | undefined): void;
}

function cached(
  rows: Readonly<Record<string, ApiKey>>,
  options: CachedKeyStoreOptions & { readonly clock?: FakeClock } = {},
  find: KeyStore['find'] = async (secret) => rows[secret],
): Cached {
  const clock = options.clock ?? fakeClock();
  const asked: string[] = [];
  let failing: (() => Promise<never>) | undefined;
  const behind: KeyStore = {
    find: (secret) => {
      asked.push(secret);
      return failing === undefined ? find(secret) : failing();
    },
  };
  return {
    store: cachedKeyStore(behind, { ...options, clock }),
    clock,
    asked,
    fails: (how) => {
      failing = how;
    },
  };
}

/** What it answers, or what it fails with. */
async function outcome(question: () => MaybePromise<unknown>): Promise<unknown> {
  try {
    return await question();
  } catch (error) {
    return error;
  }
}

function key(id: string): ApiKey {
  return { id, group: 'staff', disabled: false, quota: [{ id, period: 'total', limitNanos: 1n }] };
}
