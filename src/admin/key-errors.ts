/** The errors that several operations on keys share. */
import { AdminError, notSupported } from './admin-error.ts';

export function cannot(what: string): AdminError {
  return notSupported(
    `The key store can't ${what}.`,
    'Give createAdmin the store behind the cache, or one of memoryKeyStore, sqliteKeyStore and ' +
      'postgresKeyStore. If you keep keys in your own tables, change them there.',
  );
}

export function noKey(id: string): AdminError {
  return new AdminError('not_found', `There is no key "${id.slice(0, 64)}".`);
}
