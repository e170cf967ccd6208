/** Opens the admin library on the stores of a configuration, for one command. */
import { dirname } from 'node:path';
import { type Admin, createAdmin } from '../admin/admin.ts';
import type { AdminCatalog } from '../admin/deps.ts';
import { createGateway } from '../gateway.ts';
import { staticCatalog } from '../stores/memory/catalog.ts';
import { auditTo } from './audit.ts';
import type { Given, Option } from './command.ts';
import { jsonLog } from './log.ts';
import { allModels } from './models.ts';
import { type Need, type OpenStores, withStores } from './with-stores.ts';

/** Who makes a change, for the audit trail. */
export const actorOption: Option = {
  value: 'NAME',
  text: 'who makes the change, for the audit trail; default: the user of this machine',
};

/** The actor of this command. */
export function actorOf({ text, around }: Given): string {
  return text('actor') ?? around.user;
}

const keyStores: readonly Need[] = ['keys', 'quota'];
const storesOfReplies: readonly Need[] = ['results', 'responseIndex', 'items'];

/**
 * Runs a task with the admin library for keys and balances; with `forgets` also for stored replies.
 * Its gateway serves no call: the library needs one to end holds and to switch channels.
 */
export function withAdmin(
  given: Given,
  task: (admin: Admin, open: OpenStores) => Promise<number>,
  { forgets = false }: { readonly forgets?: boolean } = {},
): Promise<number> {
  const needs: readonly Need[] = forgets ? [...keyStores, ...storesOfReplies] : keyStores;
  return withStores(given, needs, async (open) => {
    const { clock, err } = given.around;
    const { keyTable: keys, quota } = open.stores;
    const onAudit = auditTo(open.read.config.audit, dirname(open.path), jsonLog(err, clock));
    // The command itself reports failures, so the events are not needed.
    const onEvent = (): void => {};
    const gateway = createGateway({ keys, quota, catalog: staticCatalog([]), onEvent, clock });
    const replies = forgets ? { replyStores: open.stores.replyStores } : {};
    const catalog = await knownCatalog(open);
    const admin = createAdmin({ gateway, keys, quota, catalog, ...replies, onAudit, clock });
    try {
      return await task(admin, open);
    } finally {
      admin.close();
      await gateway.close();
    }
  });
}

/** Keys can also be changed while the catalog can't be read; then nothing is said about groups. */
async function knownCatalog({ read, databases, path }: OpenStores): Promise<AdminCatalog> {
  const { store } = read.config.catalog;
  const isOpen = store === undefined || databases[store] !== undefined;
  const models = isOpen ? await allModels(read, databases, path).catch(() => undefined) : undefined;
  const { find, list, models: all } = staticCatalog(models ?? []);
  return models === undefined ? { find, list } : { find, list, models: all };
}
