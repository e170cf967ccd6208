/** A configuration with every member, to be changed one by one, and what reading it reports. */
import { readConfig } from '../../../src/command/config/read.ts';
import { isJsonObject, items, type JsonValue } from '../../../src/json.ts';
import { plainDefaults } from '../../../src/plain-options.ts';
import type { Path } from '../../../src/ports/problems.ts';

/** The variables to which it refers. */
export const env = {
  KEY: 'the-account-key',
  SECRET: 'a-long-secret-of-a-caller-0123456789',
  TOKEN: 'the-long-token-of-an-operator-0123456789',
  SIGNING: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  PORT: '8080',
  EMPTY: '',
};

/** Every member that the file may have, except the sources of models, which exclude each other. */
export const whole: JsonValue = {
  $schema: './tollgate-config.schema.json',
  listen: { port: 8787, host: '127.0.0.1', basePath: '/llm' },
  catalog: {
    models: [
      {
        id: 'gpt-4o-mini',
        groups: ['staff'],
        price: { per: 'token', input: '0.15', output: '0.60' },
        channels: [
          {
            id: 'openai-1',
            dialect: 'openai',
            baseUrl: 'https://api.openai.com/v1',
            credential: '\u0024{KEY}',
            weight: 2,
          },
        ],
      },
    ],
  },
  stores: {
    sqlite: { path: './tollgate.db', driver: 'libsql', migrate: true },
    postgres: { url: 'postgres://h/d', schema: 's', maxConnections: 5, migrate: false },
    redis: { url: 'redis://h', client: 'redis', prefix: 'p', durability: 'durable' },
    keys: 'memory',
    quota: 'redis',
    usage: 'postgres',
    idempotency: 'sqlite',
    rates: 'redis',
    results: 'memory',
    responseIndex: 'redis',
    items: 'memory',
    audit: 'memory',
  },
  keys: {
    pepper: '\u0024{SECRET}',
    cacheMs: 1_000,
    fixed: [
      {
        id: 'team',
        secret: '\u0024{SECRET}',
        group: 'staff',
        limit: '5',
        period: 'month',
        maxConcurrentCalls: 3,
      },
    ],
  },
  gateway: {
    ...plainDefaults,
    defaultRates: [{ calls: { perMinute: 60 } }],
    defaultImageModel: 'gpt-image-1',
    chargePolicy: { left_early: { whole: 'nothing', streamed: 'nothing', image: 'pend' } },
    recordRefusals: true,
    failedKeyLimit: { perMinute: 30, proxies: 1 },
    responses: { unknownReferences: 'refuse', maxReferences: 5, indexTtlMs: 9, itemTtlMs: 9 },
  },
  log: { level: 'warn' },
  admin: {
    port: 8788,
    host: '127.0.0.1',
    hosts: ['console.example'],
    token: '\u0024{SECRET}',
    tokens: [{ name: 'ada', token: '\u0024{TOKEN}', can: 'read' }],
    signInFile: './sign-in.txt',
  },
  retention: { usage: '90d', audit: '365d' },
  audit: { file: './audit.jsonl' },
  metrics: { port: 9464, host: '127.0.0.1', path: '/metrics' },
  notify: [
    {
      url: 'https://ops.example/hook',
      secret: '\u0024{SIGNING}',
      on: ['budget.reached', 'channel.out'],
      metadata: ['user'],
      name: 'pager',
    },
  ],
  readiness: { stores: true },
  shutdown: { waitMs: 0, drainMs: 5_000 },
};

/** Reads a configuration, with other variables if they are given. */
export function read(
  value: JsonValue,
  variables: Readonly<Record<string, string>> = env,
): ReturnType<typeof readConfig> {
  return readConfig(Buffer.from(JSON.stringify(value)), variables);
}

/** The message with which a configuration is refused. */
export async function refusal(
  value: JsonValue,
  variables?: Readonly<Record<string, string>>,
): Promise<string> {
  try {
    await read(value, variables);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'nothing was refused';
}

/** The path of every member and item. */
export function pathsIn(value: JsonValue, path: Path = []): readonly Path[] {
  const below = Array.isArray(value)
    ? items(value).flatMap((item, index) => pathsIn(item, [...path, index]))
    : isJsonObject(value)
      ? Object.entries(value).flatMap(([name, item]) => pathsIn(item, [...path, name]))
      : [];
  return path.length === 0 ? below : [path, ...below];
}

/** The value at a path; undefined if there is none. */
export function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (holder, name) =>
      typeof holder === 'object' && holder !== null ? Reflect.get(holder, name) : undefined,
    value,
  );
}

/** A copy in which one member has another value, or is left out. */
export function changed(value: JsonValue, path: Path, to: JsonValue | undefined): JsonValue {
  const copy: JsonValue = structuredClone(value);
  const holder = at(copy, path.slice(0, -1));
  const last = path.at(-1);
  if (typeof holder === 'object' && holder !== null && last !== undefined) {
    if (to === undefined) Reflect.deleteProperty(holder, last);
    else Reflect.set(holder, last, to);
  }
  return copy;
}
