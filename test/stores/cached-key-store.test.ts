// suite: slow
/** The cached key store: how long keys are cached, by what name, and when they are not. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type MaybePromise, StoreUnavailable } from '../../src/ports/call-options.ts';
import type { ApiKey, KeyStore } from '../../src/ports/keys/key-store.ts';
import { mintSecret } from '../../src/secret.ts';
import {
  type CachedKeyStore,
  type CachedKeyStoreOptions,
  cachedKeyStore,
} from '../../src/stores/cached-key-store.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { keyStoreContract } from '../../src/testing/contracts/key-store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { gate } from '../../src/testing/providers/scripts.ts';
import { failures, inTime, untyped } from '../stages/ports/failing.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { sampleRequests } from '../support/models.ts';

describe.each(['directly', 'by promise'])('cachedKeyStore over a store that replies %s', (how) => {
  const contract = keyStoreContract(() => {
    const { find, add } = memoryKeyStore();
    const underlying: KeyStore =
      how === 'at once' ? { find } : { find: async (sent) => find(sent) };
    return { store: cachedKeyStore(underlying), put: add };
  });
  for (const { name, run } of contract) it(name, run);
});

describe('a found key', () => {
  it('is served from the cache for 30 seconds, without a promise', async () => {
    const { store, lookups, clock } = cached({ a: key('one') });
    await store.find('a');

    clock.advance(29_999);
    const remembered = store.find('a');
    clock.advance(1);
    await store.find('a');

    expect(remembered).toEqual(key('one'));
    expect(lookups).toEqual(['a', 'a']);
  });

  it('is as old as the beginning of its lookup', async () => {
    const { store, lookups, clock } = cached({}, { timeoutMs: 20_000 }, async () => {
      clock.advance(10_000);
      return key('slow');
    });
    await store.find('a');

    clock.advance(20_000);
    await store.find('a');

    expect(lookups).toHaveLength(2);
  });

  it('serves a hundred concurrent callers by one lookup', async () => {
    const replied = gate();
    const { store, lookups } = cached({}, {}, async () => {
      await replied.opened;
      return key('one');
    });

    const callers = Promise.all(Array.from({ length: 100 }, () => store.find('a')));
    replied.open();

    expect(new Set(await callers)).toEqual(new Set([key('one')]));
    expect(lookups).toEqual(['a']);
  });

  it('is never that of another secret, however much the two have in common', async () => {
    const shared = mintSecret().repeat(4).slice(0, 200);
    const { store } = cached({ [`${shared}1`]: key('one'), [`${shared}2`]: key('two') });

    const found = [await store.find(`${shared}1`), await store.find(`${shared}2`)];

    expect(found).toEqual([key('one'), key('two')]);
    expect(store.find(shared)).toBeInstanceOf(Promise);
  });

  it('is evicted first if it is the least recently used', async () => {
    const { store, lookups } = cached({ a: key('a'), b: key('b'), c: key('c') }, { maxKeys: 2 });
    for (const secret of ['a', 'b', 'a', 'c']) await store.find(secret);

    await store.find('a');
    await store.find('b');

    expect(lookups).toEqual(['a', 'b', 'c', 'b']);
  });

  it('is not evicted by wrong secrets', async () => {
    const { store, lookups } = cached({ a: key('a') }, { maxKeys: 2 });
    await store.find('a');
    for (let tried = 0; tried < 10; tried += 1) await store.find(`wrong-${tried}`);

    await store.find('a');
    await store.find('wrong-9');
    await store.find('wrong-0');

    expect(lookups.filter((secret) => secret === 'a')).toHaveLength(1);
    expect(lookups.slice(-2)).toEqual(['wrong-9', 'wrong-0']);
  });

  it('does not expose its secret in the store', async () => {
    const secret = mintSecret();
    const { store } = cached({ [secret]: key('a') });
    await store.find(secret);

    expect(inspect(store, { depth: 9, showHidden: true })).not.toContain(secret.slice(12));
  });
});

describe('a secret that belongs to no key', () => {
  it.each([undefined, null])('is not looked up again for 5 seconds: %s', async (reply) => {
    const { store, lookups, clock } = cached({}, {}, untyped(async () => reply)());
    await store.find('a');

    clock.advance(4_999);
    const remembered = store.find('a');
    clock.advance(1);
    await store.find('a');

    expect(remembered).toBeUndefined();
    expect(lookups).toHaveLength(2);
  });

  it('may become a key, and a key may disappear', async () => {
    const rows: Record<string, ApiKey> = {};
    const { store, clock } = cached(rows);
    const none = await store.find('a');

    rows.a = key('new');
    clock.advance(5_000);
    const found = await store.find('a');
    Reflect.deleteProperty(rows, 'a');
    clock.advance(30_000);
    const removed = await store.find('a');

    expect([none, found, removed]).toEqual([undefined, key('new'), undefined]);
  });

  it('is not cached if the store replies with something that is not a key', async () => {
    for (const reply of ['key', 5, {}, { id: 5 }]) {
      const { store, lookups } = cached({}, {}, untyped(async () => reply)());

      expect(await store.find('a')).toBe(reply);
      await store.find('a');

      expect(lookups).toHaveLength(2);
    }
  });
});

describe('a revoked key', () => {
  it('is looked up again immediately for each of its secrets, and no other key is', async () => {
    const { store, lookups } = cached({ a: key('one'), b: key('one'), c: key('two') });
    for (const secret of ['a', 'b', 'c']) await store.find(secret);

    store.forget('one');
    for (const secret of ['a', 'b', 'c']) await store.find(secret);

    expect(lookups).toEqual(['a', 'b', 'c', 'a', 'b']);
  });

  it('is neither cached from a lookup in flight nor waits for it', async () => {
    const [first, second] = [gate(), gate()];
    const revoked = { ...key('one'), disabled: true };
    const replies = [first.opened.then(() => key('one')), second.opened.then(() => revoked)];
    const { store, lookups } = cached({}, {}, async () => replies.shift());
    const before = store.find('a');

    store.forget('one');
    const after = store.find('a');
    second.open();
    await after;
    first.open();
    await before;

    expect(store.find('a')).toEqual(revoked);
    expect(lookups).toHaveLength(2);
  });

  it('is removed with all other keys and misses by clear', async () => {
    const { store, lookups } = cached({ a: key('one') });
    await store.find('a');
    await store.find('none');

    store.clear();
    await store.find('a');
    await store.find('none');

    expect(lookups).toEqual(['a', 'none', 'a', 'none']);
  });
});

describe('while the store is down', () => {
  it.each(failures)('and $how, a key is served while fresh, then lookups are unavailable', async ({
    fail,
  }) => {
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

  it.each(failures)('and $how, a stale key is served up to staleMs', async ({ fail }) => {
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

  it('a stale key is not served beyond staleMs, though the store was just tried', async () => {
    const { store, clock, fails } = cached({ a: key('one') }, { staleMs: 600_000 });
    await store.find('a');
    fails(() => Promise.reject(new StoreUnavailable('down')));

    clock.advance(599_500);
    const stale = await store.find('a');
    clock.advance(501);

    expect(stale).toEqual(key('one'));
    expect(await outcome(() => store.find('a'))).toBeInstanceOf(StoreUnavailable);
  });

  it('at most one call per second waits for the store while a stale key is served', async () => {
    const { store, clock, fails, lookups } = cached({ a: key('one') }, { staleMs: 600_000 });
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
    expect(lookups).toHaveLength(3);
  });

  it('a forgotten key is not served', async () => {
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

  it('the store is used again when it is back', async () => {
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
    const { call } = gatewayInProcess({ options: { keys: store } });

    expect((await call(sampleRequests.chat)).status).toBe(503);
  });
});

describe('a gateway over a cached store', () => {
  it('refuses a key from the moment it expires, though it is remembered', async () => {
    const clock = fakeClock();
    const expiring = { ...key('one'), expiresAtMs: clock.now() + 10_000 };
    const { store, lookups } = cached({ 'caller-secret': expiring }, { clock });
    const { call } = gatewayInProcess({ options: { keys: store, clock } });
    const models = { method: 'GET', path: '/v1/models' };

    const before = await call(models);
    clock.advance(10_000);
    const after = await call(models);

    expect([before.status, after.status]).toEqual([200, 401]);
    expect(lookups).toHaveLength(1);
  });
});

interface Cached {
  readonly store: CachedKeyStore;
  readonly clock: FakeClock;
  /** The secrets that were looked up in the underlying store, in order. */
  readonly lookups: readonly string[];
  /** Makes the underlying store fail like this; undefined makes it reply again. */
  fails(how: (() => Promise<never>) | undefined): void;
}

function cached(
  rows: Readonly<Record<string, ApiKey>>,
  options: CachedKeyStoreOptions & { readonly clock?: FakeClock } = {},
  find: KeyStore['find'] = async (secret) => rows[secret],
): Cached {
  const clock = options.clock ?? fakeClock();
  const lookups: string[] = [];
  let failing: (() => Promise<never>) | undefined;
  const underlying: KeyStore = {
    find: (secret) => {
      lookups.push(secret);
      return failing === undefined ? find(secret) : failing();
    },
  };
  return {
    store: cachedKeyStore(underlying, { ...options, clock }),
    clock,
    lookups,
    fails: (how) => {
      failing = how;
    },
  };
}

/** The result, or the error. */
async function outcome(call: () => MaybePromise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

function key(id: string): ApiKey {
  return { id, group: 'staff', disabled: false, quota: [{ id, period: 'total', limitNanos: 1n }] };
}
