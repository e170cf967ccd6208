/**
 * The type of each value that the package exports, entry by entry. Never run: it compiles, in this
 * repository and, packed, in a host's folder. A value without a row here is an error too.
 */
import type { IncomingMessage } from 'node:http';
import type * as root from 'tollgate';
import type {
  Capabilities,
  CredentialAnswer,
  CredentialRequest,
  ErrorCode,
  FailureReason,
  Gateway,
  GatewayHandler,
  GatewayOptions,
  ImagePrice,
  ImagePriceRow,
  IssuedKey,
  IssueKeyOptions,
  JsonFileCatalog,
  JsonFileCatalogOptions,
  KeyStore,
  MemoryKeyStore,
  MemoryUsageSink,
  Model,
  Nanos,
  Price,
  PublicPriceList,
  StaticCatalog,
  TokenPrice,
  TokenPriceInput,
  Usage,
  UsageRecord,
  Vendor,
} from 'tollgate';
import type * as admin from 'tollgate/admin';
import type { Admin, AdminHandler } from 'tollgate/admin';
import type * as console from 'tollgate/console';
import type * as express from 'tollgate/express';
import type * as fastify from 'tollgate/fastify';
import type * as web from 'tollgate/fetch';
import type * as koa from 'tollgate/koa';
import type * as node from 'tollgate/node';
import type * as opentelemetry from 'tollgate/opentelemetry';
import type * as ports from 'tollgate/ports';
import type {
  AzureOptions,
  BedrockPlatform,
  CachedKeyStore,
  CachedKeyStoreOptions,
  ChargePolicy,
  Clock,
  ClusterStore,
  GatewayErrorDetails,
  HostedChannel,
  IdempotencyStore,
  ItemStore,
  JsonlUsageSinkOptions,
  ListedModel,
  MaybePromise,
  MembersInput,
  MemoryClusterStoreOptions,
  MemoryIdempotencyStoreOptions,
  MemoryItemStoreOptions,
  MemoryKeyStoreOptions,
  MemoryQuotaStoreOptions,
  MemoryRateLimiter,
  MemoryRateLimiterOptions,
  MemoryResponseIndexOptions,
  MemoryResultStoreOptions,
  MemoryUsageSinkOptions,
  PricedRequest,
  PriceJson,
  PriceOf,
  QuotaStore,
  RateLimiter,
  ReconcileSources,
  Reconciliation,
  RecordedRefusals,
  ResponseIndex,
  ResultStore,
  UndiciClientOptions,
  UpstreamClient,
  UpstreamStage,
  UsageSink,
  VertexPlatform,
} from 'tollgate/ports';
import type * as postgres from 'tollgate/postgres';
import type * as prometheus from 'tollgate/prometheus';
import type * as redis from 'tollgate/redis';
import type * as sqlite from 'tollgate/sqlite';
import type * as testing from 'tollgate/testing';

/** `true` where an entry has just these values, each of its type; else the names that differ. */
type Differing<Entry, Values> =
  | Exclude<keyof Entry, keyof Values>
  | Exclude<keyof Values, keyof Entry>
  | {
      [Name in keyof Entry & keyof Values]: Entry[Name] extends Values[Name] ? never : Name;
    }[keyof Entry & keyof Values];
type Exactly<Entry, Values> = [Differing<Entry, Values>] extends [never]
  ? true
  : Differing<Entry, Values>;

interface RootValues {
  ConfigurationError: new (message: string) => root.ConfigurationError;
  GatewayError: new (
    code: ErrorCode,
    message: string,
    details?: GatewayErrorDetails,
  ) => root.GatewayError;
  azure: (options: AzureOptions) => HostedChannel;
  bedrock: (options: Omit<BedrockPlatform, 'name'>) => HostedChannel;
  cachedKeyStore: (store: KeyStore, options?: CachedKeyStoreOptions) => CachedKeyStore;
  createGateway: (options: GatewayOptions) => Gateway;
  digestSecret: (secret: string, pepper?: string) => string;
  formatMoney: (amount: Nanos) => string;
  imagePrice: (rows: readonly ImagePriceRow[], members?: MembersInput) => ImagePrice;
  isConfigurationError: (error: unknown) => error is root.ConfigurationError;
  isGatewayError: (error: unknown) => error is root.GatewayError;
  issueKey: (options: IssueKeyOptions) => IssuedKey;
  jsonFileCatalog: (options: JsonFileCatalogOptions) => Promise<JsonFileCatalog>;
  jsonlUsageSink: (options: JsonlUsageSinkOptions) => UsageSink;
  logEvents: (logger: ports.EventLogger, options?: root.LogEventsOptions) => root.EventListener;
  maxNanos: Nanos;
  memoryClusterStore: (options?: MemoryClusterStoreOptions) => ClusterStore;
  memoryIdempotencyStore: (options?: MemoryIdempotencyStoreOptions) => IdempotencyStore;
  memoryKeyStore: (options?: MemoryKeyStoreOptions) => MemoryKeyStore;
  memoryQuotaStore: (options?: MemoryQuotaStoreOptions) => QuotaStore;
  memoryRateLimiter: (options?: MemoryRateLimiterOptions) => MemoryRateLimiter;
  memoryItemStore: (options?: MemoryItemStoreOptions) => ItemStore;
  memoryResponseIndex: (options?: MemoryResponseIndexOptions) => ResponseIndex;
  memoryResultStore: (options?: MemoryResultStoreOptions) => ResultStore;
  memoryUsageSink: (options?: MemoryUsageSinkOptions) => MemoryUsageSink;
  money: (units: string) => Nanos;
  pricesFrom: (list: PublicPriceList) => PriceOf;
  reconcile: (
    sources: ReconcileSources,
    filter?: postgres.UsageChargesFilter,
  ) => Promise<readonly Reconciliation[]>;
  staticCatalog: (models: readonly ListedModel[]) => StaticCatalog;
  tokenPrice: (input: TokenPriceInput) => TokenPrice;
  undiciClient: (options?: UndiciClientOptions) => UpstreamClient;
  perKey: (
    credential: (request: CredentialRequest) => MaybePromise<CredentialAnswer>,
  ) => (request: CredentialRequest) => MaybePromise<CredentialAnswer>;
  vertex: (options: Omit<VertexPlatform, 'name'>) => HostedChannel;
  vendorCapabilities: Readonly<Record<Vendor, Capabilities>>;
}

interface PortsValues {
  StoreCorrupt: new (message: string) => ports.StoreCorrupt;
  StoreUnavailable: new (
    message: string,
    options?: { readonly cause?: unknown },
  ) => ports.StoreUnavailable;
  UpstreamError: new (
    stage: UpstreamStage,
    reason: FailureReason,
    details?: { readonly timedOut?: boolean; readonly cause?: unknown },
  ) => ports.UpstreamError;
  chargePolicy: ChargePolicy;
  checkedQuotaStore: (store: QuotaStore) => QuotaStore;
  costOf: (usage: Usage, price: Price, request?: PricedRequest) => Nanos;
  failureReasons: readonly FailureReason[];
  isFailureReason: (value: unknown) => value is FailureReason;
  isUpstreamError: (error: unknown) => error is ports.UpstreamError;
  priceFromJson: (value: unknown) => Price | undefined;
  priceToJson: (price: Price) => PriceJson;
  statusOf: Readonly<Record<ErrorCode, number>>;
  systemClock: () => Clock;
}

interface AdminValues {
  AdminError: new (
    code: admin.AdminErrorCode,
    message: string,
    details?: { readonly field?: string; readonly cause?: unknown },
  ) => admin.AdminError;
  adminHandler: <R extends IncomingMessage = IncomingMessage>(
    admin: Admin,
    options: admin.AdminHandlerOptions<R>,
  ) => AdminHandler<R>;
  adminOpenApi: () => Promise<admin.OpenApiDocument>;
  adminStatusOf: Readonly<Record<admin.AdminErrorCode, number>>;
  createAdmin: (options: admin.AdminOptions) => Admin;
  memoryAuditLog: (size?: number) => admin.MemoryAuditLog;
  failureMeanings: Readonly<Record<FailureReason, admin.FailureMeaning>>;
  isAdminError: (error: unknown) => error is admin.AdminError;
}

interface ConsoleValues {
  consoleHandler: <R extends IncomingMessage = IncomingMessage>(
    admin: Admin,
    options: console.ConsoleHandlerOptions<R>,
  ) => AdminHandler<R>;
  consoleSignIn: (options?: console.ConsoleSignInOptions) => console.ConsoleSignIn;
}

interface ExpressValues {
  expressAdapter: (
    gateway: GatewayHandler,
    options?: express.AdapterOptions,
  ) => express.ExpressHandler;
  expressErrorHandler: (
    gateway: GatewayHandler,
    options?: express.AdapterOptions,
  ) => express.ExpressErrorHandler;
}

interface FastifyValues {
  fastifyAdapter: (gateway: GatewayHandler) => fastify.FastifyPlugin;
}

interface FetchValues {
  fetchAdapter: (gateway: GatewayHandler, options?: web.AdapterOptions) => web.FetchHandler;
  fetchUpstreamClient: () => UpstreamClient;
}

interface KoaValues {
  koaAdapter: (gateway: GatewayHandler, options?: koa.AdapterOptions) => koa.KoaHandler;
}

interface NodeValues {
  nodeAdapter: (gateway: GatewayHandler, options?: node.AdapterOptions) => node.NodeHandler;
}

interface PrometheusValues {
  prometheusMetrics: (
    gateway: Pick<Gateway, 'subscribe' | 'channels' | 'status'>,
    options: prometheus.PrometheusOptions,
  ) => prometheus.PrometheusMetrics;
}

interface RedisValues {
  redisIdempotencyStore: (options: redis.RedisIdempotencyStoreOptions) => IdempotencyStore;
  redisQuotaStore: (options: redis.RedisQuotaStoreOptions) => QuotaStore;
  redisRateLimiter: (options: redis.RedisRateLimiterOptions) => RateLimiter;
  redisItemStore: (options: redis.RedisItemStoreOptions) => ItemStore;
  redisResponseIndex: (options: redis.RedisResponseIndexOptions) => ResponseIndex;
  redisResultStore: (options: redis.RedisResultStoreOptions) => ResultStore;
}

interface PostgresValues {
  migratePostgres: (
    client: postgres.PostgresClient,
    options?: Omit<postgres.PostgresLocation, 'client'>,
  ) => Promise<void>;
  postgresAuditLog: (options: postgres.PostgresLocation) => postgres.AuditLog;
  postgresCatalog: (options: postgres.PostgresCatalogOptions) => Promise<postgres.PublishedCatalog>;
  postgresClusterStore: (options: postgres.PostgresLocation) => postgres.PostgresClusterStore;
  postgresIdempotencyStore: (
    options: postgres.PostgresLocation,
  ) => postgres.PostgresIdempotencyStore;
  postgresItemStore: (options: postgres.PostgresItemStoreOptions) => postgres.PostgresItemStore;
  postgresKeyStore: (options: postgres.PostgresKeyStoreOptions) => postgres.PostgresKeyStore;
  postgresMigrations: readonly postgres.PostgresMigration[];
  postgresQuotaStore: (options: postgres.PostgresQuotaStoreOptions) => postgres.PostgresQuotaStore;
  postgresRateLimiter: (options: postgres.PostgresLocation) => postgres.PostgresRateLimiter;
  postgresResponseIndex: (options: postgres.PostgresLocation) => postgres.PostgresResponseIndex;
  postgresResultStore: (
    options: postgres.PostgresResultStoreOptions,
  ) => postgres.PostgresResultStore;
  postgresUsageSink: (options: postgres.PostgresUsageSinkOptions) => postgres.PostgresUsageSink;
}

interface SqliteValues {
  migrateSqlite: typeof sqlite.migrateSqlite;
  openSqlite: (path: string, options?: sqlite.OpenSqliteOptions) => Promise<sqlite.SqliteDatabase>;
  sqliteAuditLog: (options: sqlite.SqliteAuditLogOptions) => sqlite.AuditLog;
  sqliteCatalog: (options: sqlite.SqliteCatalogOptions) => Promise<sqlite.PublishedCatalog>;
  sqliteClusterStore: (options: sqlite.SqliteClusterStoreOptions) => sqlite.SqliteClusterStore;
  sqliteIdempotencyStore: (options: sqlite.SqliteIdempotencyStoreOptions) => IdempotencyStore;
  sqliteItemStore: (options: sqlite.SqliteItemStoreOptions) => sqlite.SqliteItemStore;
  sqliteKeyStore: (options: sqlite.SqliteKeyStoreOptions) => sqlite.SqliteKeyStore;
  sqliteMigrations: readonly string[];
  sqliteQuotaStore: (options: sqlite.SqliteQuotaStoreOptions) => QuotaStore;
  sqliteRateLimiter: (options: sqlite.SqliteRateLimiterOptions) => sqlite.SqliteRateLimiter;
  sqliteResponseIndex: (options: sqlite.SqliteResponseIndexOptions) => sqlite.SqliteResponseIndex;
  sqliteResultStore: (options: sqlite.SqliteResultStoreOptions) => sqlite.SqliteResultStore;
  sqliteUsageSink: (options: sqlite.SqliteUsageSinkOptions) => sqlite.SqliteUsageSink;
}

interface OpenTelemetryValues {
  openTelemetry: (
    gateway: Gateway,
    options?: opentelemetry.OpenTelemetryOptions,
  ) => opentelemetry.OpenTelemetryWatch;
}

type Contract<Setup> = (make: () => MaybePromise<Setup>) => readonly testing.ContractCase[];

interface TestingValues {
  adapterContract: (
    start: (gateway: GatewayHandler) => MaybePromise<testing.AdapterSetup>,
  ) => readonly testing.ContractCase[];
  catalogContract: (
    make: (models: readonly Model[]) => MaybePromise<testing.CatalogSetup>,
  ) => readonly testing.ContractCase[];
  fakeClock: (startMs?: number) => testing.FakeClock;
  faultNames: readonly string[];
  gate: () => testing.Gate;
  idempotencyStoreContract: Contract<testing.IdempotencyStoreSetup>;
  keyStoreContract: Contract<testing.KeyStoreSetup>;
  quotaStoreContract: Contract<testing.QuotaStoreSetup>;
  rateLimiterContract: Contract<testing.RateLimiterSetup>;
  itemStoreContract: Contract<testing.ItemStoreSetup>;
  responseIndexContract: Contract<testing.ResponseIndexSetup>;
  resultStoreContract: Contract<testing.ResultStoreSetup>;
  script: {
    readonly json: (
      status: number,
      value: string,
      headers?: testing.ScriptHeaders,
    ) => testing.Script;
    readonly sse: (events: readonly string[], eol?: '\n' | '\r\n') => testing.Script;
    readonly raw: (...chunks: readonly testing.Piece[]) => testing.Script;
    readonly reset: () => testing.Script;
    readonly hang: () => testing.Script;
  };
  startFakeUpstream: (options?: testing.FakeUpstreamOptions) => Promise<testing.FakeUpstream>;
  recordedRefusals: (change?: Partial<RecordedRefusals>) => RecordedRefusals;
  refusalLogContract: Contract<testing.RefusalLogSetup>;
  upstreamClientContract: Contract<testing.UpstreamClientSetup>;
  usageRecord: (change?: Partial<UsageRecord>) => UsageRecord;
  usageSinkContract: Contract<testing.UsageSinkSetup>;
}

export const exact: readonly [
  Exactly<typeof root, RootValues>,
  Exactly<typeof ports, PortsValues>,
  Exactly<typeof admin, AdminValues>,
  Exactly<typeof console, ConsoleValues>,
  Exactly<typeof express, ExpressValues>,
  Exactly<typeof fastify, FastifyValues>,
  Exactly<typeof web, FetchValues>,
  Exactly<typeof koa, KoaValues>,
  Exactly<typeof node, NodeValues>,
  Exactly<typeof prometheus, PrometheusValues>,
  Exactly<typeof redis, RedisValues>,
  Exactly<typeof postgres, PostgresValues>,
  Exactly<typeof sqlite, SqliteValues>,
  Exactly<typeof opentelemetry, OpenTelemetryValues>,
  Exactly<typeof testing, TestingValues>,
] = [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true];
