/** What operators' changes of keys have in common: how a key is found, issued and changed. */
import type { Clock } from '../../clock.ts';
import { isConfigurationError } from '../../errors.ts';
import type { IssuedKey, IssueKeyOptions } from '../../issue-key.ts';
import { type KeyChange, ownerSubjectId } from '../../ports/keys/key-owner.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import {
  AdminError,
  type AdminProblem,
  invalid,
  keepInDatabase,
  notSupported,
} from '../admin-error.ts';
import type { AdminDeps, AdminKeyStore } from '../deps.ts';

export async function issue(deps: AdminDeps, options: IssueKeyOptions): Promise<IssuedKey> {
  const { keys } = deps.stores;
  if (keys.issue === undefined) throw cannot('issue keys');
  const problem = newKeyProblem(options, deps.clock) ?? (await ownerProblem(deps, options.owner));
  if (problem !== undefined) throw invalid(problem.field, problem.message);
  const { id } = options;
  if (id !== undefined && (await keys.get?.(id)) !== undefined) throw taken(id);
  const issued = await issueUnlessTaken(keys, options);
  if (issued === undefined) throw taken(id ?? '');
  return issued;
}

/** Undefined if there is a key with this id. */
export async function issueUnlessTaken(
  keys: AdminKeyStore,
  options: IssueKeyOptions,
): Promise<IssuedKey | undefined> {
  try {
    return await keys.issue?.(options);
  } catch (error) {
    const isTaken = isConfigurationError(error) && / is taken\. /.test(error.message);
    if (isTaken && options.id !== undefined) return undefined;
    throw error;
  }
}

/** What `issueKey` does not check. */
export function newKeyProblem(
  { id, expiresAtMs }: { readonly id?: string; readonly expiresAtMs?: number | undefined },
  clock: Clock,
): AdminProblem | undefined {
  if (expiresAtMs !== undefined && expiresAtMs <= clock.now()) {
    return { field: 'expiresAtMs', message: 'expiresAtMs must be in the future.' };
  }
  // Such a key would be charged to the budget of an owner.
  const owners = ownerSubjectId('');
  if (id?.startsWith(owners)) {
    return { field: 'id', message: `id must not begin with "${owners}". Choose another one.` };
  }
  return idProblem(id);
}

/** HTTP clients resolve `..` and `../..` in a path, so what has this id could not be addressed. */
export function idProblem(id: string | undefined): AdminProblem | undefined {
  if (id === undefined || !/^\.+$/.test(id)) return undefined;
  return { field: 'id', message: 'id must not consist of dots only.' };
}

/** In a key store without owners, the owner of a key is a label. */
export async function ownerProblem(
  { stores: { keys } }: AdminDeps,
  owner: string | undefined,
): Promise<AdminProblem | undefined> {
  if (owner === undefined || keys.owners === undefined) return undefined;
  if ((await keys.owners.get(owner)) !== undefined) return undefined;
  return { field: 'owner', message: `There is no owner ${JSON.stringify(owner)}. Create it.` };
}

/** Changes a key, and makes the cache of this process forget it. */
export async function changeKey(deps: AdminDeps, id: string, change: KeyChange): Promise<ApiKey> {
  const { keys, keyCache } = deps.stores;
  if (keys.update === undefined) throw cannot('change keys');
  if (!(await keys.update(id, change))) throw noKey(id);
  keyCache?.forget(id);
  return keyOf(deps, id);
}

export function taken(id: string): AdminError {
  const message = `The id "${id}" is taken. Choose another one.`;
  return new AdminError('conflict', message, { field: 'id' });
}

/** Makes a function that runs a change after all its earlier ones of the same name. */
export function serialRunner() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(name: string, change: () => Promise<T>): Promise<T> => {
    const result = (last.get(name) ?? Promise.resolve()).then(change, change);
    last.set(name, result);
    const forget = (): void => {
      if (last.get(name) === result) last.delete(name);
    };
    result.then(forget, forget);
    return result;
  };
}

export function cannot(what: string): AdminError {
  return notSupported(
    `The key store can't ${what}.`,
    'Change keys where you keep them: in `keys.fixed`, or in your own tables, which are listed ' +
      'once your store has `get` and `page`. ' +
      keepInDatabase(
        'stores.keys',
        'a sqliteKeyStore or postgresKeyStore that createAdmin is given',
      ),
  );
}

export function noKey(id: string): AdminError {
  return new AdminError('not_found', `There is no key "${id.slice(0, 64)}".`);
}

export async function keyOf({ stores: { keys } }: AdminDeps, id: string): Promise<ApiKey> {
  if (keys.get === undefined) throw cannot('look keys up by their id');
  const key = await keys.get(id);
  if (key === undefined) throw noKey(id);
  return key;
}
