/**
 * A catalog from a JSON file that may change while the gateway runs. A valid new version replaces
 * the current one; an invalid version is reported and changes nothing.
 */

import { basename } from 'node:path';
import type { z } from 'zod';
import { systemClock } from '../clock.ts';
import { ConfigurationError } from '../errors.ts';
import type { GatewayEvent } from '../events/events.ts';
import { quietListener } from '../events/filter.ts';
import { disk, type FileChange, fileWatch } from '../files/file-watch.ts';
import { scanFile } from '../files/json-text.ts';
import { warningListener } from '../host/warnings.ts';
import { items, type JsonValue, member, parseJson } from '../json.ts';
import type { PriceOfListed } from '../ports/models/listed-model.ts';
import { checkMakerOptions, flag, strict, text } from '../ports/set-up.ts';
import { type CredentialSources, credentialReader } from './credentials.ts';
import { modelsFrom } from './model-json.ts';
import type { PublishedCatalogOptions } from './published-catalog.ts';
import { publishedCatalogShape } from './published-catalog-options.ts';
import { catalogOf, type StaticCatalog } from './static-catalog.ts';

/** The file, how its secrets are resolved, and how often it is checked. */
export interface JsonFileCatalogOptions extends PublishedCatalogOptions {
  /**
   * Path of the file. It may be a symbolic link, and may be replaced or overwritten at any time.
   */
  readonly path: string;
  /** Accepts secrets in the file itself. Off by default, since files end up in repositories. */
  readonly allowSecretsInFile?: boolean;
}

/** A {@link StaticCatalog} of the last valid version of the file. */
export interface JsonFileCatalog extends StaticCatalog {
  /** Stops checking the file. The last valid version is still served. */
  close(): void;
}

const optionsSchema = strict('must be an object', {
  path: text('must be the path of a file'),
  allowSecretsInFile: flag.optional(),
  ...publishedCatalogShape,
} satisfies Record<keyof JsonFileCatalogOptions, z.ZodType>);

/**
 * A catalog of `{ "models": [ … ] }`, in the form of docs/catalog.md.
 *
 * @throws ConfigurationError that names the option, or where the file is wrong, and how to fix it
 */
export async function jsonFileCatalog(options: JsonFileCatalogOptions): Promise<JsonFileCatalog> {
  checkMakerOptions('jsonFileCatalog', optionsSchema, options, {
    path: 'Give it the file to read',
  });
  const { path, credentials, prices, allowSecretsInFile = false, pollMs = 2_000 } = options;
  const { onEvent = warningListener() } = options;
  const clock = options.clock ?? systemClock();
  const sources = { credentials, allowSecretsInFile, clock };
  const names = { reader: 'jsonFileCatalog: ' };
  const read = (bytes: Buffer): Promise<Models> => modelsOf(bytes, sources, prices);
  const watch = await fileWatch(path, read, disk, names);
  const emit = quietListener(() => onEvent);
  let isPolling = false;

  const poll = async (): Promise<void> => {
    isPolling = true;
    const change = await watch.poll();
    isPolling = false;
    if (change !== undefined) emit(eventOf(basename(path), change));
  };
  const close = clock.every(pollMs, () => {
    if (!isPolling) void poll();
  });

  return {
    find: (modelId) => watch.current().catalog.find(modelId),
    list: (group, protocol) => watch.current().catalog.list(group, protocol),
    models: () => watch.current().catalog.models(),
    close,
  };
}

interface Models {
  readonly catalog: StaticCatalog;
  readonly count: number;
}

async function modelsOf(
  bytes: Buffer,
  sources: CredentialSources,
  prices: PriceOfListed | undefined,
): Promise<Models> {
  const credential = credentialReader(sources);
  const models = await modelsFrom(modelsIn(bytes), { credential, prices });
  return { catalog: catalogOf(models), count: models.length };
}

/**
 * The models of `{ "models": [ … ] }`, as parsed JSON.
 *
 * @param others members that it may have besides
 * @throws ConfigurationError that says where the text is wrong and how to fix it
 */
export function modelsIn(bytes: Uint8Array, others: readonly string[] = []): readonly JsonValue[] {
  for (const name of scanFile(bytes, '{ "models": [ … ] }')) {
    if (name === 'models' || others.includes(name)) continue;
    throw new ConfigurationError(`${JSON.stringify(name)} does not exist. Keep "models" alone.`);
  }
  const models = member(parseJson(Buffer.from(bytes).toString()), 'models');
  if (Array.isArray(models)) return items(models);
  throw new ConfigurationError('models must be a list. Write { "models": [ … ] }.');
}

function eventOf(source: string, change: Exclude<FileChange<Models>, undefined>): GatewayEvent {
  return change.type === 'loaded'
    ? { type: 'catalog_loaded', source, models: change.value.count }
    : { type: 'catalog_refused', source, reason: change.reason };
}
