/** Opens the databases and stores of a configuration for one command, and closes them after it. */
import { dirname } from 'node:path';
import { CommandError, exitCodes, type Given } from './command.ts';
import type { ReadConfig } from './config/read.ts';
import { configFile } from './config-file.ts';
import { type Databases, openDatabases } from './databases.ts';
import { prepareTables } from './prepare-tables.ts';
import { makeStores, type Stores } from './stores.ts';

/** What a command works on. */
export interface OpenStores {
  readonly read: ReadConfig;
  readonly path: string;
  readonly databases: Databases;
  readonly stores: Stores;
}

/** Runs a task over the stores of the configuration, whose tables are updated if it says so. */
export async function withStores<T>(
  given: Given,
  task: (open: OpenStores) => Promise<T>,
  { asFound = false }: { readonly asFound?: boolean } = {},
): Promise<T> {
  const { path, open } = configFile(given);
  const read = (await open()).current();
  const databases = await openDatabases(read.config.stores ?? {}, dirname(path));
  try {
    if (!asFound) await prepareTables(read.config, databases);
    const stores = makeStores(read.config, databases, given.around.clock);
    return await task({ read, path, databases, stores });
  } finally {
    await databases.close();
  }
}

/** @throws CommandError if it is kept in the memory of another process */
export function refuseMemory(store: string, what: string): void {
  if (store !== 'memory') return;
  throw new CommandError(
    exitCodes.usage,
    `${what} are kept in the memory of the gateway's process, where no command can reach them. ` +
      'Configure stores.sqlite or stores.postgres.',
  );
}
