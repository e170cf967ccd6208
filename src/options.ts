/**
 * The options of a gateway, their defaults, and their validation at start-up. docs/options.md is
 * tested against this file.
 */
import { z } from 'zod';
import { type ChargePolicy, chargePolicy } from './charge-policy.ts';
import { type Clock, systemClock } from './clock.ts';
import { ConfigurationError } from './errors.ts';
import type { EventListener } from './events.ts';
import { plainOptions } from './options-schema.ts';
import type { Catalog } from './ports/catalog.ts';
import type { FailedKeyLimit } from './ports/failed-key-limit.ts';
import type { Guard } from './ports/guard.ts';
import type { IdempotencyStore } from './ports/idempotency-store.ts';
import type { KeyStore, SessionStore } from './ports/key-store.ts';
import type { QuotaStore } from './ports/quota-store.ts';
import type { RateLimiter } from './ports/rate-limiter.ts';
import type { KeyRateLimits } from './ports/rates.ts';
import type { RefusalLog } from './ports/refusal-log.ts';
import {
  defaultResponseOptions,
  type ResponseOptions,
  type ResponseSettings,
} from './ports/response-options.ts';
import { responseOptionsSchema } from './ports/response-options-schema.ts';
import type { ResultStore } from './ports/result-store.ts';
import {
  aClock,
  aFunction,
  checkSetUp,
  defaultRemedy,
  each,
  methods,
  positive,
  type Wording,
} from './ports/set-up.ts';
import type { Timeouts } from './ports/timeouts.ts';
import type { UpstreamClient } from './ports/upstream-client.ts';
import type { UsageSink } from './ports/usage-sink.ts';
import { randomIds } from './random-ids.ts';
import { memoryIdempotencyStore } from './stores/memory/idempotency-store.ts';
import { memoryRateLimiter } from './stores/memory/rate-limiter.ts';
import { responseSettings } from './stores/memory/response-settings.ts';
import { memoryResultStore } from './stores/memory/result-store.ts';

/** The options of `createGateway`. */
export interface GatewayOptions {
  /** Looks up keys. */
  readonly keys: KeyStore;
  /** Lets signed-in users of your own web app call with their session in place of a key. */
  readonly sessions?: SessionStore;
  /** Limits how many invalid keys one address may send. */
  readonly failedKeyLimit?: FailedKeyLimit;
  /** Holds and charges quota. */
  readonly quota: QuotaStore;
  /** The current list of models. */
  readonly catalog: Catalog;
  /**
   * Keeps the token buckets of the rate limits that keys and models state. Use `redisRateLimiter`
   * where several processes serve the same keys.
   */
  readonly rateLimiter?: RateLimiter;
  /** The rate limits of keys whose record states none. `rates: []` in a record means no limit. */
  readonly defaultRates?: readonly KeyRateLimits[];
  /**
   * Looks at each call before it costs anything, and may refuse it or give its usage record labels.
   */
  readonly guard?: Guard;
  /** Receives usage records. */
  readonly usage?: UsageSink;
  /**
   * Where refused requests are counted, by key, group, model, code and reason, once a minute: the
   * usage sink itself if it is one of the package for memory or a database, or a log of your own.
   */
  readonly recordRefusals?: RefusalLog;
  /** Remembers which calls have run under an `Idempotency-Key`. */
  readonly idempotency?: IdempotencyStore;
  /** Keeps replies for repeated calls. */
  readonly results?: ResultStore;
  /** What later calls of `POST /v1/responses` may refer to. */
  readonly responses?: ResponseOptions;
  /**
   * Treats a call as a retry if OpenAI's SDK marks it as one: it then gets the outcome of the
   * latest call with the same key, route and body.
   */
  readonly dedupeSdkRetries?: boolean;
  /** The HTTP client for upstreams; for tests, and for hosts with special networks. */
  readonly upstream?: UpstreamClient;
  /**
   * The headers that may carry the key of the native (Gemini) API; the first one present is used.
   */
  readonly nativeKeyHeaders?: readonly string[];
  /**
   * Also accepts the native key as `?key=`. URLs end up in logs, so enable it only if a client
   * needs it.
   */
  readonly allowQueryKey?: boolean;
  /**
   * What happens to paths of OpenAI's, Anthropic's and Google's APIs that the gateway does not
   * serve, such as `/v1/audio/speech`. `refuse`: 404 in the provider's error format, naming what is
   * served. `pass`: they are left to the host, for example because it has a `/v1/files` of its own.
   */
  readonly unserved?: 'refuse' | 'pass';
  /** Serves `GET /v1/key`, where the owner of a key sees its limit and usage. */
  readonly ownerRoutes?: boolean;
  /** The model's id for image requests without `model`, which OpenAI allows. Default: 400. */
  readonly defaultImageModel?: string;
  /** The largest request body of every API but images, in bytes. */
  readonly maxBodyBytes?: number;
  /** The largest image request body, in bytes. */
  readonly maxImageBodyBytes?: number;
  /**
   * The maximum size of the request bodies of all running calls together, in bytes; above it, 503.
   * Once half is used, a key that holds a quarter is refused; the last eighth is reserved for
   * bodies up to 64 KiB.
   */
  readonly maxBufferedBytes?: number;
  /**
   * The maximum number of concurrent calls in this gateway; above it, 503. Shared fairly among
   * keys, as with request bodies.
   */
  readonly maxConcurrentCalls?: number;
  /** The maximum number of requests that a translated embedding call may take; above it, 400. */
  readonly maxEmbeddingPieces?: number;
  /** The timeouts for upstreams; those of a model or channel take precedence. */
  readonly timeouts?: Partial<Timeouts>;
  /**
   * Disconnects a caller that has not read from its reply for this long, in ms: from a stream, or
   * from a whole reply above 64 KiB.
   */
  readonly callerStallMs?: number;
  /**
   * The lease of a hold, in ms, renewed after a third of it while the call runs. At least 5 s,
   * because the renewal timer ticks once a second and a renewal may need a retry.
   */
  readonly leaseMs?: number;
  /** The timeout of store operations, in ms; after it, 503. */
  readonly storeTimeoutMs?: number;
  /** The charge for each ending of a call. */
  readonly chargePolicy?: ChargePolicy;
  /** Receives events; see `GatewayEvent`. */
  readonly onEvent?: EventListener;
  /** The clock, for tests. */
  readonly clock?: Clock;
  /**
   * Creates the ids of requests and reservations: 16 to 64 characters of `A-Za-z0-9_-`, never
   * repeated.
   */
  readonly ids?: () => string;
  /** A number in [0, 1) for the choice of channels, for tests. */
  readonly random?: () => number;
}

/** The options with all defaults filled in: an immutable snapshot that a call keeps to its end. */
export type Settings = Readonly<
  Required<
    Omit<
      GatewayOptions,
      | 'sessions'
      | 'failedKeyLimit'
      | 'defaultRates'
      | 'guard'
      | 'usage'
      | 'recordRefusals'
      | 'upstream'
      | 'timeouts'
      | 'responses'
      | 'onEvent'
      | 'defaultImageModel'
    >
  >
> & {
  readonly sessions: SessionStore | undefined;
  readonly failedKeyLimit: FailedKeyLimit | undefined;
  readonly defaultRates: readonly KeyRateLimits[] | undefined;
  readonly guard: Guard | undefined;
  readonly usage: UsageSink | undefined;
  readonly recordRefusals: RefusalLog | undefined;
  readonly defaultImageModel: string | undefined;
  readonly timeouts: Timeouts;
  readonly responses: ResponseSettings;
  readonly onEvent: EventListener | undefined;
};

/** The default options. */
export const defaultOptions: {
  readonly nativeKeyHeaders: readonly string[];
  readonly responses: typeof defaultResponseOptions;
  readonly dedupeSdkRetries: boolean;
  readonly allowQueryKey: boolean;
  readonly unserved: 'refuse' | 'pass';
  readonly ownerRoutes: boolean;
  readonly maxBodyBytes: number;
  readonly maxImageBodyBytes: number;
  readonly maxBufferedBytes: number;
  readonly maxConcurrentCalls: number;
  readonly maxEmbeddingPieces: number;
  readonly timeouts: Timeouts;
  readonly callerStallMs: number;
  readonly leaseMs: number;
  readonly storeTimeoutMs: number;
} = {
  nativeKeyHeaders: ['x-vendor-api-key', 'x-goog-api-key'],
  responses: defaultResponseOptions,
  dedupeSdkRetries: false,
  allowQueryKey: false,
  unserved: 'refuse',
  ownerRoutes: false,
  maxBodyBytes: 32 * 1024 * 1024,
  maxImageBodyBytes: 1024 * 1024,
  maxBufferedBytes: 256 * 1024 * 1024,
  maxConcurrentCalls: 10_000,
  maxEmbeddingPieces: 32,
  timeouts: {
    connectMs: 5_000,
    firstByteStreamedMs: 120_000,
    firstByteMs: 300_000,
    idleMs: 120_000,
    firstTokenMs: 300_000,
    quietMs: 15_000,
    totalMs: 900_000,
  },
  callerStallMs: 30_000,
  leaseMs: 30_000,
  storeTimeoutMs: 1_000,
};

/**
 * Validates the options and fills in the defaults. A gateway that updates its options keeps its
 * default stores, so that it does not forget which calls have run.
 *
 * @throws ConfigurationError that names the option and the remedy
 */
export function settingsOf(options: GatewayOptions, before?: Settings): Settings {
  checkSetUp(optionsSchema, options, wording);
  const clock = options.clock ?? systemClock();
  const settings: Settings = {
    ...defaultOptions,
    ids: randomIds(),
    chargePolicy,
    clock,
    idempotency: before?.idempotency ?? memoryIdempotencyStore({ clock }),
    results: before?.results ?? memoryResultStore({ clock }),
    sessions: undefined,
    failedKeyLimit: undefined,
    rateLimiter: before?.rateLimiter ?? memoryRateLimiter({ clock }),
    defaultRates: undefined,
    guard: undefined,
    usage: undefined,
    recordRefusals: undefined,
    defaultImageModel: undefined,
    onEvent: undefined,
    ...withoutUndefined(options),
    random: safeRandom(options.random ?? Math.random),
    timeouts: { ...defaultOptions.timeouts, ...withoutUndefined(options.timeouts ?? {}) },
    responses: responseSettings(options.responses ?? {}, clock, before?.responses),
  };
  checkBodyLimits(settings);
  return settings;
}

/** The host's `random()` is untrusted: if it throws or returns something else, 0 is used. */
function safeRandom(random: () => number): () => number {
  return () => {
    try {
      const number = random();
      return number >= 0 && number < 1 ? number : 0;
    } catch {
      return 0;
    }
  };
}

/** Treats `{ a: undefined }` as `{}`, as JavaScript hosts often write it. */
function withoutUndefined<T extends object>(value: T): T {
  const kept = { ...value };
  for (const name of Object.keys(kept)) {
    if (Reflect.get(kept, name) === undefined) Reflect.deleteProperty(kept, name);
  }
  return kept;
}

const chargeRule: z.ZodType = z.enum(
  ['release', 'nothing', 'prompt', 'usage', 'observed', 'pend'],
  'must be release, nothing, prompt, usage, observed or pend',
);

const origin = 'must be an origin as browsers send it, such as https://app.example';

/** A loose object, because a host may give an instance of a class with members of its own. */
const sessions: z.ZodType = z.looseObject(
  {
    origins: z
      .array(z.string(origin).refine(isOrigin, origin), 'must be a list of origins')
      .optional(),
    find: aFunction,
  } satisfies Record<keyof SessionStore, z.ZodType>,
  'must be an object with find()',
);

/** True for a scheme, a host and, unless it is the scheme's own, a port. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

const failedKeyLimit: z.ZodType = z.looseObject(
  {
    addressOf: aFunction,
    perMinute: positive.optional(),
  } satisfies Record<keyof FailedKeyLimit, z.ZodType>,
  'must be an object with addressOf()',
);

const guard: z.ZodType = z.looseObject(
  {
    check: aFunction,
    onFailure: z.enum(['refuse', 'pass'], "must be 'refuse' or 'pass'").optional(),
  } satisfies Record<keyof Guard, z.ZodType>,
  'must be an object with check()',
);

const optionsSchema = z.strictObject(
  {
    keys: methods('find'),
    sessions: sessions.optional(),
    failedKeyLimit: failedKeyLimit.optional(),
    quota: methods('reserve', 'extend', 'settle', 'release', 'sweep', 'read', 'adjust', 'check'),
    catalog: methods('find', 'list'),
    rateLimiter: methods('take', 'adjust').optional(),
    guard: guard.optional(),
    usage: methods('record', 'close').optional(),
    recordRefusals: methods('recordRefusals').optional(),
    idempotency: methods('claim', 'finish', 'abandon').optional(),
    results: methods('put', 'get').optional(),
    responses: responseOptionsSchema.optional(),
    upstream: methods('send', 'close').optional(),
    chargePolicy: each(chargePolicy, (rules) => each(rules, () => chargeRule)).optional(),
    onEvent: aFunction.optional(),
    clock: aClock.optional(),
    ids: aFunction.optional(),
    random: aFunction.optional(),
    ...plainOptions,
  },
  'must be an object',
);

/** The remedy for options without a default. */
const remedies: ReadonlyMap<unknown, string> = new Map([
  ['keys', 'memoryKeyStore({ keys: [issueKey({ … })] }) creates one'],
  ['sessions', 'Leave sessions out if all callers send keys'],
  ['failedKeyLimit', 'Leave failedKeyLimit out for no limit'],
  ['quota', 'memoryQuotaStore() creates one'],
  ['catalog', 'staticCatalog([…]) creates one'],
  ['recordRefusals', 'Give it a usage sink for memory or a database, or leave it out'],
  ['guard', 'Leave guard out if every call may run'],
  ['chargePolicy', 'Spread the exported chargePolicy and override some rows'],
]);

const wording: Wording = {
  root: 'options',
  remedyFor: (path) => {
    const [name] = path;
    return name === undefined ? undefined : (remedies.get(name) ?? defaultRemedy(path));
  },
  names: 'docs/options.md',
};

/**
 * A body of the maximum size must fit into the memory budget; otherwise its limit would be wrong.
 */
function checkBodyLimits(settings: Settings): void {
  const { maxBufferedBytes } = settings;
  for (const name of ['maxBodyBytes', 'maxImageBodyBytes'] as const) {
    if (settings[name] <= maxBufferedBytes) continue;
    throw new ConfigurationError(
      `options.maxBufferedBytes must be at least ${name}: it is ${maxBufferedBytes}, and ${name} ` +
        `is ${settings[name]}. Raise maxBufferedBytes or lower ${name}.`,
    );
  }
}
