/** The errors that several operations on keys share. */
import { AdminError, keepInDatabase, notSupported } from './admin-error.ts';

export function cannot(what: string): AdminError {
  return notSupported(
    `The key store can't ${what}.`,
    'Change keys where you keep them: in `keys.fixed`, or in your own tables. ' +
      keepInDatabase(
        'stores.keys',
        'a sqliteKeyStore or postgresKeyStore that createAdmin is given',
      ),
  );
}

export function noKey(id: string): AdminError {
  return new AdminError('not_found', `There is no key "${id.slice(0, 64)}".`);
}
