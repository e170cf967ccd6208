/** Removes keys, and what they own. */
import { type AdminDeps, given } from '../deps.ts';
import { cannot, keyOf, noKey } from './stored.ts';

const pageSize = 1_000;

/**
 * Disables the key, deletes what it owns, and removes it. If a store fails halfway, the key stays
 * disabled, and can be removed again.
 */
export async function removeKey(deps: AdminDeps, id: string): Promise<void> {
  const { keys, keyCache } = deps.stores;
  if (keys.remove === undefined) throw cannot('remove keys');
  if (deps.stores.replyStores.length > 0) await forgetReplies(deps, id);
  if (!(await keys.remove(id))) throw noKey(id);
  keyCache?.forget(id);
}

async function forgetReplies(deps: AdminDeps, id: string): Promise<void> {
  const { keys, keyCache } = deps.stores;
  const key = await keyOf(deps, id);
  // A new call must not store another reply; those that are running still may.
  if (!key.disabled) await keys.update?.(id, { disabled: true });
  keyCache?.forget(id);
  for (const owner of new Set([id, key.responseOwner ?? id])) {
    if (await hasOtherKey(deps, owner, id)) continue;
    for (const store of deps.stores.replyStores) {
      while (((await store.forgetOwner?.(owner)) ?? 0) > 0) {
        // Each batch is small, so that the store serves calls between two of them.
      }
    }
  }
}

/** Whether another key refers to the replies of this owner, page by page. */
async function hasOtherKey(
  { stores: { keys } }: AdminDeps,
  owner: string,
  id: string,
): Promise<boolean> {
  let after: string | undefined;
  do {
    const page = await keys.page?.({ limit: pageSize, ...given({ after }) });
    const others = page?.keys.filter((key) => key.id !== id) ?? [];
    if (others.some((key) => (key.responseOwner ?? key.id) === owner)) return true;
    after = page?.next;
  } while (after !== undefined);
  return false;
}
