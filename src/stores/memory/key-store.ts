/**
 * A key store in this process's memory: for tests, for small hosts, and as an example for your own
 * store.
 */
import { z } from 'zod';
import { ConfigurationError } from '../../errors.ts';
import { type IssuedKey, type IssueKeyOptions, issueKey } from '../../issue-key.ts';
import {
  changed,
  joined,
  type KeyChange,
  type KeyOwner,
  type OwnerTable,
  ownerPageOf,
  ownerSearchText,
} from '../../ports/keys/key-owner.ts';
import {
  checkKeyPage,
  checkPage,
  type KeyPage,
  type KeyPageQuery,
  keyPageOf,
  keySearchText,
} from '../../ports/keys/key-page.ts';
import type { ApiKey, KeyStore } from '../../ports/keys/key-store.ts';
import { checkOwnerRecord, ownerMissing, ownerTaken } from '../../ports/keys/owner-schema.ts';
import { checkMakerOptions, flag, strict, text } from '../../ports/set-up.ts';
import { digestSecret, isWeakSecret } from '../../secret.ts';

/** The pepper of the digests, and initial keys. */
export interface MemoryKeyStoreOptions {
  /** Mixed into every digest, so that a leaked table can't even confirm a guess. */
  readonly pepper?: string;
  /** The initial keys. */
  readonly keys?: readonly {
    /** What callers send. */
    readonly secret: string;
    /** The record that it finds. */
    readonly key: ApiKey;
  }[];
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
  /**
   * Issues a key and adds it. The secret exists only in the returned value.
   *
   * @throws ConfigurationError where the key could never be charged, or its id is taken
   */
  issue(options: IssueKeyOptions): IssuedKey;
  /** Changes a key from its next call on; false where there is no key with this id. */
  update(id: string, change: KeyChange): boolean;
  /** Removes a key and its secret; false where there is no key with this id. */
  remove(id: string): boolean;
  /** The keys of a group, or all keys, ordered by id. */
  list(group?: string): readonly ApiKey[];
  /** The key with this id, or undefined if there is none. */
  get(id: string): ApiKey | undefined;
  /**
   * A page of keys, ordered by id.
   *
   * @throws RangeError where the query is not valid
   */
  page(query?: KeyPageQuery): KeyPage;
  /** The owners of keys, each with a budget and rates of its own. */
  readonly owners: OwnerTable;
}

/** A key store in memory. It keeps digests, never secrets. */
export function memoryKeyStore(options: MemoryKeyStoreOptions = {}): MemoryKeyStore {
  checkMakerOptions('memoryKeyStore', optionsSchema, options, {
    keys: 'Give it what issueKey() returns: { keys: [issueKey({ … })] }',
    pepper: 'Leave it out for none',
  });
  const { pepper, allowWeakKeys = false } = options;
  if (allowWeakKeys && pepper === undefined) {
    throw new ConfigurationError('memoryKeyStore: allowWeakKeys needs a pepper. Give it one.');
  }
  const keys = new Map<string, ApiKey>();
  const digests = new Map<string, string>();
  const owners = memoryOwners((id) => [...keys.values()].some(({ owner }) => owner === id));
  const keyOf = (id: string): ApiKey | undefined => keys.get(digests.get(id) ?? '');

  const store: MemoryKeyStore = {
    find: (secret) => owners.joinedTo(keys.get(digestSecret(secret, pepper))),
    add: (secret, key) => {
      if (!entrySchema.safeParse({ secret, key }).success) throw notAnEntry();
      if (!allowWeakKeys && isWeakSecret(secret)) throw weakSecret(key.id);
      const digest = digestSecret(secret, pepper);
      if (digests.has(key.id) || keys.has(digest)) throw taken(key.id);
      owners.check(key);
      digests.set(key.id, digest);
      keys.set(digest, { ...key });
    },
    issue: (keyOptions) => {
      const issued = issueKey(keyOptions);
      store.add(issued.secret, issued.key);
      return issued;
    },
    update: (id, change) => {
      const digest = digests.get(id);
      const key = keyOf(id);
      if (digest === undefined || key === undefined) return false;
      const next = changed(key, change);
      owners.check(next);
      keys.set(digest, { ...next, id });
      return true;
    },
    remove: (id) => {
      const digest = digests.get(id);
      if (digest === undefined) return false;
      digests.delete(id);
      return keys.delete(digest);
    },
    list: (group) =>
      inOrder([...keys.values()].filter((key) => group === undefined || key.group === group)),
    get: keyOf,
    page: (query) => pageOf([...keys.values()], query),
    owners,
  };

  for (const { secret, key } of options.keys ?? []) store.add(secret, key);
  return store;
}

const entryForm = 'must be a secret and its key: { secret, key }';
// A key's other members are checked when it is found, as those of every key store.
const entrySchema = z.object(
  {
    secret: z.string('must be the text of a secret').min(1, 'must not be empty'),
    key: z.looseObject({ id: text('must be text of at least one character') }, entryForm),
  },
  entryForm,
);
const optionsSchema = strict('must be an object of options, such as { keys: [issueKey({ … })] }', {
  pepper: z.string('must be text').optional(),
  keys: z.array(entrySchema, 'must be a list of { secret, key }').optional(),
  allowWeakKeys: flag.optional(),
} satisfies Record<keyof MemoryKeyStoreOptions, z.ZodType>);

function notAnEntry(): ConfigurationError {
  return new ConfigurationError(
    'memoryKeyStore: add(secret, key) takes the text of a secret and the record of its key, as ' +
      'issueKey() returns them. Call add(issued.secret, issued.key).',
  );
}

function pageOf(keys: readonly ApiKey[], query: KeyPageQuery | undefined): KeyPage {
  const { search, group, owner, metadata, disabled, after, limit } = checkKeyPage(query);
  const found = keys.filter(
    (key) =>
      key.id > after &&
      (search === undefined || keySearchText(key).includes(search)) &&
      (group === undefined || key.group === group) &&
      (owner === undefined || key.owner === owner) &&
      (disabled === undefined || key.disabled === disabled) &&
      metadata.every(([name, value]) => key.metadata?.[name] === value),
  );
  return keyPageOf(inOrder(found).slice(0, limit + 1), limit);
}

interface MemoryOwners extends OwnerTable {
  get(id: string): KeyOwner | undefined;
  joinedTo(key: ApiKey | undefined): ApiKey | undefined;
  /** @throws ConfigurationError where the owner of the key does not exist */
  check(key: ApiKey): void;
}

interface JoinedKey {
  readonly owner: KeyOwner | undefined;
  readonly joined: ApiKey;
}

function memoryOwners(isNamed: (id: string) => boolean): MemoryOwners {
  const owners = new Map<string, KeyOwner>();
  // A key is found at each of its calls, and its rates are checked once per object.
  const known = new WeakMap<ApiKey, JoinedKey>();
  return {
    get: (id) => owners.get(id),
    page: (query) => {
      const { search, after, limit } = checkPage(query);
      const found = [...owners.values()].filter(
        (owner) =>
          owner.id > after && (search === undefined || ownerSearchText(owner).includes(search)),
      );
      return ownerPageOf(inOrder(found).slice(0, limit + 1), limit);
    },
    add: (owner) => {
      checkOwnerRecord('memoryKeyStore', owner);
      if (owners.has(owner.id)) throw ownerTaken('memoryKeyStore', owner.id);
      owners.set(owner.id, { ...owner });
    },
    update: (id, change) => {
      const owner = owners.get(id);
      if (owner === undefined) return false;
      const next = { ...changed(owner, change), id };
      checkOwnerRecord('memoryKeyStore', next);
      owners.set(id, next);
      return true;
    },
    remove: (id) => !isNamed(id) && owners.delete(id),
    check: ({ owner }) => {
      if (owner === undefined || owners.has(owner)) return;
      throw ownerMissing('memoryKeyStore', owner);
    },
    joinedTo: (key) => {
      if (key?.owner === undefined) return key;
      const owner = owners.get(key.owner);
      const last = known.get(key);
      if (last !== undefined && last.owner === owner) return last.joined;
      const joinedKey = joined(key, owner);
      known.set(key, { owner, joined: joinedKey });
      return joinedKey;
    },
  };
}

function inOrder<T extends Pick<ApiKey, 'id'>>(records: readonly T[]): readonly T[] {
  return records.toSorted((one, other) => (one.id < other.id ? -1 : 1));
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
