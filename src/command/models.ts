/** The models of a configuration as a list, for the commands that need all of them. */

import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { credentialReader } from '../catalog/credentials.ts';
import { modelsIn } from '../catalog/json-file-catalog.ts';
import { modelsFrom } from '../catalog/model-json.ts';
import type { CatalogTable } from '../catalog/published-catalog.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ConfigurationError } from '../errors.ts';
import { items, parseJson } from '../json.ts';
import type { Model } from '../ports/catalog.ts';
import { postgresCatalogTable } from '../stores/postgres/catalog.ts';
import { sqliteCatalogTable } from '../stores/sqlite/catalog.ts';
import { thrownCode } from '../thrown.ts';
import type { ReadConfig } from './config/read.ts';
import type { Databases } from './stores/databases.ts';

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
): Promise<readonly Model[]> {
  if (models !== undefined) return models;
  const clock = systemClock();
  const { file } = config.catalog;
  if (file !== undefined) {
    return checked(modelsIn(await bytesAt(resolve(dirname(path), file))), clock);
  }
  const stored = await tableOf(config.catalog.store, databases, clock)?.read();
  return checked(items(parseJson(stored?.models ?? '[]')), clock);
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

function tableOf(
  store: 'sqlite' | 'postgres' | undefined,
  { sqlite, postgres }: Databases,
  clock: Clock,
): CatalogTable | undefined {
  if (store === 'sqlite' && sqlite !== undefined) return sqliteCatalogTable(sqlite, clock);
  return postgres === undefined ? undefined : postgresCatalogTable(postgres);
}

async function checked(
  list: Parameters<typeof modelsFrom>[0],
  clock: Clock,
): Promise<readonly Model[]> {
  const sources = { credentials: undefined, allowSecretsInFile: false, clock };
  return modelsFrom(list, credentialReader(sources));
}
