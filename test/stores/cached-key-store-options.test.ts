/** A cached key store that is set up wrongly says which option, and the cure. */
import { describe, expect, it } from 'vitest';
import type { KeyStore } from '../../src/ports/key-store.ts';
import { cachedKeyStore } from '../../src/stores/memory/cached-key-store.ts';
import { mad } from '../stages/failing.ts';

describe('cachedKeyStore refuses', () => {
  const none: KeyStore = { find: () => undefined };

  it.each([
    ['ttlMs', 'must be a positive integer of ms'],
    ['negativeTtlMs', 'must be a positive integer of ms'],
    ['staleMs', 'must be a positive integer of ms'],
    ['timeoutMs', 'must be a positive integer of ms'],
    ['maxKeys', 'must be a positive integer'],
    ['clock', 'must be an object with now(), monotonicMs(), every()'],
  ])('%s that is none', (name, says) => {
    for (const value of [0, -1, '5', null]) {
      const make = () => cachedKeyStore(none, mad({ [name]: value })());

      expect(make).toThrow(`cachedKeyStore: options.${name} ${says}`);
    }
  });

  it('a name that does not exist, no store, and keys that go stale before they are old', () => {
    expect(() => cachedKeyStore(none, mad({ ttl: 5 })())).toThrow('options.ttl does not exist.');
    expect(() => cachedKeyStore(mad({})())).toThrow('store must be an object with find().');
    expect(() => cachedKeyStore(none, { ttlMs: 10, staleMs: 9 })).toThrow(
      'cachedKeyStore: options.staleMs must be at least ttlMs. Raise it, or leave it out for none.',
    );
  });
});
