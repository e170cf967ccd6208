/** The admin library: everything that operators do, on top of the host's stores. */
import { z } from 'zod';
import { type Clock, systemClock } from '../clock.ts';
import type { Gateway } from '../gateway.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { QuotaStore } from '../ports/limits/quota-store.ts';
import {
  aClock,
  aCurrency,
  aFunction,
  aTimeZone,
  checkMakerOptions,
  methods,
  strict,
  text,
} from '../ports/set-up.ts';
import { type Audit, type AuditListener, auditTrail } from './audit/audit.ts';
import { type AdminCalls, adminCalls } from './calls/calls.ts';
import { type AdminRefusals, adminRefusals } from './calls/refusals.ts';
import { type AdminCatalogs, adminCatalogs } from './catalog/catalog.ts';
import { type AdminChannels, adminChannels } from './channels/channels.ts';
import type {
  AdminCatalog,
  AdminDeps,
  AdminKeyCache,
  AdminKeyStore,
  AdminOwnedStore,
  AdminUsage,
} from './deps.ts';
import { type AdminKeys, adminKeys } from './keys/keys.ts';
import { type AdminOwners, adminOwners } from './keys/owners.ts';
import { adminNames, type ReadNames } from './names.ts';
import { liveFigures, liveTypes } from './now/live.ts';
import { adminNow, type ReadNow } from './now/now.ts';
import { type AdminUsageReports, adminUsage } from './usage/usage.ts';

/** The gateway and the host's stores. */
export interface AdminOptions {
  /** The gateway whose calls and channels are shown. */
  readonly gateway: Gateway;
  /** The key store itself, not a cache in front of it. */
  readonly keys: AdminKeyStore;
  /**
   * The `cachedKeyStore` in front of it, if the gateway uses one, so that a change takes effect in
   * this process at once.
   */
  readonly keyCache?: AdminKeyCache;
  /** The quota store of the gateway: for balances, top-ups and calls in doubt. */
  readonly quota: QuotaStore;
  /** The usage sink. Reports need one for memory or a database. */
  readonly usage?: object;
  /** The gateway's catalog. */
  readonly catalog?: AdminCatalog;
  /**
   * The item store, the response index and the result store of the gateway, if it has them: when a
   * key is removed, its entries are deleted there too. Default: none; the entries expire.
   */
  readonly replyStores?: readonly AdminOwnedStore[];
  /** Receives an audit entry for each change, including those that fail or are refused. */
  readonly onAudit?: AuditListener;
  /**
   * Keeps the audit entries, for {@link Admin.audit} and the console: `sqliteAuditLog`,
   * `postgresAuditLog`. Default: the latest 1,000 of this process, in memory.
   */
  readonly auditLog?: AuditLog;
  /** Receives the errors of `auditLog`. The changes are made anyway. */
  readonly onAuditError?: (error: unknown) => void;
  /** The name of this gateway, for people. Default: `Tollgate`. */
  readonly title?: string;
  /** The ISO 4217 code of the currency of all amounts: `USD`. Default: amounts without a name. */
  readonly currency?: string;
  /**
   * The IANA name of the time zone of the times in the console: `Europe/Berlin`. Default: that of
   * the browser. Days, months and budgets are always those of UTC.
   */
  readonly timeZone?: string;
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
}

/** What this host's stores can do. */
export interface AdminCapabilities {
  /** The key store can list keys (`page`). */
  readonly listKeys: boolean;
  /** The key store can issue keys (`issue`). */
  readonly issueKeys: boolean;
  /** The key store can change keys (`update`). */
  readonly changeKeys: boolean;
  /** The key store can remove keys (`remove`). */
  readonly removeKeys: boolean;
  /** The key store has owners. */
  readonly listOwners: boolean;
  /** Owners can be created and edited. */
  readonly changeOwners: boolean;
  /** The usage log can sum up calls. */
  readonly usageReports: boolean;
  /** The usage log can list single calls. */
  readonly usageRecords: boolean;
  /** Refused requests are counted in a log that can be queried. */
  readonly refusalReports: boolean;
  /** The catalog can list its models. */
  readonly listModels: boolean;
  /** Weights, priorities and costs of channels can be changed for all processes. */
  readonly changeChannels: boolean;
  /** The catalog keeps versions, and the prices of models can be changed for all processes. */
  readonly changePrices: boolean;
  /** A switch of a channel holds in all replicas; otherwise in this process, until it ends. */
  readonly switchEverywhere: boolean;
}

/**
 * Everything that operators do. Methods that change something take the name of the actor first, and
 * write an entry of the audit trail. They throw an `AdminError`.
 */
export interface Admin {
  /** The option `title`: what the console is called. */
  readonly title: string;
  /** The option `currency`, an ISO 4217 code. */
  readonly currency: string | undefined;
  /** The option `timeZone`, an IANA name. */
  readonly timeZone: string | undefined;
  /** What this host's stores can do. */
  readonly capabilities: AdminCapabilities;
  /**
   * How long another process may serve a changed key from its cache, in ms; undefined if unknown.
   */
  readonly keyCacheMs: number | undefined;
  /** The clock that reports and limits of time go by. */
  readonly clock: Clock;
  /** Issues, lists and changes keys. */
  readonly keys: AdminKeys;
  /** Creates, lists and changes owners of keys. */
  readonly owners: AdminOwners;
  /** Lists calls, and ends those in doubt. */
  readonly calls: AdminCalls;
  /** Sums up calls by key, model, day and more. */
  readonly usage: AdminUsageReports;
  /** Counts refused requests by reason. */
  readonly refusals: AdminRefusals;
  /** Shows, tests and switches upstream accounts. */
  readonly channels: AdminChannels;
  /** Publishes models, and compares versions of them. */
  readonly catalog: AdminCatalogs;
  /** What there is to choose from, for fields that complete names. */
  readonly names: ReadNames;
  /** The current state of this process; longer ranges come from the usage log. */
  readonly now: ReadNow;
  /** Who has changed what. */
  readonly audit: Audit;
  /** Whether this library, or its gateway, is closed or being closed. */
  isClosing(): boolean;
  /**
   * Stops watching the gateway, and ends all event streams within 2 s, as closing the gateway does.
   * The library still works, but its live figures no longer change.
   */
  close(): void;
}

const replyStore = z.custom<AdminOwnedStore>(
  (value) => typeof value === 'object' && value !== null,
  'must be a store',
);

const optionsSchema = strict('must be an object', {
  gateway: methods(
    'subscribe',
    'status',
    'channels',
    'cluster',
    'switchChannel',
    'testChannel',
    'resolveUnknown',
  ),
  keys: methods('find'),
  keyCache: methods('forget').optional(),
  quota: methods('read', 'adjust'),
  usage: z
    .custom((value) => typeof value === 'object' && value !== null, 'must be a sink')
    .optional(),
  catalog: methods('find', 'list').optional(),
  replyStores: z.array(replyStore, 'must be a list of stores').optional(),
  onAudit: aFunction.optional(),
  auditLog: methods('record', 'page').optional(),
  onAuditError: aFunction.optional(),
  title: text('must be text without control characters').optional(),
  currency: aCurrency.optional(),
  timeZone: aTimeZone.optional(),
  clock: aClock.optional(),
} satisfies Record<keyof AdminOptions, z.ZodType>);

/**
 * Creates the admin library.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function createAdmin(options: AdminOptions): Admin {
  checkMakerOptions('createAdmin', optionsSchema, options, {
    gateway: 'Give it what createGateway returned',
    keys: 'Give it the store that has the keys',
    quota: 'Give it the quota store of the gateway',
  });
  const { gateway, keys, keyCache, quota, catalog, replyStores = [] } = options;
  const { title = 'Tollgate', currency, timeZone, clock = systemClock() } = options;
  const usage: AdminUsage = options.usage ?? {};
  const stores = { keys, keyCache, quota, usage, catalog, replyStores };
  const { onAudit, auditLog: log, onAuditError: onError } = options;
  const audit = auditTrail(clock, { onAudit, log, onError });
  const live = liveFigures(clock);
  const deps: AdminDeps = { gateway, stores, clock, audit, live, currency };
  const usageReports = adminUsage(deps);
  const unsubscribe = gateway.subscribe(live.add, { types: liveTypes });
  let isClosed = false;
  return {
    title,
    currency,
    timeZone,
    capabilities: capabilitiesOf(deps),
    keyCacheMs: keyCache?.ttlMs ?? keys.ttlMs,
    clock,
    audit,
    keys: adminKeys(deps),
    owners: adminOwners(deps),
    calls: adminCalls(deps),
    usage: usageReports,
    refusals: adminRefusals(deps),
    channels: adminChannels(deps, usageReports.report),
    catalog: adminCatalogs(deps),
    names: adminNames(deps, usageReports),
    now: adminNow(deps),
    isClosing: () => isClosed || gateway.status().isClosing,
    close: () => {
      isClosed = true;
      unsubscribe();
    },
  };
}

function capabilitiesOf({
  stores: { keys, usage, catalog },
  gateway,
}: AdminDeps): AdminCapabilities {
  return {
    listKeys: keys.page !== undefined,
    issueKeys: keys.issue !== undefined,
    changeKeys: keys.update !== undefined && keys.get !== undefined,
    removeKeys: keys.remove !== undefined,
    listOwners: keys.owners !== undefined,
    changeOwners: keys.owners?.update !== undefined,
    usageReports: usage.usageReport !== undefined,
    usageRecords: usage.usageRecords !== undefined,
    refusalReports: usage.refusalReport !== undefined,
    listModels: catalog?.models !== undefined,
    changeChannels: catalog?.changeChannel !== undefined,
    changePrices: catalog?.changePrice !== undefined,
    switchEverywhere: gateway.cluster().isShared,
  };
}
