/** A gateway whose models stand in a JSON file, which may change while it runs. */
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

/** The gateway, and the catalog to close after it. */
export interface FileGateway {
  readonly gateway: Gateway;
  readonly catalog: JsonFileCatalog;
}

/** Says in a line what became of the file; of a bad one, the place and the cure. */
export function lineWriter(write: (line: string) => void): EventListener {
  return (event) => {
    if (event.type === 'catalog_refused') write(`${event.reason} The old models go on.`);
    if (event.type === 'catalog_loaded') write(`${event.models} models from ${event.source}.`);
  };
}

/** Rejects where the file is not good to begin with; `models.json` beside this file is. */
export async function fileGateway(
  keys: KeyStore,
  options: JsonFileCatalogOptions,
): Promise<FileGateway> {
  const catalog = await jsonFileCatalog(options);
  const { onEvent = () => {} } = options;
  const gateway = createGateway({ keys, catalog, onEvent, quota: memoryQuotaStore() });
  return { gateway, catalog };
}
