// suite: slow
/** A cached key store whose answers depend on the request: what is shared, and what is not. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiKey, KeyLookupOptions, KeyRequest } from '../../src/ports/keys/key-store.ts';
import { type CachedKeyStoreOptions, cachedKeyStore } from '../../src/stores/cached-key-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { untyped } from '../stages/ports/failing.ts';

const byTenant = ({ headers }: KeyRequest): string => String(headers['x-tenant'] ?? '');

describe('cachedKeyStore with vary', () => {
  it('asks the store once for each text, and passes the request on', async () => {
    const { find, lookups } = cached({ vary: byTenant });

    const found = [];
    for (const tenant of ['a', 'b', 'a', 'b', undefined, undefined]) {
      found.push((await find('secret', requestOf(tenant)))?.id);
    }

    expect(found).toEqual(['secret-a', 'secret-b', 'secret-a', 'secret-b', 'secret-', 'secret-']);
    expect(lookups.map(({ request }) => request?.headers['x-tenant'])).toEqual([
      'a',
      'b',
      undefined,
    ]);
  });

  it('never serves the key of one text or secret for another', async () => {
    const texts = fc.constantFrom('', '.', 'a', 'b', 'a.b', 'secret', 'secret.a');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(texts, texts), { maxLength: 12 }), async (calls) => {
        const { find } = cached({ vary: byTenant });
        for (const [secret, tenant] of calls) {
          expect((await find(secret, requestOf(tenant)))?.id).toBe(`${secret}-${tenant}`);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('forgets a key in all its variants', async () => {
    const { find, lookups, store } = cached({ vary: byTenant }, () => 'one');
    await find('secret', requestOf('a'));
    await find('secret', requestOf('b'));

    store.forget('one');
    await find('secret', requestOf('a'));
    await find('secret', requestOf('b'));

    expect(lookups).toHaveLength(4);
  });

  it('caches a lookup without a request apart from all others', async () => {
    const { find, lookups } = cached({ vary: byTenant });

    await find('secret');
    await find('secret', requestOf(''));
    await find('secret');

    expect(lookups.map(({ request }) => request === undefined)).toEqual([true, false]);
  });

  it('reports a vary that returns no text, and serves nothing', () => {
    const { find } = cached({ vary: untyped(undefined) });

    expect(() => find('secret', requestOf('a'))).toThrow(
      'cachedKeyStore: options.vary must return a string.',
    );
  });
});

it('without vary the store gets no request, so that no answer depends on one', async () => {
  const { find, lookups } = cached({});

  await find('secret', requestOf('a'));
  await find('secret', requestOf('b'));

  expect(lookups.map((options) => 'request' in options)).toEqual([false]);
});

function requestOf(tenant: string | undefined): KeyLookupOptions {
  const headers = tenant === undefined ? {} : { 'x-tenant': tenant };
  return { request: { method: 'POST', path: '/v1/chat/completions', headers } };
}

/** A cache over a store whose keys are named by the secret and the tenant. */
function cached(
  options: CachedKeyStoreOptions,
  idOf = (secret: string, tenant: string): string => `${secret}-${tenant}`,
) {
  const lookups: KeyLookupOptions[] = [];
  const store = cachedKeyStore(
    {
      find: async (secret, lookup = {}) => {
        lookups.push(lookup);
        const tenant = lookup.request === undefined ? '' : byTenant(lookup.request);
        return keyNamed(idOf(secret, tenant));
      },
    },
    { clock: fakeClock(), ...options },
  );
  return { store, find: store.find, lookups };
}

function keyNamed(id: string): ApiKey {
  return { id, group: 'staff', disabled: false, quota: [] };
}
