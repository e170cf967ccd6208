/**
 * Creates the gateway of a configuration with its databases, stores, catalog and options, and tells
 * it the address of each caller.
 */
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { dirname, resolve } from 'node:path';
import { type AdminCatalog, given as stated } from '../../admin/deps.ts';
import { jsonFileCatalog } from '../../catalog/json-file-catalog.ts';
import { staticCatalog } from '../../catalog/static-catalog.ts';
import { type CallEnding, type ChargePolicy, chargePolicy } from '../../charge-policy.ts';
import type { Clock } from '../../clock.ts';
import type { EventListener } from '../../events/events.ts';
import { createGateway, type Gateway } from '../../gateway.ts';
import type { GatewayOptions } from '../../gateway-options.ts';
import { notify } from '../../notify/notify.ts';
import type { NotifyOptions } from '../../notify/options.ts';
import type { FailedKeyLimit } from '../../ports/keys/failed-key-limit.ts';
import type { Catalog } from '../../ports/models/catalog.ts';
import type { ListedModel } from '../../ports/models/listed-model.ts';
import { postgresCatalog } from '../../stores/postgres/stores.ts';
import { sqliteCatalog } from '../../stores/sqlite/stores.ts';
import type { FailedKeyLimitConfig, NotifyConfig, ServeConfig } from '../config/config.ts';
import type { ReadConfig } from '../config/read.ts';
import { type Databases, openDatabases } from '../stores/databases.ts';
import { prepareTables } from '../stores/migrate.ts';
import { listedPrices } from '../stores/packages.ts';
import { makeStores, type Stores } from '../stores/stores.ts';
import type { Losses } from './losses.ts';

export interface OpenGateway {
  readonly gateway: Gateway;
  readonly stores: Stores;
  readonly catalog: OpenCatalog;
  /** Closes what the gateway uses; close the gateway first. */
  close(): Promise<void>;
}

interface OpenOptions {
  /** The path of the configuration file; relative paths are resolved against its folder. */
  readonly path: string;
  readonly clock: Clock;
  readonly losses: Losses;
}

/** Opens everything that a configuration names; if that fails, nothing stays open. */
export async function openGateway(read: ReadConfig, options: OpenOptions): Promise<OpenGateway> {
  const { config } = read;
  const folder = dirname(options.path);
  const databases = await openDatabases(config.stores ?? {}, folder, undefined, true);
  try {
    await prepareTables(config, databases);
    const { losses, clock } = options;
    const stores = makeStores(config, databases, clock, losses.usageLog);
    const catalog = await openCatalog(read, databases, options);
    const gateway = createGateway({
      ...gatewayOptions(config, stores, losses.onEvent),
      catalog: catalog.current(),
      clock,
      ...stated({ cluster: stores.cluster }),
    });
    await gateway.ready();
    const reporting = losses.around(gateway);
    for (const endpoint of config.notify ?? []) notify(reporting, notifyOptions(endpoint, clock));
    return {
      gateway: reporting,
      stores,
      catalog,
      close: async () => {
        catalog.close();
        await databases.close();
      },
    };
  } catch (error) {
    await databases.close();
    throw error;
  }
}

export function notifyOptions(endpoint: NotifyConfig, clock: Clock): NotifyOptions {
  const { url, secret, ...rest } = endpoint;
  return { url, secret, ...stated(rest), clock };
}

export function gatewayOptions(
  {
    gateway: { responses, chargePolicy: rules, failedKeyLimit: failed, recordRefusals, ...options },
    log: { level },
  }: ServeConfig,
  stores: Stores,
  listener: EventListener,
): Omit<GatewayOptions, 'catalog'> {
  const { keys, quota, usage, idempotency, rateLimiter, results } = stores;
  return {
    ...stated(options),
    ...{ keys, quota, usage, idempotency, results },
    // What the log leaves out need not be created; warnings that nobody gets would go to stderr.
    onEvent: { listener, level: level === 'debug' || level === 'info' ? level : 'warn' },
    responses: stated({ ...responses, ...stores.responses }),
    ...stated({
      rateLimiter,
      recordRefusals: recordRefusals ? usage : undefined,
      chargePolicy: rules && policyWith(rules),
      failedKeyLimit: failed && failedKeyLimit(failed),
    }),
  };
}

function policyWith(rules: NonNullable<ServeConfig['gateway']['chargePolicy']>): ChargePolicy {
  const of = (ending: CallEnding): ChargePolicy[CallEnding] => ({
    ...chargePolicy[ending],
    ...stated(rules[ending] ?? {}),
  });
  return {
    not_run: of('not_run'),
    complete: of('complete'),
    truncated: of('truncated'),
    still_running: of('still_running'),
    failed: of('failed'),
    broken: of('broken'),
    left_early: of('left_early'),
    left: of('left'),
    cut: of('cut'),
  };
}

interface OpenCatalog {
  readonly current: () => AdminCatalog;
  /** The catalog for the admin library, which always reads the current one. */
  readonly forAdmin: AdminCatalog;
  /** Applies the models of a changed configuration, and returns the catalog for the gateway. */
  replace(models: readonly ListedModel[]): Catalog;
  close(): void;
}

async function openCatalog(
  { config, models }: ReadConfig,
  { sqlite, postgres }: Databases,
  { path, losses, clock }: OpenOptions,
): Promise<OpenCatalog> {
  const { file, store } = config.catalog;
  const folder = dirname(path);
  const prices = await listedPrices(folder);
  const options = { onEvent: losses.emit, clock, ...stated({ prices }) };
  if (file !== undefined) {
    return closable(await jsonFileCatalog({ ...options, path: resolve(folder, file) }));
  }
  if (store === 'sqlite' && sqlite !== undefined) {
    return closable(await sqliteCatalog({ ...options, client: sqlite }));
  }
  if (store === 'postgres' && postgres !== undefined) {
    return closable(await postgresCatalog({ ...options, ...postgres }));
  }
  return catalogInFile(models ?? []);
}

function closable(catalog: AdminCatalog & { close(): void }): OpenCatalog {
  return {
    current: () => catalog,
    forAdmin: catalog,
    replace: () => catalog,
    close: () => catalog.close(),
  };
}

/** Each change makes a new catalog, so that the gateway forgets the health of the old channels. */
function catalogInFile(models: readonly ListedModel[]): OpenCatalog {
  let catalog = staticCatalog(models);
  return {
    current: () => catalog,
    forAdmin: {
      find: (id) => catalog.find(id),
      list: (group, protocol) => catalog.list(group, protocol),
      models: () => catalog.models(),
    },
    replace: (changed) => {
      catalog = staticCatalog(changed);
      return catalog;
    },
    close: () => {},
  };
}

/** Set by `serve` itself, in place of what the caller sent under this name. */
const header = 'x-tollgate-caller-address';

export function failedKeyLimit({
  perMinute,
}: Pick<FailedKeyLimitConfig, 'perMinute'>): FailedKeyLimit {
  return {
    addressOf: ({ headers }) => {
      const address = headers[header];
      return typeof address === 'string' ? address : undefined;
    },
    perMinute,
  };
}

export function setCallerAddress(
  request: IncomingMessage,
  { proxies }: Pick<FailedKeyLimitConfig, 'proxies'> = { proxies: 0 },
): void {
  const address = addressOf(request, proxies);
  if (address === undefined) delete request.headers[header];
  else request.headers[header] = network(address);
}

/**
 * The address of the caller. Each proxy appends the address that it sees, so the caller's is number
 * `proxies` from the end; the caller may have invented those before it. With a shorter list, the
 * request did not pass all proxies, and the address of the socket counts.
 */
function addressOf({ headers, socket }: IncomingMessage, proxies: number): string | undefined {
  const added = headers['x-forwarded-for'];
  const list = (Array.isArray(added) ? added.join(',') : (added ?? '')).split(',');
  const named = proxies === 0 ? undefined : list.at(-proxies)?.trim();
  return named === undefined || named === '' ? socket.remoteAddress : withoutPort(named);
}

/** Some proxies append the port, which is another one for each connection. */
function withoutPort(named: string): string {
  const bare = named.replaceAll('"', '');
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\w+)?$/.exec(bare) ?? [];
  return bracketed ?? plain ?? bare;
}

/** An IPv6 caller often has a whole /64 network, so all its addresses count as one. */
function network(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  const groups = [...first, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
