/** Checks the options of a gateway at start-up, and fills in their defaults. */
import { z } from 'zod';
import { chargePolicy } from './charge-policy.ts';
import { type Clock, systemClock } from './clock.ts';
import { ConfigurationError } from './errors.ts';
import { subscriptionOf } from './events/filter.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { plainDefaults, plainOptions } from './plain-options.ts';
import type { Guard } from './ports/guard.ts';
import type { FailedKeyLimit } from './ports/keys/failed-key-limit.ts';
import type { SessionStore } from './ports/keys/key-store.ts';
import type { ResponseOptions, ResponseSettings } from './ports/replies/response-options.ts';
import {
  defaultResponseOptions,
  responseOptionsSchema,
} from './ports/replies/response-options-schema.ts';
import {
  aClock,
  aFunction,
  checkSetUp,
  defaultRemedy,
  each,
  methods,
  positive,
  strict,
  type Wording,
} from './ports/set-up.ts';
import type { Timeouts } from './ports/timeouts.ts';
import { randomIds } from './random-ids.ts';
import { memoryIdempotencyStore } from './stores/memory/idempotency-store.ts';
import { memoryItemStore } from './stores/memory/item-store.ts';
import { memoryRateLimiter } from './stores/memory/rate-limiter.ts';
import { memoryResponseIndex } from './stores/memory/response-index.ts';
import { memoryResultStore } from './stores/memory/result-store.ts';

type WithoutDefault =
  | 'sessions'
  | 'failedKeyLimit'
  | 'defaultRates'
  | 'guard'
  | 'usage'
  | 'recordRefusals'
  | 'cluster'
  | 'defaultImageModel'
  | 'onEvent';

/** The options with all defaults filled in: an immutable snapshot that a call keeps to its end. */
export type Settings = Readonly<
  Required<Omit<GatewayOptions, WithoutDefault | 'upstream' | 'timeouts' | 'responses'>>
> & { readonly [Name in WithoutDefault]?: GatewayOptions[Name] | undefined } & {
  readonly timeouts: Timeouts;
  readonly responses: ResponseSettings;
};

/**
 * Validates the options and fills in the defaults. A gateway that updates its options keeps its
 * default stores, so that it does not forget which calls have run.
 *
 * @throws ConfigurationError that names the option and the remedy
 */
export function settingsOf(options: GatewayOptions, before?: Settings): Settings {
  checkSetUp(optionsSchema, options, wording);
  if (options.onEvent !== undefined) subscriptionOf(options.onEvent);
  const clock = options.clock ?? systemClock();
  const settings: Settings = {
    ...plainDefaults,
    ids: randomIds(),
    chargePolicy,
    clock,
    idempotency: before?.idempotency ?? memoryIdempotencyStore({ clock }),
    results: before?.results ?? memoryResultStore({ clock }),
    rateLimiter: before?.rateLimiter ?? memoryRateLimiter({ clock }),
    ...withoutUndefined(options),
    random: safeRandom(options.random ?? Math.random),
    timeouts: { ...plainDefaults.timeouts, ...withoutUndefined(options.timeouts ?? {}) },
    responses: responseSettings(options.responses ?? {}, clock, before?.responses),
  };
  checkBodyLimits(settings);
  return settings;
}

/** The option `responses` with its defaults. An update keeps the stores in memory. */
function responseSettings(
  { index, items, ...options }: ResponseOptions,
  clock: Clock,
  before: ResponseSettings | undefined,
): ResponseSettings {
  return {
    ...defaultResponseOptions,
    ...withoutUndefined(options),
    index: index ?? before?.index ?? memoryResponseIndex({ clock }),
    items: items === false ? undefined : (items ?? before?.items ?? memoryItemStore({ clock })),
  };
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

const aListener: z.ZodType = z.custom(
  (value) => typeof value === 'function' || methods('listener').safeParse(value).success,
  'must be a function, or an object with listener()',
);

const guard: z.ZodType = z.looseObject(
  {
    check: aFunction,
    onFailure: z.enum(['refuse', 'pass'], "must be 'refuse' or 'pass'").optional(),
  } satisfies Record<keyof Guard, z.ZodType>,
  'must be an object with check()',
);

const optionsSchema = strict('must be an object', {
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
  cluster: methods('report', 'leave', 'read', 'switchChannel').optional(),
  results: methods('put', 'get').optional(),
  responses: responseOptionsSchema.optional(),
  upstream: methods('send', 'close').optional(),
  chargePolicy: each(chargePolicy, (rules) => each(rules, () => chargeRule)).optional(),
  onEvent: aListener.optional(),
  clock: aClock.optional(),
  ids: aFunction.optional(),
  random: aFunction.optional(),
  ...plainOptions,
});

/** The remedy for options without a default. */
const remedies: ReadonlyMap<unknown, string> = new Map([
  ['keys', 'memoryKeyStore({ keys: [issueKey({ … })] }) creates one'],
  ['sessions', 'Leave sessions out if all callers send keys'],
  ['failedKeyLimit', 'Leave failedKeyLimit out for no limit'],
  ['quota', 'memoryQuotaStore() creates one'],
  ['catalog', 'staticCatalog([…]) creates one'],
  ['recordRefusals', 'Give it a usage sink for memory or a database, or leave it out'],
  ['cluster', 'Leave cluster out if there is one process'],
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
