/** Runs a command on the versions of a catalog in a database, with the admin library over them. */
import { dirname } from 'node:path';
import { type Admin, createAdmin } from '../../admin/admin.ts';
import { catalogVersions, readReference } from '../../catalog/catalog-versions.ts';
import { credentialReader } from '../../catalog/credentials.ts';
import { staticCatalog } from '../../catalog/static-catalog.ts';
import { createGateway } from '../../gateway.ts';
import { memoryKeyStore } from '../../stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../stores/memory/quota-store.ts';
import { CommandError, exitCodes, type Given, type Option } from '../command.ts';
import { auditTo, jsonLog } from '../log.ts';
import { listedPrices } from './packages.ts';
import { auditOf, type OpenStores, tableOf, withStores } from './with-stores.ts';

export const skipSecretsOption: Option = {
  text: 'do not check that the secrets exist here, such as on a machine that has none of them',
};

/** @throws CommandError if the catalog is in a file or in the configuration */
export function withCatalog(
  given: Given,
  task: (catalog: Admin['catalog']) => Promise<void>,
): Promise<number> {
  return withStores(
    given,
    ['catalog'],
    async (open) => {
      const { admin, close } = await adminOver(open, given);
      try {
        await task(admin.catalog);
        return exitCodes.done;
      } finally {
        await close();
      }
    },
    ['audit'],
  );
}

async function adminOver(open: OpenStores, { around, has }: Given) {
  const { read, databases, path } = open;
  const { clock, err } = around;
  const table = tableOf(read.config.catalog.store, databases, clock);
  if (read.config.catalog.store === undefined || table === undefined) {
    throw new CommandError(
      exitCodes.usage,
      'This catalog has no versions: it is in the configuration or in a file, so change it there. ' +
        'With catalog.store, "sqlite" or "postgres", a database keeps it.',
    );
  }
  const prices = await listedPrices(dirname(path));
  const reader = () =>
    has('skip-secrets')
      ? readReference
      : credentialReader({ credentials: undefined, allowSecretsInFile: false, clock });
  const versions = catalogVersions({
    maker: 'catalog',
    table,
    sources: () => ({ credential: reader(), prices }),
  });
  // It serves no call: the admin library needs a gateway for what these commands don't do.
  const [keys, quota] = [memoryKeyStore(), memoryQuotaStore({ clock })];
  const none = staticCatalog([]);
  const gateway = createGateway({ keys, quota, catalog: none, onEvent: () => {}, clock });
  const admin = createAdmin({
    ...{ gateway, keys, quota, clock, ...auditOf(open, err) },
    catalog: { find: none.find, list: none.list, ...versions },
    onAudit: auditTo(read.config.audit, dirname(path), jsonLog(err, clock)),
  });
  const close = async (): Promise<void> => {
    admin.close();
    await gateway.close();
  };
  return { admin, close };
}
