/** The content of `tollgate.json`: what `tollgate serve` runs. Amounts are decimal strings. */
import type { CallEnding, ChargeRule, ReplyKind } from '../../charge-policy.ts';
import type { GatewayOptions } from '../../gateway-options.ts';
import type { JsonValue } from '../../json.ts';
import type { plainDefaults } from '../../plain-options.ts';
import type { ResponseOptions } from '../../ports/response-options.ts';

/** A configuration, with the values of `${NAME}` in place. */
export interface ServeConfig {
  readonly $schema?: string | undefined;
  readonly listen?: ListenConfig | undefined;
  readonly catalog: CatalogConfig;
  readonly stores?: StoresConfig | undefined;
  readonly keys?: KeysConfig | undefined;
  readonly gateway?: GatewayConfig | undefined;
  readonly log?: LogConfig | undefined;
  readonly admin?: AdminConfig | undefined;
  readonly audit?: AuditConfig | undefined;
  readonly metrics?: MetricsConfig | undefined;
  readonly readiness?: ReadinessConfig | undefined;
  readonly shutdown?: ShutdownConfig | undefined;
}

/** Where the gateway listens. */
export interface ListenConfig {
  /** Default: 8787; 0 for one that the operating system chooses. */
  readonly port?: number | undefined;
  /** Default: all addresses of the machine. */
  readonly host?: string | undefined;
  /** The path below which the APIs are served, such as `/llm`. */
  readonly basePath?: string | undefined;
}

/** Exactly one source of models. */
export interface CatalogConfig {
  /** The models themselves, in the form of docs/catalog.md. */
  readonly models?: readonly JsonValue[] | undefined;
  /** A file `{ "models": [ … ] }`, which is read again when it changes. */
  readonly file?: string | undefined;
  /** The table of published versions in a database. */
  readonly store?: 'sqlite' | 'postgres' | undefined;
}

/** The databases, and what each of them keeps. */
export interface StoresConfig {
  readonly sqlite?: SqliteConfig | undefined;
  readonly postgres?: PostgresConfig | undefined;
  readonly redis?: RedisConfig | undefined;
  readonly keys?: 'memory' | 'sqlite' | 'postgres' | undefined;
  readonly quota?: StoreName | undefined;
  readonly usage?: 'memory' | 'sqlite' | 'postgres' | undefined;
  readonly idempotency?: StoreName | undefined;
  readonly rates?: 'memory' | 'redis' | undefined;
  readonly results?: 'memory' | 'redis' | undefined;
  readonly responseIndex?: 'memory' | 'redis' | undefined;
  readonly items?: 'memory' | 'redis' | undefined;
}

/** Where something may be kept. */
export type StoreName = 'memory' | 'sqlite' | 'postgres' | 'redis';

/** A SQLite file. */
export interface SqliteConfig {
  readonly path: string;
  readonly driver?: 'libsql' | 'better-sqlite3' | 'node:sqlite' | undefined;
  /** Creates and updates the tables at start. Default: true. */
  readonly migrate?: boolean | undefined;
}

/** A PostgreSQL server. */
export interface PostgresConfig {
  readonly url: string;
  readonly schema?: string | undefined;
  /** Default: 20. */
  readonly maxConnections?: number | undefined;
  /** Creates and updates the tables at start. Default: false. */
  readonly migrate?: boolean | undefined;
}

/** A Redis server. */
export interface RedisConfig {
  /** `redis://`, `rediss://`, or `unix:///path/of.sock`. */
  readonly url: string;
  readonly client?: 'redis' | 'ioredis' | undefined;
  readonly prefix?: string | undefined;
  readonly durability?: 'replica-async' | 'durable' | undefined;
}

/** How keys are looked up. */
export interface KeysConfig {
  /** Mixed into the digests of secrets. It can't be changed later. */
  readonly pepper?: string | undefined;
  /**
   * How long a key from PostgreSQL is served from memory, in ms. Default: 30,000; 0: not at all.
   */
  readonly cacheMs?: number | undefined;
  /** Keys of the memory store, whose secrets come from the environment. */
  readonly fixed?: readonly FixedKey[] | undefined;
}

/** A key in the file. */
export interface FixedKey {
  readonly id: string;
  readonly secret: string;
  readonly group: string;
  /** In units of money. */
  readonly limit: string;
  readonly period?: 'total' | 'day' | 'month' | undefined;
  readonly maxConcurrentCalls?: number | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** The options of `createGateway` that are plain data: docs/options.md. */
export type GatewayConfig = {
  readonly [Name in keyof typeof plainDefaults]?: GatewayOptions[Name] | undefined;
} & {
  readonly responses?: ResponsesConfig | undefined;
  /** The rules of the charge policy that differ from the default: docs/costs.md. */
  readonly chargePolicy?: ChargePolicyConfig | undefined;
  /** Counts refused requests in the store of the usage records. Default: false. */
  readonly recordRefusals?: boolean | undefined;
  /** Limits the invalid keys of an address. Default: no limit. */
  readonly failedKeyLimit?: FailedKeyLimitConfig | undefined;
};

/** Rules that replace the default ones. */
export type ChargePolicyConfig = {
  readonly [Ending in CallEnding]?:
    | { readonly [Kind in ReplyKind]?: ChargeRule | undefined }
    | undefined;
};

/** How many invalid keys an address may send. */
export interface FailedKeyLimitConfig {
  /** Default: 30. */
  readonly perMinute?: number | undefined;
  /** How many proxies in front of the process write `X-Forwarded-For`. Default: 0. */
  readonly proxies?: number | undefined;
}

/** The plain data of the option `responses`. */
export type ResponsesConfig = {
  readonly [Name in 'unknownReferences' | 'maxReferences' | 'indexTtlMs' | 'itemTtlMs']?:
    | ResponseOptions[Name]
    | undefined;
};

/** What is logged, as JSON lines on standard output. */
export interface LogConfig {
  /** Default: `info`. */
  readonly level?: LogLevel | undefined;
}

/** From the least to the most important; `silent` logs nothing. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** The console for operators, on a port of its own. Default: none. */
export interface AdminConfig {
  /** Default: 8788. */
  readonly port?: number | undefined;
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** The host names under which browsers reach it through a proxy. */
  readonly hosts?: readonly string[] | undefined;
  /** Lets scripts and `tollgate channels` in, as `Authorization: Bearer`; 32 characters or more. */
  readonly token?: string | undefined;
  /** A file for the sign-in link. Default: standard error. */
  readonly signInFile?: string | undefined;
}

/** Where the audit trail of changes by operators goes. */
export interface AuditConfig {
  /** A file to which JSON lines are appended. Default: the log; for commands, standard error. */
  readonly file?: string | undefined;
}

/** Metrics for Prometheus, on a port of their own. Default: none. */
export interface MetricsConfig {
  /** Default: 9464. */
  readonly port?: number | undefined;
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default: `/metrics`. */
  readonly path?: string | undefined;
}

/** When `/readyz` answers 200: always while the process listens and is not ending. */
export interface ReadinessConfig {
  /** Whether the quota store must pass its check too. Default: false. */
  readonly stores?: boolean | undefined;
}

/** How the process ends after SIGTERM. */
export interface ShutdownConfig {
  /** How long it keeps serving after `/readyz` has become 503, in ms. Default: 0. */
  readonly waitMs?: number | undefined;
  /** How long running calls may take to end, in ms. Default: 10,000. */
  readonly drainMs?: number | undefined;
}
