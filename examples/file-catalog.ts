/** A gateway whose models are in a JSON file, which may change while it runs. */
import {
  createGateway,
  type EventListener,
  type Gateway,
  type JsonFileCatalog,
  type JsonFileCatalogOptions,
  jsonFileCatalog,
  type KeyStore,
  memoryQuotaStore,
} from 'tollgate';

/** The gateway, and the catalog, which is closed after it. */
export interface FileGateway {
  readonly gateway: Gateway;
  readonly catalog: JsonFileCatalog;
}

/** Describes a version of the file in a line: an invalid one with its error and how to fix it. */
export function lineWriter(write: (line: string) => void): EventListener {
  return (event) => {
    if (event.type === 'catalog_refused') write(`${event.reason} The previous models stay in use.`);
    if (event.type === 'catalog_loaded') write(`${event.models} models from ${event.source}.`);
  };
}

/** Rejects if the file is invalid at start; `models.json` in this folder is a valid one. */
export async function fileGateway(
  keys: KeyStore,
  options: JsonFileCatalogOptions,
): Promise<FileGateway> {
  const catalog = await jsonFileCatalog(options);
  const { onEvent = () => {} } = options;
  const gateway = createGateway({ keys, catalog, onEvent, quota: memoryQuotaStore() });
  return { gateway, catalog };
}
