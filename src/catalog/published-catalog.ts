/**
 * A catalog stored as versions in a database. Publishing writes a new version, and every gateway
 * serves it once it polls the version number. An invalid version changes nothing.
 */
import { type Clock, systemClock } from '../clock.ts';
import { errorClass, isConfigurationError } from '../errors.ts';
import type { EventListener } from '../events/events.ts';
import { quietListener } from '../events/filter.ts';
import { warningListener } from '../host/warnings.ts';
import { parseJson } from '../json.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import type { PriceOfListed } from '../ports/models/listed-model.ts';
import { type CatalogTable, type CatalogVersions, catalogVersions } from './catalog-versions.ts';
import { credentialReader } from './credentials.ts';
import type { JsonSources } from './model-json.ts';
import { checkedModels } from './published-models.ts';
import { catalogOf, type StaticCatalog } from './static-catalog.ts';

/** How secrets are resolved, how new versions are reported, and how often the table is polled. */
export interface PublishedCatalogOptions {
  /** Resolves a `{ "name": "…" }` to its secret. Called once per name and version. */
  readonly credentials?: (name: string) => MaybePromise<string>;
  /** Has the prices of wildcards, such as `pricesFrom({ calcPrice })`. */
  readonly prices?: PriceOfListed;
  /** Receives `catalog_loaded` and `catalog_refused`. May be the gateway's own listener. */
  readonly onEvent?: EventListener;
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
  /** How often the version or the file is checked for changes. Default: every 2 s. */
  readonly pollMs?: number;
}

/** A {@link StaticCatalog} of the last valid version. */
export interface PublishedCatalog extends StaticCatalog, CatalogVersions {
  /** Stops polling. The last valid version is still served. */
  close(): void;
}

/**
 * A catalog that polls a table.
 *
 * @param maker the name of the function that makes the catalog, for events and error messages
 * @throws ConfigurationError that names the model and says how to fix it; StoreUnavailable
 */
export async function publishedCatalog(
  maker: string,
  table: CatalogTable,
  options: PublishedCatalogOptions,
): Promise<PublishedCatalog> {
  const { credentials, prices, pollMs = 2_000, clock = systemClock() } = options;
  const { onEvent = warningListener() } = options;
  const sources = (): JsonSources => ({
    credential: credentialReader({ credentials, allowSecretsInFile: false, clock }),
    prices,
  });
  const emit = quietListener(() => onEvent);
  let current = await readVersion(maker, table, sources());
  let polling: Promise<void> | undefined;
  let lastReported: string | undefined;

  const read = async (): Promise<void> => {
    if ((await table.version()) === current.version) return;
    current = await readVersion(maker, table, sources());
    lastReported = undefined;
    emit({ type: 'catalog_loaded', source: maker, models: current.count });
  };
  /** Reports a problem once; each poll tries again, since a missing secret may be added later. */
  const refuse = (error: unknown): void => {
    const reason = isConfigurationError(error) ? error.message : errorClass(error);
    if (lastReported !== reason) emit({ type: 'catalog_refused', source: maker, reason });
    lastReported = reason;
  };
  const poll = (): Promise<void> => {
    polling ??= read().finally(() => {
      polling = undefined;
    });
    return polling;
  };
  const close = clock.every(pollMs, () => {
    if (polling === undefined) poll().catch(refuse);
  });
  const serveNewest = async (): Promise<void> => {
    // A poll that was in flight may have read the version before.
    await polling?.catch(() => {});
    await poll();
  };

  return {
    find: (modelId) => current.catalog.find(modelId),
    list: (group, protocol) => current.catalog.list(group, protocol),
    models: () => current.catalog.models(),
    ...catalogVersions({ maker, table, sources, published: serveNewest }),
    close,
  };
}

interface Version {
  readonly version: bigint;
  readonly catalog: StaticCatalog;
  readonly count: number;
}

async function readVersion(
  maker: string,
  table: CatalogTable,
  sources: JsonSources,
): Promise<Version> {
  const { version, models: text } = (await table.read()) ?? { version: 0n, models: '[]' };
  const models = await checkedModels(maker, parseJson(text), sources);
  return { version, catalog: catalogOf(models), count: models.length };
}
