/**
 * A catalog out of a JSON file that may change while the gateway runs: a good file takes the place
 * of the last good one at once, a bad one is told and changes nothing.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import { type EventListener, type GatewayEvent, quietListener } from '../../events.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { aClock, aFunction, checkMakerOptions, flag, text, wait } from '../../ports/set-up.ts';
import { catalogOf, type StaticCatalog } from '../memory/catalog.ts';
import { checkModels } from '../memory/check-models.ts';
import { modelsIn } from './catalog-text.ts';
import { type CredentialSources, credentialReader } from './credentials.ts';
import { type FileNews, fileWatch } from './file-watch.ts';
import { modelsFrom } from './model-json.ts';
import { disk } from './stable-read.ts';

/** Where the file is, and how its secrets are found. */
export interface JsonFileCatalogOptions {
  /** The file; may be a link, and may be replaced or written over at any time. */
  readonly path: string;
  /** The secret of a `{ "name": "…" }` in the file; asked once for each name when it is read. */
  readonly credentials?: (name: string) => MaybePromise<string>;
  /** Takes secrets that stand in the file itself. Files end up in repositories: off by default. */
  readonly allowSecretsInFile?: boolean;
  /** Hears `catalog_loaded` and `catalog_refused`; the gateway's own listener will do. */
  readonly onEvent?: EventListener;
  readonly clock?: Clock;
  /** How often the file is looked at; every 2 s where left out. */
  readonly pollMs?: number;
}

/** A {@link StaticCatalog} of what the file said when it was last good. */
export interface JsonFileCatalog extends StaticCatalog {
  /** Looks at the file no more; what was read last goes on being served. */
  close(): void;
}

const optionsSchema = z.strictObject(
  {
    path: text('must be the path of a file'),
    credentials: aFunction.optional(),
    allowSecretsInFile: flag.optional(),
    onEvent: aFunction.optional(),
    clock: aClock.optional(),
    pollMs: wait.optional(),
  } satisfies Record<keyof JsonFileCatalogOptions, z.ZodType>,
  'must be an object',
);

/**
 * A catalog of `{ "models": [ … ] }`, in the form of docs/catalog.md.
 *
 * @throws ConfigurationError that names the option, or the place in the file, and the cure
 */
export async function jsonFileCatalog(options: JsonFileCatalogOptions): Promise<JsonFileCatalog> {
  checkMakerOptions('jsonFileCatalog', optionsSchema, options, {
    path: 'Give it the file to read',
  });
  const { path, credentials, allowSecretsInFile = false, onEvent, pollMs = 2_000 } = options;
  const clock = options.clock ?? systemClock();
  const sources = { credentials, allowSecretsInFile, clock };
  const watch = await fileWatch(path, (bytes) => modelsOf(bytes, sources), disk);
  const emit = quietListener(() => onEvent);
  let isLooking = false;

  const look = async (): Promise<void> => {
    isLooking = true;
    const news = await watch.look();
    isLooking = false;
    if (news !== undefined) emit(eventOf(basename(path), news));
  };
  const close = clock.every(pollMs, () => {
    if (!isLooking) void look();
  });

  return {
    find: (modelId) => watch.current().catalog.find(modelId),
    list: (group, protocol) => watch.current().catalog.list(group, protocol),
    close,
  };
}

/** What a good file holds. */
interface Models {
  readonly catalog: StaticCatalog;
  readonly count: number;
}

async function modelsOf(bytes: Buffer, sources: CredentialSources): Promise<Models> {
  const models = await modelsFrom(modelsIn(bytes), credentialReader(sources));
  checkModels(models);
  return { catalog: catalogOf(models), count: models.length };
}

function eventOf(source: string, news: Exclude<FileNews<Models>, undefined>): GatewayEvent {
  return news.type === 'loaded'
    ? { type: 'catalog_loaded', source, models: news.value.count }
    : { type: 'catalog_refused', source, reason: news.reason };
}
