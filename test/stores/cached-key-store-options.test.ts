// suite: slow
/** A cached key store with wrong options names the option and the remedy. */
import { describe, expect, it } from 'vitest';
import type { KeyStore } from '../../src/ports/keys/key-store.ts';
import { cachedKeyStore } from '../../src/stores/cached-key-store.ts';
import { untyped } from '../stages/ports/failing.ts';

describe('cachedKeyStore refuses', () => {
  const none: KeyStore = { find: () => undefined };

  it.each([
    ['ttlMs', 'must be a positive integer of ms'],
    ['negativeTtlMs', 'must be a positive integer of ms'],
    ['staleMs', 'must be a positive integer of ms'],
    ['timeoutMs', 'must be a positive integer of ms'],
    ['maxKeys', 'must be a positive integer'],
    ['vary', 'must be a function'],
    ['clock', 'must be an object with now(), monotonicMs(), every()'],
  ])('an invalid %s', (name, expected) => {
    for (const value of [0, -1, '5', null]) {
      const make = () => cachedKeyStore(none, untyped({ [name]: value })());

      expect(make).toThrow(`cachedKeyStore: options.${name} ${expected}`);
    }
  });

  it('an unknown option, a missing store, and a staleMs below ttlMs', () => {
    expect(() => cachedKeyStore(none, untyped({ ttl: 5 })())).toThrow(
      'options.ttl does not exist.',
    );
    expect(() => cachedKeyStore(untyped({})())).toThrow('store must be an object with find()');
    expect(() => cachedKeyStore(none, { ttlMs: 10, staleMs: 9 })).toThrow(
      'cachedKeyStore: options.staleMs must be at least ttlMs. Raise it, or leave it out to serve',
    );
  });
});
