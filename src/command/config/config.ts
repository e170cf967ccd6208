/**
 * The content of `tollgate.json`, which `tollgate serve` runs. Its schema validates the file, and
 * `npm run generate` writes the table of docs/command.md from it. Editors use it for completion:
 * they get the JSON types, defaults and descriptions, but not the refinements.
 */
import { z } from 'zod';
import { chargePolicy } from '../../charge-policy.ts';
import { notifyMembers } from '../../notify/check-options.ts';
import { plainOptions } from '../../plain-options.ts';
import { quotaPeriods } from '../../ports/keys/key-store.ts';
import { printableId } from '../../ports/limits/quota-input.ts';
import { plainResponseOptions } from '../../ports/replies/response-options-schema.ts';
import {
  aCurrency,
  aTimeZone,
  each,
  flag,
  matching,
  oneOf,
  positive,
  strict,
  text,
  visibleText,
} from '../../ports/set-up.ts';
import { nanosOf } from '../../prices/amount.ts';
import { referenceTo } from './environment.ts';

export const defaultPorts = { listen: 8787, metrics: 9464, admin: 8788 } as const;

const portForm = 'must be a port, an integer from 0 to 65535';
const anyPort = z.int(portForm).min(0, portForm).max(65_535, portForm);
// Containers set ports by environment variables, whose values are strings.
const port = z.union(
  [
    anyPort,
    matching(/^\d{1,5}$/, portForm)
      .transform(Number)
      .pipe(anyPort),
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

function oneOfThese<const Values extends readonly [string, string, ...string[]]>(values: Values) {
  return z.enum(values, oneOf(values));
}

function url(form: string, schemes: RegExp) {
  return z.string(form).refine((value) => schemes.test(value) && URL.canParse(value), form);
}

const listen = strict('must be an object: { port: 8787 }', {
  port: port
    .default(defaultPorts.listen)
    .describe('The port; 0 for one that the operating system chooses.'),
  host: host.optional().describe('The address to bind. Without it: all addresses.'),
  basePath: matching(
    /^(?:\/[^/?#\s]+)+$/,
    "must be a path such as '/llm', without a slash at its end",
  )
    .optional()
    .describe('The path below which the APIs are served, such as `/llm`.'),
})
  .prefault({})
  .describe('Where the gateway listens.');

const catalog = strict('must be an object with models, file or store', {
  models: z
    .array(z.unknown(), 'must be a list of models')
    .optional()
    .describe('The models, in the form of docs/catalog.md#the-format.'),
  file: path
    .optional()
    .describe('A file `{ "models": [ … ] }`, which is read again when it changes.'),
  store: oneOfThese(['sqlite', 'postgres'])
    .optional()
    .describe('The table of published catalogs in this database: docs/stores.md#catalog.'),
})
  .refine(
    ({ models, file, store }) => [models, file, store].filter((one) => one).length === 1,
    'must have exactly one of models, file and store',
  )
  .describe('The models: exactly one of `models`, `file` and `store`.');

const sqlite = strict('must be an object: { path: "./tollgate.db" }', {
  path: path.describe(
    'The file of the database, on a local disk. Replies and items are in a second one, ' +
      '`tollgate-kept.db` beside `tollgate.db`, which needs no backup.',
  ),
  driver: oneOfThese(['libsql', 'better-sqlite3', 'node:sqlite'])
    .optional()
    .describe('The driver. Without it: the first of these that is installed.'),
  migrate: flag.default(true).describe('Updates the tables at start.'),
})
  .optional()
  .describe('A SQLite file.');

const postgres = strict(`must be an object: { url: "${referenceTo('DATABASE_URL')}" }`, {
  url: url(
    'must be a URL: postgres://user:password@host/database',
    /^postgres(?:ql)?:\/\//,
  ).describe('The URL of the database: `postgres://user:password@host/database`.'),
  schema: matching(/^[A-Za-z_]\w{0,62}$/, 'must be the name of a schema')
    .default('tollgate')
    .describe('The schema of the tables.'),
  maxConnections: positive.default(20).describe('The size of the connection pool.'),
  migrate: flag.default(false).describe('Updates the tables at start.'),
})
  .optional()
  .describe('A PostgreSQL server.');

const redis = strict(`must be an object: { url: "${referenceTo('REDIS_URL')}" }`, {
  url: url(
    'must be a URL: redis://host, rediss://host or unix:///path',
    /^(?:rediss?|unix):/,
  ).describe('The URL of the server: `redis://`, `rediss://` or `unix:///path`.'),
  client: oneOfThese(['redis', 'ioredis'])
    .optional()
    .describe('The client. Without it: the first of these that is installed.'),
  prefix: matching(/^[A-Za-z0-9._:-]{1,64}$/, 'must match /^[A-Za-z0-9._:-]{1,64}$/')
    .default('tollgate')
    .describe('The prefix of every key.'),
  durability: oneOfThese(['replica-async', 'durable'])
    .optional()
    .describe('What a hold in Redis has to survive: docs/stores.md#redis.'),
})
  .optional()
  .describe('A Redis server.');

const keyStores = ['memory', 'sqlite', 'postgres'] as const;
const allStores = ['memory', 'sqlite', 'postgres', 'redis'] as const;

const stores = strict('must be an object: { sqlite: { path: "./tollgate.db" } }', {
  sqlite,
  postgres,
  redis,
  keys: oneOfThese(keyStores).optional().describe('Where keys are.'),
  quota: oneOfThese(allStores).optional().describe('Where holds and charges are.'),
  usage: oneOfThese(keyStores).optional().describe('Where usage records go.'),
  idempotency: oneOfThese(allStores).optional().describe('Which calls have run.'),
  rates: oneOfThese(allStores).optional().describe('The buckets of rate limits.'),
  results: oneOfThese(allStores).optional().describe('Replies for repeated calls.'),
  responseIndex: oneOfThese(allStores).optional().describe('Whose a response is.'),
  items: oneOfThese(allStores).optional().describe('Output items of translated replies.'),
  audit: oneOfThese(keyStores).optional().describe('The audit trail of changes by operators.'),
})
  .optional()
  .describe('The databases, and which of them keeps what.');

const amountForm = 'must be an amount as text, such as "5" or "0.50"';

const fixedKey = strict('must be a key: an id, a secret, a group and a limit', {
  id: matching(/^[!-~]{1,128}$/, idForm),
  secret: text(`must be a secret, written as ${referenceTo('NAME')}`),
  group: text('must be the name of a group'),
  limit: z.string(amountForm).refine((value) => nanosOf(value) !== undefined, amountForm),
  period: oneOfThese(quotaPeriods).default('total'),
  maxConcurrentCalls: positive.optional(),
  metadata: z.record(z.string(), z.string('must be text'), 'must be an object of texts').optional(),
});

const keys = strict('must be an object', {
  pepper: text('must be text')
    .optional()
    .describe(
      `Mixed into the digests of keys: ${referenceTo('NAME')}. Never change it. ` +
        '`check` warns of one that can be guessed.',
    ),
  cacheMs: milliseconds
    .default(30_000)
    .describe('How long a key of a database is served from memory, in ms; 0: not at all.'),
  fixed: z
    .array(fixedKey, 'must be a list of keys')
    .optional()
    .describe(
      'Keys for `stores.keys` `memory`: `id`, `secret`, `group`, `limit`, and optionally ' +
        '`period` (`total`, `day`, `week` or `month`), `maxConcurrentCalls`, `metadata`.',
    ),
})
  .prefault({})
  .describe('How keys are looked up.');

const chargeRule = oneOfThese(['release', 'nothing', 'prompt', 'usage', 'observed', 'pend']);
const policy = each(
  chargePolicy,
  (rules) =>
    each(
      rules,
      () => chargeRule.optional(),
      'must be an object with whole, streamed or image',
    ).optional(),
  'must be an object: { left_early: { whole: "nothing" } }',
)
  .optional()
  .describe(
    'The rules of charges that differ from the default, such as ' +
      '`{ "left_early": { "whole": "nothing" } }`: docs/costs.md.',
  );

const proxyForm = 'must be a number of proxies, from 0 to 16';
const failedKeys = strict('must be an object: { perMinute: 30 }', {
  perMinute: positive.default(30).describe('How many an address may send.'),
  proxies: z
    .int(proxyForm)
    .min(0, proxyForm)
    .max(16, proxyForm)
    .default(0)
    .describe('How many proxies in front of `serve` append to `X-Forwarded-For`.'),
})
  .optional()
  .describe(
    'Limits the invalid keys of an address; IPv6 addresses count by their /64 network. ' +
      'Without it: no limit.',
  );

const gateway = strict('must be an object of options of createGateway', {
  ...plainOptions,
  responses: strict('must be an object', plainResponseOptions)
    .prefault({})
    .describe('The option `responses` of `createGateway` without its stores: docs/options.md.'),
  chargePolicy: policy,
  failedKeyLimit: failedKeys,
  recordRefusals: flag
    .default(false)
    .describe(
      'Counts refusals in the store of the usage records: docs/stores.md#refusals. ' +
        'The command `usage refusals` shows them.',
    ),
})
  .prefault({})
  .describe(
    'The options of `createGateway` that are plain data, `timeouts` among them: docs/options.md.',
  );

/** From the least to the most important; `silent` logs nothing. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const log = strict('must be an object: { level: "info" }', {
  level: oneOfThese(logLevels)
    .default('info')
    .describe('The least important lines that are written.'),
})
  .prefault({})
  .describe('The log on standard output.');

const tokenForm = `must be a secret of at least 32 characters, written as ${referenceTo('NAME')}`;
const aToken = matching(/^\S{32,}$/, tokenForm);
const namedToken = strict(`must be { name: "ada", token: "${referenceTo('NAME')}", can: "read" }`, {
  name: visibleText('must be the name of who uses it'),
  token: aToken,
  can: oneOfThese(['read', 'manage']),
});

/** Of two entries with one token or name, the first would decide the rights and the audit trail. */
function areDistinct({ token, tokens = [] }: AdminTokens): boolean {
  const all = token === undefined ? tokens : [...tokens, { name: 'admin.token', token }];
  const names = new Set(all.map(({ name }) => name));
  const secrets = new Set(all.map((one) => one.token));
  return names.size === all.length && secrets.size === all.length;
}

interface AdminTokens {
  readonly token?: string | undefined;
  readonly tokens?: readonly Pick<z.output<typeof namedToken>, 'name' | 'token'>[] | undefined;
}

const admin = strict('must be an object: { port: 8788 }', {
  port: port.default(defaultPorts.admin).describe('The port of the console.'),
  host: host.default('127.0.0.1').describe('The address to bind.'),
  hosts: z
    .array(text('must be a host name'), 'must be a list of host names')
    .min(1, 'must have a host name')
    .optional()
    .describe('The host names under which browsers reach it through a proxy.'),
  token: aToken
    .optional()
    .describe('Lets scripts in, as `Authorization: Bearer`; a secret of 32 characters or more.'),
  currency: aCurrency
    .optional()
    .describe('The ISO 4217 code of the currency of all amounts, as "USD".'),
  timeZone: aTimeZone
    .optional()
    .describe('The time zone of the times in the console. Without it: that of the browser.'),
  tokens: z
    .array(namedToken, 'must be a list of tokens')
    .optional()
    .describe(
      'More tokens, each with the `name` of who uses it, for the audit trail, and what it `can` ' +
        'do: `read` or `manage`.',
    ),
  signInFile: path.optional().describe('A file for the sign-in link. Without it: standard error.'),
})
  .refine(areDistinct, {
    path: ['tokens'],
    message: 'must have names and tokens that differ from each other and from admin.token',
  })
  .optional()
  .describe('The console for operators, on a port of its own: docs/command.md#the-console.');

const audit = strict('must be an object: { file: "./audit.jsonl" }', {
  file: path
    .optional()
    .describe('A file, readable only by its owner. Without it the lines go to the log.'),
})
  .optional()
  .describe('Where the audit trail of changes by operators goes, besides `stores.audit`.');

const daysForm = 'must be a number of days, such as "90d"';
const days = matching(/^[1-9]\d{0,4}d$/, daysForm)
  .transform((value) => Number(value.slice(0, -1)) * 86_400_000)
  .optional();

const retention = strict('must be an object: { usage: "90d" }', {
  usage: days.describe('Usage records and refusals, such as `90d`. Without it: for ever.'),
  audit: days.describe('The audit trail, such as `365d`. Without it: for ever.'),
})
  .prefault({})
  .describe('How long records in databases are kept; older ones are deleted while `serve` runs.');

const metrics = strict('must be an object: { port: 9464 }', {
  port: port.default(defaultPorts.metrics).describe('The port of the metrics.'),
  host: host.default('127.0.0.1').describe('The address to bind.'),
  path: matching(/^\/[^?#\s]*$/, "must be a path such as '/metrics'")
    .default('/metrics')
    .describe('The path of the metrics.'),
})
  .optional()
  .describe('Metrics for Prometheus on a port of their own: docs/metrics.md. Needs `prom-client`.');

const notify = z
  .array(
    strict(`must be an object: { url: "https://…", secret: "${referenceTo('NAME')}" }`, {
      ...notifyMembers,
    }),
    'must be a list of endpoints',
  )
  .optional()
  .describe(
    'Where notifications go: a list of `url`, `secret`, and optionally `on`, `metadata` and ' +
      '`name`: docs/notifications.md.',
  );

const readiness = strict('must be an object: { stores: true }', {
  stores: flag
    .default(false)
    .describe('Whether `/readyz` also asks the quota store, which all processes share.'),
})
  .prefault({})
  .describe('When `/readyz` answers 200: while the process listens and is not ending.');

const shutdown = strict('must be an object: { drainMs: 10000 }', {
  waitMs: milliseconds
    .default(0)
    .describe('How long to keep serving while `/readyz` answers 503, in ms.'),
  drainMs: milliseconds.default(10_000).describe('How long running calls may take to end, in ms.'),
})
  .prefault({})
  .describe('How the process ends after SIGTERM.');

/** The form of the file after `${NAME}` has been replaced. The catalog checks the models. */
export const configForm = strict('must be an object: { catalog: … }', {
  $schema: z.string('must be text').optional().describe('The JSON Schema, for editors.'),
  listen,
  catalog,
  stores,
  keys,
  gateway,
  log,
  admin,
  audit,
  retention,
  metrics,
  notify,
  readiness,
  shutdown,
});

export type ServeConfig = z.output<typeof configForm>;
export type NotifyConfig = NonNullable<ServeConfig['notify']>[number];
export type AdminConfig = NonNullable<ServeConfig['admin']>;
export type FixedKey = z.output<typeof fixedKey>;
export type FailedKeyLimitConfig = NonNullable<z.output<typeof failedKeys>>;
export type StoresConfig = NonNullable<ServeConfig['stores']>;
export type StoreName = NonNullable<StoresConfig['quota']>;
export type SqliteConfig = NonNullable<StoresConfig['sqlite']>;
export type PostgresConfig = NonNullable<StoresConfig['postgres']>;
export type RedisConfig = NonNullable<StoresConfig['redis']>;
