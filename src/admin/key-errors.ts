/** The errors that several operations on keys have in common. */
import { AdminError, notSupported } from './admin-error.ts';

/** The error where the host's key store has no method for it. */
export function cannot(what: string): AdminError {
  return notSupported(
    `The key store can't ${what}.`,
    'Give createAdmin the store behind the cache, or one of memoryKeyStore, sqliteKeyStore and ' +
      'postgresKeyStore; else use your own tables.',
  );
}

/** The error where there is no key with this id. */
export function noKey(id: string): AdminError {
  return new AdminError('not_found', `There is no key "${id.slice(0, 64)}".`);
}
