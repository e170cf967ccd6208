/**
 * Opens the databases and stores of a configuration for one command, with its models or the admin
 * library if it needs those, and closes them after it.
 */

import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Admin, type AdminOptions, createAdmin } from '../../admin/admin.ts';
import type { AdminCatalog } from '../../admin/deps.ts';
import type { CatalogTable } from '../../catalog/catalog-versions.ts';
import { credentialReader } from '../../catalog/credentials.ts';
import { modelsIn } from '../../catalog/json-file-catalog.ts';
import { modelsFrom } from '../../catalog/model-json.ts';
import { staticCatalog } from '../../catalog/static-catalog.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { ConfigurationError, isError } from '../../errors.ts';
import { thrownCode } from '../../events/thrown.ts';
import { createGateway } from '../../gateway.ts';
import { items, parseJson } from '../../json.ts';
import { StoreUnavailable } from '../../ports/call-options.ts';
import type { ClusterStore } from '../../ports/cluster-store.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import type { ListedModel } from '../../ports/models/listed-model.ts';
import { memoryQuotaStore } from '../../stores/memory/quota-store.ts';
import { postgresCatalogTable } from '../../stores/postgres/stores.ts';
import { sqliteCatalogTable } from '../../stores/sqlite/stores.ts';
import { CommandError, exitCodes, type Given, type Option } from '../command.ts';
import type { ServeConfig } from '../config/config.ts';
import { configFile, type ReadConfig } from '../config/read.ts';
import { type StoreChoice, storeChoice } from '../config/store-choice.ts';
import { auditTo, jsonLog } from '../log.ts';
import { reasonOf } from '../output.ts';
import {
  type DatabaseName,
  type Databases,
  type TriedDatabases,
  tryDatabases,
} from './databases.ts';
import { prepareTables } from './migrate.ts';
import { listedPrices } from './packages.ts';
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
type Need = keyof StoreChoice | 'catalog';

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

export const actorOption: Option = {
  value: 'NAME',
  text: 'who makes the change, for the audit trail; default: the user of this machine',
};

export function actorOf({ text, around }: Given): string {
  return text('actor') ?? around.user;
}

const storesOfReplies: readonly Need[] = ['results', 'responseIndex', 'items'];

export interface AdminNeeds {
  /** The task reads or changes balances. Others also run while the quota store is down. */
  readonly needsQuota?: boolean;
  /** The task deletes stored replies. */
  readonly forgets?: boolean;
  /** The task reads the usage log, if it can be opened. */
  readonly readsUsage?: boolean;
  /** The task switches channels in all processes. */
  readonly switches?: boolean;
}

/**
 * Runs a task with the admin library for keys and balances. Its gateway serves no call: the library
 * needs one to end holds and to switch channels.
 */
export function withAdmin(
  given: Given,
  task: (admin: Admin, open: OpenStores) => Promise<number>,
  { needsQuota = false, forgets = false, readsUsage = false, switches = false }: AdminNeeds = {},
): Promise<number> {
  const needs: readonly Need[] = [
    'keys',
    ...(forgets ? storesOfReplies : []),
    ...(switches ? (['cluster'] as const) : []),
  ];
  const run = async (open: OpenStores): Promise<number> => {
    const { clock, err } = given.around;
    const { keys } = open.stores;
    const quota = openQuota(open, err);
    const onAudit = auditTo(open.read.config.audit, dirname(open.path), jsonLog(err, clock));
    // The command itself reports failures, so the events are not needed.
    const onEvent = (): void => {};
    const cluster = switches ? shared(open.stores.cluster) : {};
    const own = { catalog: staticCatalog([]), onEvent, clock, ...cluster };
    const gateway = createGateway({ keys, quota, ...own });
    const replies = forgets ? { replyStores: open.stores.replyStores } : {};
    const catalog = await knownCatalog(open);
    const usage = readsUsage ? openUsage(open) : {};
    const stores = { keys, quota, catalog, usage, ...replies };
    const audit = auditOf(open, err);
    const admin = createAdmin({ gateway, ...stores, onAudit, ...audit, clock });
    try {
      return await task(admin, open);
    } finally {
      admin.close();
      await gateway.close();
    }
  };
  const optional: readonly Need[] = readsUsage ? ['usage'] : [];
  return needsQuota
    ? withStores(given, [...needs, 'quota'], run, [...optional, 'audit'])
    : withStores(given, needs, run, ['quota', ...optional, 'audit']);
}

/**
 * Where the changes of a command are recorded. A database that is down must not keep an operator
 * from making them.
 */
export function auditOf(
  { stores, failures }: OpenStores,
  err: (text: string) => void,
): Pick<AdminOptions, 'auditLog' | 'onAuditError'> {
  const { audit } = stores.choice;
  const onAuditError = (error: unknown): void =>
    err(`The audit trail could not be written (${reasonOf(error)}).\n`);
  const failure = audit === 'memory' ? undefined : failures.get(audit);
  if (failure !== undefined) onAuditError(failure);
  const auditLog = failure === undefined ? stores.auditLog : undefined;
  return { ...(auditLog === undefined ? {} : { auditLog }), onAuditError };
}

/** Without the log, nothing is known of when a key was used and why it was refused. */
function openUsage({ stores, failures }: OpenStores): object {
  const { usage } = stores.choice;
  return usage === 'memory' || failures.has(usage) ? {} : stores.usage;
}

/** Only processes that serve calls are replicas. */
function shared(cluster: ClusterStore | undefined): { readonly cluster?: ClusterStore } {
  return cluster === undefined
    ? {}
    : { cluster: { ...cluster, report: () => {}, leave: () => {} } };
}

/** A quota store that is down must not keep an operator from disabling a key. */
function openQuota({ stores, failures }: OpenStores, err: (text: string) => void): QuotaStore {
  const { quota } = stores.choice;
  const failure = quota === 'memory' ? undefined : failures.get(quota);
  if (failure === undefined) return stores.quota;
  err(`${isError(failure) ? `${failure.message} ` : ''}Balances are unknown.\n`);
  const fail = (): Promise<never> =>
    Promise.reject(new StoreUnavailable('The quota store is down.', { outcome: 'not_done' }));
  return { ...memoryQuotaStore(), read: fail, adjust: fail };
}

/** Keys can also be changed while the catalog can't be read; then nothing is said about groups. */
async function knownCatalog({ read, databases, path }: OpenStores): Promise<AdminCatalog> {
  const { store } = read.config.catalog;
  const isOpen = store === undefined || databases[store] !== undefined;
  const models = isOpen ? await allModels(read, databases, path).catch(() => undefined) : undefined;
  const { find, list, models: all } = staticCatalog(models ?? []);
  return models === undefined ? { find, list } : { find, list, models: all };
}

/**
 * All models, with the secrets of their channels.
 *
 * @param path of the configuration file
 * @throws ConfigurationError that names the model and says how to fix it; StoreUnavailable
 */
export async function allModels(
  { config, models }: ReadConfig,
  databases: Databases,
  path: string,
): Promise<readonly ListedModel[]> {
  if (models !== undefined) return models;
  const clock = systemClock();
  const { file } = config.catalog;
  const folder = dirname(path);
  if (file !== undefined) {
    return checked(modelsIn(await bytesAt(resolve(folder, file))), folder, clock);
  }
  const stored = await tableOf(config.catalog.store, databases, clock)?.read();
  return checked(items(parseJson(stored?.models ?? '[]')), folder, clock);
}

/** @throws ConfigurationError with the whole path, because a relative one begins at another file */
async function bytesAt(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new ConfigurationError(
      `catalog.file can't be read (${thrownCode(error)}): ${path}. Name a file of models.`,
    );
  }
}

export function tableOf(
  store: 'sqlite' | 'postgres' | undefined,
  { sqlite, postgres }: Databases,
  clock: Clock,
): CatalogTable | undefined {
  if (store === 'sqlite' && sqlite !== undefined) return sqliteCatalogTable(sqlite, clock);
  return postgres === undefined ? undefined : postgresCatalogTable(postgres);
}

async function checked(
  list: Parameters<typeof modelsFrom>[0],
  folder: string,
  clock: Clock,
): Promise<readonly ListedModel[]> {
  const secrets = { credentials: undefined, allowSecretsInFile: false, clock };
  const prices = await listedPrices(folder);
  return modelsFrom(list, { credential: credentialReader(secrets), prices });
}
