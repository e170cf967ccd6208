/** Looks keys up, and the errors that several operations on them share. */
import type { ApiKey } from '../ports/key-store.ts';
import { AdminError, keepInDatabase, notSupported } from './admin-error.ts';
import type { AdminDeps } from './deps.ts';

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

/** @throws AdminError `not_found`, `not_supported` */
export async function keyOf({ keys }: Pick<AdminDeps, 'keys'>, id: string): Promise<ApiKey> {
  if (keys.get === undefined) throw cannot('look keys up by their id');
  const key = await keys.get(id);
  if (key === undefined) throw noKey(id);
  return key;
}
