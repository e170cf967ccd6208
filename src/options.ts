/**
 * The options of a gateway: what a host may set, what holds where it does not, and the check at
 * start-up. A default has its home here; docs/options.md is tested against this file.
 */
import { z } from 'zod';
import { type ChargePolicy, chargePolicy } from './charge-policy.ts';
import { type Clock, systemClock } from './clock.ts';
import { ConfigurationError } from './errors.ts';
import type { EventListener } from './events.ts';
import type { Catalog, Timeouts } from './ports/catalog.ts';
import type { IdempotencyStore } from './ports/idempotency-store.ts';
import type { KeyStore } from './ports/key-store.ts';
import type { QuotaStore } from './ports/quota-store.ts';
import type { RateLimiter } from './ports/rate-limiter.ts';
import type { ResultStore } from './ports/result-store.ts';
import {
  aClock,
  aFunction,
  checkSetUp,
  flag,
  methods,
  positive,
  type Wording,
  wait,
} from './ports/set-up.ts';
import type { UpstreamClient } from './ports/upstream-client.ts';
import type { UsageSink } from './ports/usage-sink.ts';
import { randomIds } from './random-ids.ts';
import { memoryIdempotencyStore } from './stores/memory/idempotency-store.ts';
import { memoryResultStore } from './stores/memory/result-store.ts';

/** What a host hands to `createGateway`. */
export interface GatewayOptions {
  /** Where keys are found. */
  readonly keys: KeyStore;
  /** Where quota is held and charged. */
  readonly quota: QuotaStore;
  /** The live list of models. */
  readonly catalog: Catalog;
  /** Limits how often a key may call, before its body is read; quota limits how much. */
  readonly rateLimiter?: RateLimiter;
  /** Where usage records go. */
  readonly usage?: UsageSink;
  /** Remembers which calls have run under an `Idempotency-Key`. */
  readonly idempotency?: IdempotencyStore;
  /** Keeps replies for those who repeat a call. */
  readonly results?: ResultStore;
  /**
   * Takes a call for a repetition where OpenAI's SDK counts it as one: then it gets what became of
   * the latest call of the same key, route and body.
   */
  readonly dedupeSdkRetries?: boolean;
  /** Speaks HTTP to upstreams; for tests and for hosts with a network of their own. */
  readonly upstream?: UpstreamClient;
  /** Headers that may carry the key of the native protocol; the first that is present decides. */
  readonly nativeKeyHeaders?: readonly string[];
  /**
   * Accepts the native key as `?key=` too. Addresses end up in logs: off unless a client needs it.
   */
  readonly allowQueryKey?: boolean;
  /** The largest chat or native request body, in bytes. */
  readonly maxBodyBytes?: number;
  /** The largest image request body, in bytes. */
  readonly maxImageBodyBytes?: number;
  /**
   * The request bodies of all running calls together, in bytes; beyond, 503. Once half of it is
   * taken, a key that holds a quarter is refused; the last eighth is for bodies up to 64 KiB.
   */
  readonly maxBufferedBytes?: number;
  /** Calls running at once in this gateway; beyond, 503. Shared among keys as the bodies are. */
  readonly maxConcurrentCalls?: number;
  /** How long upstreams may take; a model's and a channel's own waits come first. */
  readonly timeouts?: Partial<Timeouts>;
  /** How long a caller may take nothing of a streamed reply, in ms; beyond, it counts as gone. */
  readonly callerStallMs?: number;
  /**
   * The lease of a hold, in ms, renewed at a third of it while the call runs. At least 5 s: the
   * timer that renews it ticks once a second, and a renewal may have to be tried again.
   */
  readonly leaseMs?: number;
  /** How long a store may take to answer, in ms; beyond, 503. */
  readonly storeTimeoutMs?: number;
  /** What each ending of a call costs its caller. */
  readonly chargePolicy?: ChargePolicy;
  /** Hears what happens; see `GatewayEvent`. */
  readonly onEvent?: EventListener;
  /** Time, for tests. */
  readonly clock?: Clock;
  /** Makes request and reservation ids, 16 to 64 of `A-Za-z0-9_-`, unique for ever. */
  readonly ids?: () => string;
  /** A number in [0, 1) that picks among channels, for tests. */
  readonly random?: () => number;
}

/** The options with every default filled in: one frozen snapshot that a call keeps to its end. */
export type Settings = Readonly<
  Required<Omit<GatewayOptions, 'rateLimiter' | 'usage' | 'upstream' | 'timeouts' | 'onEvent'>>
> & {
  readonly rateLimiter: RateLimiter | undefined;
  readonly usage: UsageSink | undefined;
  readonly timeouts: Timeouts;
  readonly onEvent: EventListener | undefined;
};

/** What holds where a host says nothing. */
export const defaultOptions: {
  readonly nativeKeyHeaders: readonly string[];
  readonly dedupeSdkRetries: boolean;
  readonly allowQueryKey: boolean;
  readonly maxBodyBytes: number;
  readonly maxImageBodyBytes: number;
  readonly maxBufferedBytes: number;
  readonly maxConcurrentCalls: number;
  readonly timeouts: Timeouts;
  readonly callerStallMs: number;
  readonly leaseMs: number;
  readonly storeTimeoutMs: number;
} = {
  nativeKeyHeaders: ['x-vendor-api-key', 'x-goog-api-key'],
  dedupeSdkRetries: false,
  allowQueryKey: false,
  maxBodyBytes: 32 * 1024 * 1024,
  maxImageBodyBytes: 1024 * 1024,
  maxBufferedBytes: 256 * 1024 * 1024,
  maxConcurrentCalls: 10_000,
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
 * Checks the options and fills in the defaults. A gateway that changes them goes on with the
 * stores it has: what has run must not be forgotten.
 *
 * @throws ConfigurationError that names the option and the cure
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
    rateLimiter: undefined,
    usage: undefined,
    onEvent: undefined,
    ...withoutUndefined(options),
    random: chanceBy(options.random ?? Math.random),
    timeouts: { ...defaultOptions.timeouts, ...withoutUndefined(options.timeouts ?? {}) },
  };
  checkRoom(settings);
  return settings;
}

/** A host's source may throw or give anything, at a moment when nobody could answer for it. */
function chanceBy(random: () => number): () => number {
  return () => {
    try {
      const number = random();
      return number >= 0 && number < 1 ? number : 0;
    } catch {
      return 0;
    }
  };
}

/** `{ a: undefined }` means what `{}` means: a host's JavaScript often has it so. */
function withoutUndefined<T extends object>(value: T): T {
  const kept = { ...value };
  for (const name of Object.keys(kept)) {
    if (Reflect.get(kept, name) === undefined) Reflect.deleteProperty(kept, name);
  }
  return kept;
}

const lease =
  'must be an integer from 5,000 to 900,000 ms, for leases are renewed once a second at most';
const headerNames = 'must be a list of header names in lower case, one at least';
/** Both have a meaning of their own: the key of the other protocols, and the host's sessions. */
const otherHeaders: ReadonlySet<string> = new Set(['authorization', 'cookie']);
const chargeRule: z.ZodType = z.enum(
  ['release', 'nothing', 'prompt', 'usage', 'observed', 'pend'],
  'must be release, nothing, prompt, usage, observed or pend',
);

const nativeKeyHeader: z.ZodType = z
  .string(headerNames)
  .regex(/^[a-z0-9-]+$/, headerNames)
  .refine(
    (name) => !otherHeaders.has(name),
    'must not be authorization or cookie, which mean something else',
  );

const optionsSchema = z.strictObject(
  {
    keys: methods('find'),
    quota: methods('reserve', 'extend', 'settle', 'release', 'sweep', 'read', 'adjust', 'check'),
    catalog: methods('find', 'list'),
    rateLimiter: methods('consume').optional(),
    usage: methods('record', 'close').optional(),
    idempotency: methods('claim', 'finish', 'abandon').optional(),
    results: methods('put', 'get').optional(),
    dedupeSdkRetries: flag.optional(),
    upstream: methods('send', 'close').optional(),
    nativeKeyHeaders: z.array(nativeKeyHeader, headerNames).min(1, headerNames).optional(),
    allowQueryKey: flag.optional(),
    maxBodyBytes: positive.optional(),
    maxImageBodyBytes: positive.optional(),
    maxBufferedBytes: positive.optional(),
    maxConcurrentCalls: positive.optional(),
    timeouts: each({ ...defaultOptions.timeouts }, () => wait.optional()).optional(),
    callerStallMs: wait.optional(),
    leaseMs: z.int(lease).min(5_000, lease).max(900_000, lease).optional(),
    storeTimeoutMs: wait.optional(),
    chargePolicy: each(chargePolicy, (rules) => each(rules, () => chargeRule)).optional(),
    onEvent: aFunction.optional(),
    clock: aClock.optional(),
    ids: aFunction.optional(),
    random: aFunction.optional(),
  },
  'must be an object',
);

/** An object with the members of `like`, and no other. */
function each<T>(like: Readonly<Record<string, T>>, schemaOf: (value: T) => z.ZodType): z.ZodType {
  const members = Object.entries(like).map(([name, value]) => [name, schemaOf(value)] as const);
  return z.strictObject(Object.fromEntries(members), 'must be an object');
}

/** How to mend an option that has no default. */
const cures: ReadonlyMap<unknown, string> = new Map([
  ['keys', 'memoryKeyStore() makes one'],
  ['quota', 'memoryQuotaStore() makes one'],
  ['catalog', 'staticCatalog() makes one'],
  ['chargePolicy', 'Spread the exported chargePolicy and change rows of it'],
]);

const wording: Wording = {
  root: 'options',
  remedyFor: ([name]) =>
    name === undefined ? undefined : (cures.get(name) ?? 'Leave it out for the default'),
  names: 'docs/options.md',
};

/** A body that is as large as it may be must fit, or the limit of its own would say too much. */
function checkRoom(settings: Settings): void {
  const { maxBufferedBytes } = settings;
  for (const name of ['maxBodyBytes', 'maxImageBodyBytes'] as const) {
    if (settings[name] <= maxBufferedBytes) continue;
    throw new ConfigurationError(
      `options.maxBufferedBytes must be at least ${name}: it is ${maxBufferedBytes}, and ${name} ` +
        `is ${settings[name]}. Raise the one, or lower the other.`,
    );
  }
}
