/** Opens the databases and stores of a configuration for one command, and closes them after it. */
import { dirname } from 'node:path';
import { CommandError, exitCodes, type Given } from './command.ts';
import type { ServeConfig } from './config/config.ts';
import type { ReadConfig } from './config/read.ts';
import { type StoreChoice, storeChoice } from './config/store-choice.ts';
import { configFile } from './config-file.ts';
import {
  type DatabaseName,
  type Databases,
  type TriedDatabases,
  tryDatabases,
} from './databases.ts';
import { prepareTables } from './migrate.ts';
import { makeStores, type Stores } from './stores.ts';

export interface OpenStores {
  readonly read: ReadConfig;
  readonly path: string;
  readonly databases: Databases;
  readonly stores: Stores;
  /** The optional databases that could not be opened, and why. */
  readonly failures: TriedDatabases['failures'];
}

/** A store that a command uses. Databases that keep none of its stores may be down. */
export type Need = keyof StoreChoice | 'catalog';

/**
 * Runs a task on stores of the configuration, after updating their tables if it says so.
 *
 * @param needs the stores that the task uses; another one throws
 * @param optional stores that the task uses if their database can be opened
 */
export async function withStores<T>(
  given: Given,
  needs: readonly Need[],
  task: (open: OpenStores) => Promise<T>,
  optional: readonly Need[] = [],
): Promise<T> {
  const { path, open } = configFile(given);
  const read = (await open()).current();
  const required = databasesFor(needs, read.config);
  const wanted = databasesFor([...needs, ...optional], read.config);
  const tried = await tryDatabases(read.config.stores ?? {}, dirname(path), wanted);
  const { databases, failures } = tried;
  try {
    for (const [name, error] of failures) if (required.has(name)) throw error;
    await prepareTables(read.config, databases);
    const stores = makeStores(read.config, databases, given.around.clock);
    return await task({ read, path, databases, stores, failures });
  } finally {
    await databases.close();
  }
}

function databasesFor(
  needs: readonly Need[],
  { stores, catalog }: ServeConfig,
): ReadonlySet<DatabaseName> {
  const choice = storeChoice(stores);
  const names = needs.map((need) => (need === 'catalog' ? catalog.store : choice[need]));
  return new Set(names.filter((name) => name !== undefined && name !== 'memory'));
}

/** @throws CommandError if the store is in the memory of another process */
export function refuseMemory(store: string, what: string): void {
  if (store !== 'memory') return;
  throw new CommandError(
    exitCodes.usage,
    `${what} are kept in the memory of the gateway's process, where no command can reach them. ` +
      'Configure stores.sqlite or stores.postgres.',
  );
}
