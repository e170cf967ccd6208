/**
 * The options of a gateway. `npm run generate` writes docs/options.md from these comments and from
 * the defaults in plain-options.ts.
 */
import type { ChargePolicy } from './charge-policy.ts';
import type { Clock } from './clock.ts';
import type { EventListener } from './events/events.ts';
import type { FilteredListener } from './events/filter.ts';
import type { ClusterStore } from './ports/cluster-store.ts';
import type { Guard } from './ports/guard.ts';
import type { FailedKeyLimit } from './ports/keys/failed-key-limit.ts';
import type { KeyStore, SessionStore } from './ports/keys/key-store.ts';
import type { QuotaStore } from './ports/limits/quota-store.ts';
import type { RateLimiter } from './ports/limits/rate-limiter.ts';
import type { KeyRateLimits } from './ports/limits/rates.ts';
import type { Catalog } from './ports/models/catalog.ts';
import type { RefusalLog } from './ports/refusal-log.ts';
import type { IdempotencyStore } from './ports/replies/idempotency-store.ts';
import type { ResponseOptions } from './ports/replies/response-options.ts';
import type { ResultStore } from './ports/replies/result-store.ts';
import type { Timeouts } from './ports/timeouts.ts';
import type { UpstreamClient } from './ports/upstream-client.ts';
import type { UsageSink } from './ports/usage-sink.ts';

/** The options of `createGateway`. */
export interface GatewayOptions {
  /** Looks up keys. */
  readonly keys: KeyStore;
  /**
   * Lets signed-in users of your own web app call with their session in place of a key: see
   * docs/keys.md#sessions-in-place-of-keys.
   */
  readonly sessions?: SessionStore;
  /** Limits how many invalid keys one address may send: see docs/keys.md#invalid-keys. */
  readonly failedKeyLimit?: FailedKeyLimit;
  /** Holds and charges quota. */
  readonly quota: QuotaStore;
  /** The current list of models. */
  readonly catalog: Catalog;
  /**
   * Keeps the token buckets of the rate limits that keys and models state: see docs/rates.md. Use
   * `redisRateLimiter` or that of another database where several processes serve the same keys.
   *
   * @defaultValue in memory
   */
  readonly rateLimiter?: RateLimiter;
  /** The rate limits of keys whose record states none. `rates: []` in a record means no limit. */
  readonly defaultRates?: readonly KeyRateLimits[];
  /**
   * Looks at each call before it costs anything, and may refuse it or give its usage record labels:
   * see docs/guards.md.
   */
  readonly guard?: Guard;
  /** Receives usage records. */
  readonly usage?: UsageSink;
  /**
   * Where refused requests are counted, by key, group, model, code and reason, once a minute: the
   * usage sink itself if it is one of the package for memory or a database, or a log of your own.
   * See docs/stores.md#refusals.
   */
  readonly recordRefusals?: RefusalLog;
  /**
   * Remembers which calls have run under an `Idempotency-Key`.
   *
   * @defaultValue in memory
   */
  readonly idempotency?: IdempotencyStore;
  /**
   * Keeps replies for repeated calls.
   *
   * @defaultValue in memory
   */
  readonly results?: ResultStore;
  /** What later calls of `POST /v1/responses` may refer to. */
  readonly responses?: ResponseOptions;
  /**
   * Treats a call as a retry if OpenAI's SDK marks it as one: it then gets the outcome of the
   * latest call with the same key, route and body.
   */
  readonly dedupeSdkRetries?: boolean;
  /**
   * The HTTP client for upstreams, for tests and for hosts with special networks: the `ca` of
   * `undiciClient` adds a private certificate authority. On Bun: `fetchUpstreamClient()` of
   * `tollgate/fetch`.
   *
   * @defaultValue `undiciClient()`
   */
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
   * See docs/mounting.md#paths.
   */
  readonly unserved?: 'refuse' | 'pass';
  /**
   * Serves `GET /v1/key`, where the owner of a key sees its limit and usage: see
   * docs/keys.md#what-the-owner-of-a-key-can-see.
   */
  readonly ownerRoutes?: boolean;
  /**
   * Also serves the paths of Azure's clients, such as `AzureOpenAI`: `/openai/v1/…`,
   * `/openai/responses` and `/openai/deployments/{model}/chat/completions`, where the path names
   * the model and the header `api-key` carries the key. See docs/mounting.md#azures-clients.
   */
  readonly azurePaths?: boolean;
  /**
   * The model's id for image requests without `model`, which OpenAI allows. Without this option
   * they get 400.
   */
  readonly defaultImageModel?: string;
  /** The largest request body of every API but images, in bytes. */
  readonly maxBodyBytes?: number;
  /** The largest image request body, in bytes. */
  readonly maxImageBodyBytes?: number;
  /**
   * The maximum size of the request bodies of all running calls together, in bytes, with the stored
   * items that the gateway puts into them, and with where the values are in a body of very many;
   * above it, 503. Once half is used, a key that holds a
   * quarter is refused; the last eighth is reserved for bodies up to 64 KiB.
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
   * The lease of a hold, in ms: how long it remains after a crash. Renewed after a third of it
   * while the call runs. At least 5 s, because the renewal timer ticks once a second and a renewal
   * may need a retry.
   */
  readonly leaseMs?: number;
  /** The timeout of store operations, in ms; after it, 503. */
  readonly storeTimeoutMs?: number;
  /**
   * The charge for each ending of a call: see docs/costs.md.
   *
   * @defaultValue `chargePolicy`
   */
  readonly chargePolicy?: ChargePolicy;
  /**
   * Receives events, or those of some types or levels: see `GatewayEvent` and docs/events.md. With
   * a filter it is `{ listener, types, level }`.
   */
  readonly onEvent?: EventListener | FilteredListener;
  /**
   * Lets the processes that serve the same models see each other, and apply each other's switches
   * of channels within 5 s: `sqliteClusterStore` or `postgresClusterStore`. It can't be changed by
   * `update`. See docs/channels.md#several-processes.
   *
   * @defaultValue none: a switch holds in this process, until it ends
   */
  readonly cluster?: ClusterStore;
  /**
   * The clock, for tests.
   *
   * @defaultValue the system's
   */
  readonly clock?: Clock;
  /**
   * Creates the ids of requests and reservations: 16 to 64 characters of `A-Za-z0-9_-`, never
   * repeated.
   *
   * @defaultValue 22 random characters
   */
  readonly ids?: () => string;
  /**
   * A number in [0, 1) for the choice of channels, for tests.
   *
   * @defaultValue `Math.random`
   */
  readonly random?: () => number;
}
