/**
 * A key store in this process's memory: for tests, for small hosts, and as an example for your own
 * store.
 */
import { ConfigurationError } from '../../errors.ts';
import type { ApiKey, KeyStore } from '../../ports/key-store.ts';
import { digestSecret, isWeakSecret } from '../../secret.ts';

/** The pepper of the digests, and initial keys. */
export interface MemoryKeyStoreOptions {
  /** Mixed into every digest, so that a leaked table can't even confirm a guess. */
  readonly pepper?: string;
  /** The initial keys. */
  readonly keys?: readonly { readonly secret: string; readonly key: ApiKey }[];
  /** Accepts secrets of under 96 bits, which could be guessed. Requires a pepper. */
  readonly allowWeakKeys?: boolean;
}

/** A {@link KeyStore} that can be changed while the gateway runs; returns directly, no promises. */
export interface MemoryKeyStore extends KeyStore {
  find(secret: string): ApiKey | undefined;
  /**
   * Adds a key. Two keys may share a quota subject, which is how a secret is rotated with an
   * overlap.
   *
   * @throws ConfigurationError where the id or the secret is taken, or the secret could be guessed
   */
  add(secret: string, key: ApiKey): void;
  /** Changes a key from its next call on; false where there is no key with this id. */
  update(id: string, change: Partial<Omit<ApiKey, 'id'>>): boolean;
  /** Removes a key and its secret; false where there is no key with this id. */
  remove(id: string): boolean;
}

/** A key store in memory. It keeps digests, never secrets. */
export function memoryKeyStore(options: MemoryKeyStoreOptions = {}): MemoryKeyStore {
  const { pepper, allowWeakKeys = false } = options;
  if (allowWeakKeys && pepper === undefined) {
    throw new ConfigurationError('memoryKeyStore: allowWeakKeys needs a pepper. Give it one.');
  }
  const keys = new Map<string, ApiKey>();
  const digests = new Map<string, string>();

  const store: MemoryKeyStore = {
    find: (secret) => keys.get(digestSecret(secret, pepper)),
    add: (secret, key) => {
      if (!allowWeakKeys && isWeakSecret(secret)) throw weakSecret(key.id);
      const digest = digestSecret(secret, pepper);
      if (digests.has(key.id) || keys.has(digest)) throw taken(key.id);
      digests.set(key.id, digest);
      keys.set(digest, { ...key });
    },
    update: (id, change) => {
      const digest = digests.get(id);
      const key = digest === undefined ? undefined : keys.get(digest);
      if (digest === undefined || key === undefined) return false;
      keys.set(digest, { ...key, ...change, id });
      return true;
    },
    remove: (id) => {
      const digest = digests.get(id);
      if (digest === undefined) return false;
      digests.delete(id);
      return keys.delete(digest);
    },
  };

  for (const { secret, key } of options.keys ?? []) store.add(secret, key);
  return store;
}

function weakSecret(id: string): ConfigurationError {
  return new ConfigurationError(
    `memoryKeyStore: the secret of key "${id}" has under 96 bits and could be guessed. ` +
      'Use one of issueKey(), or set allowWeakKeys with a pepper.',
  );
}

function taken(id: string): ConfigurationError {
  return new ConfigurationError(
    `memoryKeyStore: the id or the secret of key "${id}" is taken. Remove that key first.`,
  );
}
