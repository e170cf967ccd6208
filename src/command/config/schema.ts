/**
 * The schema of `tollgate.json`. It validates the file, and editors use it for completion: of it,
 * they get the JSON types and the descriptions, but not the refinements.
 */
import { z } from 'zod';
import type { ReplyKind } from '../../charge-policy.ts';
import { plainOptions } from '../../plain-options.ts';
import { printableId } from '../../ports/quota-input.ts';
import { flag, oneOf, positive, text, wait } from '../../ports/set-up.ts';
import { nanosOf } from '../../prices/amount.ts';
import type {
  AdminConfig,
  AuditConfig,
  CatalogConfig,
  ChargePolicyConfig,
  FailedKeyLimitConfig,
  FixedKey,
  GatewayConfig,
  KeysConfig,
  ListenConfig,
  LogConfig,
  MetricsConfig,
  PostgresConfig,
  ReadinessConfig,
  RedisConfig,
  ResponsesConfig,
  ServeConfig,
  ShutdownConfig,
  SqliteConfig,
  StoresConfig,
} from './config.ts';
import { referenceTo } from './environment.ts';

type Members<T> = Readonly<Record<keyof T, z.ZodType>>;

const portForm = 'must be a port, an integer from 0 to 65535';
// Containers set ports by environment variables, whose values are strings.
const port = z.union(
  [
    z.int(portForm).min(0, portForm).max(65_535, portForm),
    z
      .string(portForm)
      .regex(/^\d{1,5}$/, portForm)
      .transform(Number)
      .refine((number) => number <= 65_535, portForm),
  ],
  portForm,
);
const host = text('must be an address or a host name, such as 127.0.0.1');
const path = text('must be the path of a file');
const milliseconds = z
  .int('must be an integer of ms, 0 or above')
  .min(0, 'must be an integer of ms, 0 or above')
  .max(2_147_483_647, 'must be at most 2147483647 ms');
const idForm = `must be ${printableId}`;
const id = z.string(idForm).regex(/^[!-~]{1,128}$/, idForm);

function oneOfThese<const Values extends readonly [string, string, ...string[]]>(values: Values) {
  return z.enum(values, oneOf(values));
}

function url(form: string, schemes: RegExp): z.ZodType {
  return z.string(form).refine((value) => schemes.test(value) && URL.canParse(value), form);
}

const listen = z
  .strictObject(
    {
      port: port.optional().describe('The port of the gateway. Default: 8787.'),
      host: host.optional().describe('The address to bind. Default: all addresses.'),
      basePath: z
        .string("must be a path such as '/llm', without a slash at its end")
        .regex(/^(?:\/[^/?#\s]+)+$/, "must be a path such as '/llm', without a slash at its end")
        .optional()
        .describe('The path below which the APIs are served, such as /llm.'),
    } satisfies Members<ListenConfig>,
    'must be an object: { port: 8787 }',
  )
  .optional()
  .describe('Where the gateway listens.');

const sources = ['models', 'file', 'store'] as const;
const oneSource = 'must have exactly one of models, file and store';

const catalog = z
  .strictObject(
    {
      models: z.array(z.unknown(), 'must be a list of models').optional(),
      file: path.optional().describe('A file { "models": [ … ] }, read again when it changes.'),
      store: oneOfThese(['sqlite', 'postgres'])
        .optional()
        .describe('The table of published catalogs in this database.'),
    } satisfies Members<CatalogConfig>,
    'must be an object with models, file or store',
  )
  .refine((value) => sources.filter((source) => value[source] !== undefined).length === 1, {
    error: oneSource,
  })
  .describe('The models: exactly one of models, file and store.');

const sqlite = z
  .strictObject(
    {
      path: path.describe('The file of the database, on a local disk.'),
      driver: oneOfThese(['libsql', 'better-sqlite3', 'node:sqlite'])
        .optional()
        .describe('Default: the first of these that is installed.'),
      migrate: flag.optional().describe('Update the tables at start. Default: true.'),
    } satisfies Members<SqliteConfig>,
    'must be an object: { path: "./tollgate.db" }',
  )
  .optional();

const postgres = z
  .strictObject(
    {
      url: url('must be a URL: postgres://user:password@host/database', /^postgres(?:ql)?:\/\//),
      schema: z
        .string('must be the name of a schema')
        .regex(/^[A-Za-z_]\w{0,62}$/, 'must be the name of a schema')
        .optional()
        .describe('The schema of the tables. Default: tollgate.'),
      maxConnections: positive.optional().describe('Default: 20.'),
      migrate: flag.optional().describe('Update the tables at start. Default: false.'),
    } satisfies Members<PostgresConfig>,
    `must be an object: { url: "${referenceTo('DATABASE_URL')}" }`,
  )
  .optional();

const redis = z
  .strictObject(
    {
      url: url('must be a URL: redis://host, rediss://host or unix:///path', /^(?:rediss?|unix):/),
      client: oneOfThese(['redis', 'ioredis'])
        .optional()
        .describe('Default: the first of these that is installed.'),
      prefix: z
        .string('must match /^[A-Za-z0-9._:-]{1,64}$/')
        .regex(/^[A-Za-z0-9._:-]{1,64}$/, 'must match /^[A-Za-z0-9._:-]{1,64}$/')
        .optional()
        .describe('The prefix of every key. Default: tollgate.'),
      durability: oneOfThese(['replica-async', 'durable']).optional(),
    } satisfies Members<RedisConfig>,
    `must be an object: { url: "${referenceTo('REDIS_URL')}" }`,
  )
  .optional();

const keyStores = ['memory', 'sqlite', 'postgres'] as const;
const allStores = ['memory', 'sqlite', 'postgres', 'redis'] as const;
const redisStores = ['memory', 'redis'] as const;

const stores = z
  .strictObject(
    {
      sqlite,
      postgres,
      redis,
      keys: oneOfThese(keyStores).optional(),
      quota: oneOfThese(allStores).optional(),
      usage: oneOfThese(keyStores).optional(),
      idempotency: oneOfThese(allStores).optional(),
      rates: oneOfThese(redisStores).optional(),
      results: oneOfThese(redisStores).optional(),
      responseIndex: oneOfThese(redisStores).optional(),
      items: oneOfThese(redisStores).optional(),
    } satisfies Members<StoresConfig>,
    'must be an object: { sqlite: { path: "./tollgate.db" } }',
  )
  .optional()
  .describe('The databases, and which of them keeps what. Default: memory alone.');

const amountForm = 'must be an amount as text, such as "5" or "0.50"';

const fixedKey = z.strictObject(
  {
    id,
    secret: text(`must be a secret, written as ${referenceTo('NAME')}`),
    group: text('must be the name of a group'),
    limit: z.string(amountForm).refine((value) => nanosOf(value) !== undefined, amountForm),
    period: oneOfThese(['total', 'day', 'month']).optional(),
    maxConcurrentCalls: positive.optional(),
    metadata: z
      .record(z.string(), z.string('must be text'), 'must be an object of texts')
      .optional(),
  } satisfies Members<FixedKey>,
  'must be a key: an id, a secret, a group and a limit',
);

const keys = z
  .strictObject(
    {
      pepper: text('must be text')
        .optional()
        .describe(`Mixed into the digests of secrets: ${referenceTo('NAME')}. Never change it.`),
      cacheMs: milliseconds
        .optional()
        .describe('How long a key from PostgreSQL is served from memory, in ms. Default: 30000.'),
      fixed: z
        .array(fixedKey, 'must be a list of keys')
        .optional()
        .describe('Keys for stores.keys "memory", with secrets from the environment.'),
    } satisfies Members<KeysConfig>,
    'must be an object',
  )
  .optional()
  .describe('How keys are looked up.');

const countForm = 'must be a positive integer of at most 1024';
const responses = z
  .strictObject(
    {
      unknownReferences: oneOfThese(['refuse', 'relay']).optional(),
      maxReferences: z.int(countForm).positive(countForm).max(1_024, countForm).optional(),
      indexTtlMs: positive.optional(),
      itemTtlMs: wait.optional(),
    } satisfies Members<ResponsesConfig>,
    'must be an object',
  )
  .optional();

const chargeRule = oneOfThese(['release', 'nothing', 'prompt', 'usage', 'observed', 'pend']);
const rules = z
  .strictObject(
    {
      whole: chargeRule.optional(),
      streamed: chargeRule.optional(),
      image: chargeRule.optional(),
    } satisfies Record<ReplyKind, z.ZodType>,
    'must be an object with whole, streamed or image',
  )
  .optional();
const policy = z
  .strictObject(
    {
      not_run: rules,
      complete: rules,
      truncated: rules,
      still_running: rules,
      failed: rules,
      broken: rules,
      left_early: rules,
      left: rules,
      cut: rules,
    } satisfies Members<ChargePolicyConfig>,
    'must be an object: { left_early: { whole: "nothing" } }',
  )
  .optional()
  .describe('The rules of the charge policy that differ from the default: docs/costs.md.');

const proxyForm = 'must be a number of proxies, from 0 to 16';
const failedKeys = z
  .strictObject(
    {
      perMinute: positive.optional().describe('How many an address may send. Default: 30.'),
      proxies: z
        .int(proxyForm)
        .min(0, proxyForm)
        .max(16, proxyForm)
        .optional()
        .describe('How many proxies in front append to X-Forwarded-For. Default: 0.'),
    } satisfies Members<FailedKeyLimitConfig>,
    'must be an object: { perMinute: 30 }',
  )
  .optional()
  .describe('Limits the invalid keys of an address. Default: no limit.');

const gateway = z
  .strictObject(
    {
      ...plainOptions,
      responses,
      chargePolicy: policy,
      failedKeyLimit: failedKeys,
      recordRefusals: flag
        .optional()
        .describe('Count refused requests in the store of the usage records. Default: false.'),
    } satisfies Members<GatewayConfig>,
    'must be an object of options of createGateway',
  )
  .optional()
  .describe('Options of createGateway that are plain data: docs/options.md.');

const log = z
  .strictObject(
    {
      level: oneOfThese(['debug', 'info', 'warn', 'error', 'silent'])
        .optional()
        .describe('The least important lines that are written. Default: info.'),
    } satisfies Members<LogConfig>,
    'must be an object: { level: "info" }',
  )
  .optional();

const tokenForm = `must be a secret of at least 32 characters, written as ${referenceTo('NAME')}`;
const admin = z
  .strictObject(
    {
      port: port.optional().describe('The port of the console. Default: 8788.'),
      host: host.optional().describe('The address to bind. Default: 127.0.0.1.'),
      hosts: z
        .array(text('must be a host name'), 'must be a list of host names')
        .min(1, 'must have a host name')
        .optional()
        .describe('The host names under which browsers reach it through a proxy.'),
      token: z
        .string(tokenForm)
        .regex(/^\S{32,}$/, tokenForm)
        .optional()
        .describe('Lets scripts in, as Authorization: Bearer.'),
      signInFile: path.optional().describe('A file for the sign-in link. Default: standard error.'),
    } satisfies Members<AdminConfig>,
    'must be an object: { port: 8788 }',
  )
  .optional()
  .describe('The console for operators, on a port of its own.');

const audit = z
  .strictObject(
    {
      file: path.optional().describe('A file for the audit trail. Default: the log.'),
    } satisfies Members<AuditConfig>,
    'must be an object: { file: "./audit.jsonl" }',
  )
  .optional()
  .describe('Where the audit trail of changes by operators goes.');

const metricsPath = "must be a path such as '/metrics'";
const metrics = z
  .strictObject(
    {
      port: port.optional().describe('The port of the metrics. Default: 9464.'),
      host: host.optional().describe('The address to bind. Default: 127.0.0.1.'),
      path: z
        .string(metricsPath)
        .regex(/^\/[^?#\s]*$/, metricsPath)
        .optional()
        .describe('Default: /metrics.'),
    } satisfies Members<MetricsConfig>,
    'must be an object: { port: 9464 }',
  )
  .optional()
  .describe('Metrics for Prometheus, on a port of their own. Needs prom-client.');

const readiness = z
  .strictObject(
    {
      stores: z
        .boolean('must be true or false')
        .optional()
        .describe('Whether the quota store must pass its check too. Default: false.'),
    } satisfies Members<ReadinessConfig>,
    'must be an object: { stores: true }',
  )
  .optional()
  .describe('When /readyz answers 200: while the process listens and is not ending.');

const shutdown = z
  .strictObject(
    {
      waitMs: milliseconds
        .optional()
        .describe('How long to keep serving while not ready. Default: 0.'),
      drainMs: milliseconds.optional().describe('How long calls may take to end. Default: 10000.'),
    } satisfies Members<ShutdownConfig>,
    'must be an object: { drainMs: 10000 }',
  )
  .optional()
  .describe('How the process ends after SIGTERM.');

/** The form of the file after `${NAME}` has been replaced. The catalog checks the models. */
export const configForm: z.ZodType = z.strictObject(
  {
    $schema: z.string('must be text').optional(),
    listen,
    catalog,
    stores,
    keys,
    gateway,
    log,
    admin,
    audit,
    metrics,
    readiness,
    shutdown,
  } satisfies Members<ServeConfig>,
  'must be an object: { catalog: … }',
);
