/** The port that lists the models: who may use them, their prices, and the channels behind them. */
import type { protocolNames } from '../../apis.ts';
import type { Nanos, Price } from '../../money.ts';
import type { MaybePromise } from '../call-options.ts';
import type { ApiKey } from '../keys/key-store.ts';
import type { RateLimits } from '../limits/rates.ts';
import type { Timeouts } from '../timeouts.ts';
import type { Capabilities, DialectName } from './capabilities.ts';
import type { Platform } from './platform.ts';
import type { AllowedMembers } from './reach-members.ts';

/** An API that callers use to call the gateway. */
export type ProtocolName = (typeof protocolNames)[number];

/** The most input tokens that one part of a prompt may count, by its kind, for the hold. */
export interface MediaPartTokens {
  /** One image. Default: 4,096. */
  readonly image?: number;
  /**
   * One audio recording. Default: 4,096. The hold takes 0.05 tokens per byte of it if that is more.
   */
  readonly audio?: number;
  /** One video. Default: 4,096. The hold takes 0.05 tokens per byte of it if that is more. */
  readonly video?: number;
  /** One PDF or other document that is not text. Default: `contextTokens`. */
  readonly document?: number;
  /**
   * A reference whose content is not in the request: a file ID, a URL that is not an image, cached
   * content. Default: `contextTokens`.
   */
  readonly reference?: number;
}

/** The call for which a channel's credential is needed. */
export interface CredentialRequest {
  /** The key that sent the call, with its metadata. */
  readonly key: ApiKey;
  /** The model that is called. */
  readonly model: Model;
  /** The channel that is tried. */
  readonly channel: Channel;
}

/** A secret with the account that it belongs to. */
export interface AccountCredential {
  /** The API key of the account. */
  readonly secret: string;
  /**
   * The account's name, such as the id of the user who brought the secret: 1 to 128 characters
   * without control characters, no secret. A named account has a health of its own: its failures
   * affect neither the channel nor other accounts. Leave it out for the channel's own account,
   * which no name stands for, not even the channel's `id` or `account`.
   */
  readonly account?: string;
}

/**
 * An access token of a cloud, as `google-auth-library` and `@azure/identity` return it. With a time
 * at which it expires, in Unix ms, it is kept until a minute before, and renewed four minutes
 * before that, unless the function is in `perKey()`.
 */
export interface TokenCredential {
  /** The access token, without `Bearer`. */
  readonly token: string;
  /** When the token expires, in Unix ms; a new one is fetched before. */
  readonly expiresOnTimestamp?: number;
  /** The account's name, if calls of one channel use several. */
  readonly account?: string;
}

/** Keys of AWS, as `@aws-sdk/credential-providers` return them; kept until they expire. */
export interface AwsCredential {
  /** The id of the access key: `AKIA…` or `ASIA…`. */
  readonly accessKeyId: string;
  /** The secret that requests are signed with. */
  readonly secretAccessKey: string;
  /** The token of temporary keys. */
  readonly sessionToken?: string | undefined;
  /** When temporary keys expire; new ones are fetched before. */
  readonly expiration?: Date | undefined;
  /** The account's name, if calls of one channel use several. */
  readonly account?: string;
}

/** What a channel's `credential` function returns; undefined if it has nothing for the key. */
export type CredentialAnswer =
  | string
  | AccountCredential
  | TokenCredential
  | AwsCredential
  | null
  | undefined;

/** What a channel costs the operator: a price, or what its replies say. */
export type ChannelCost = Price | 'reported';

/** One upstream account that serves a model. The same id under two models is the same account. */
export interface Channel {
  /** Names the account: limits and health are shared by all models that have it. */
  readonly id: string;
  /** The wire format of the upstream: `openai`, `gemini` or `anthropic`. */
  readonly dialect: DialectName;
  /**
   * The base URL, up to and including the version: `https://api.openai.com/v1`,
   * `https://generativelanguage.googleapis.com/v1beta`. For a server whose paths have no version
   * and no other prefix, end it with a slash: `https://llm.example/`.
   */
  readonly baseUrl: string;
  /**
   * Where the models are hosted, if not at the provider of the dialect. `azure()`, `vertex()` and
   * `bedrock()` return it together with `dialect` and `baseUrl`, to be spread into the channel.
   */
  readonly platform?: Platform;
  /**
   * The account's secret, as printable ASCII. A function is called when a call is about to be sent
   * through this channel, for secrets that rotate and for secrets that users bring. It returns a
   * secret of the channel's own account, a secret with the name of another account, or undefined:
   * then the call does not use this channel, so it never spends another account's money. Functions
   * of the clouds' own libraries may be used as they are: see {@link CredentialAnswer}.
   *
   * What it throws, and its timeouts (`timeouts.connectMs`), count against the channel. Those of a
   * function in `perKey()`, or of one that has named an account, count against the key of the call.
   * If the upstream refuses a secret, the function is called once more; a new secret is tried.
   */
  readonly credential: string | ((request: CredentialRequest) => MaybePromise<CredentialAnswer>);
  /**
   * The name of the channel's own account, which the events of attempts show. Channels with
   * one name are of one organisation of a provider: they share stored responses and can read each
   * other's encrypted reasoning. An account to which `credential` gives the same name is another
   * one. Default: the channel has an account of its own, without a name.
   */
  readonly account?: string;
  /** The account's name for the model. Default: the model's id. */
  readonly upstreamModel?: string;
  /**
   * The account's name for the model whose tokens are counted, where `CountTokens` of Bedrock
   * refuses the other: a foundation model in place of an inference profile. Default: on
   * `bedrock({ kind: 'runtime' })` counts are estimated; elsewhere `upstreamModel`.
   */
  readonly countModel?: string;
  /** Channels with a lower number are tried first. Default: 0. */
  readonly priority?: number;
  /**
   * The channel's share of the calls among channels of the same priority. Default: 1. A channel of
   * weight 0 gets no calls.
   */
  readonly weight?: number;
  /**
   * The channel serves only models whose price for callers is at most this, in nanos: per million
   * output tokens (input tokens, if there is no output), or for the most expensive image.
   */
  readonly maxPriceNanos?: Nanos;
  /**
   * The provider's price for the operator, or `'reported'` for a provider whose replies state their
   * cost. With it, each usage record states what the call cost the operator. It changes nothing for
   * callers.
   */
  readonly cost?: ChannelCost;
  /** The channel serves only keys of these groups. Default: all groups of the model. */
  readonly groups?: readonly string[];
  /**
   * How many calls may run through this account at once, in this process; above that, other
   * channels are used.
   */
  readonly maxConcurrentCalls?: number;
  /**
   * Keeps calls of one key on one account, where their prompts are cached: all of them (`key`),
   * those with one `prompt_cache_key`, or those of one session as the clients of each API name it
   * (`session`; all calls that name none are one session). Default: the channel is chosen by weight
   * for each call. With `prompt_cache_key`, so it is for calls that have none.
   */
  readonly stickyBy?: 'key' | 'prompt_cache_key' | 'session';
  /**
   * The account returns 503 and 529 only before it does any work, so that even an image call may
   * then be tried on another channel.
   */
  readonly rejectsBeforeWork?: boolean;
  /** Where the server differs from its dialect. Default: by the upstream model's name. */
  readonly capabilities?: Capabilities;
  /** Static headers of the account, sent with every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * `reported` (default): calls are charged for the usage that the account reports, even above
   * their hold. `held`: never more than their hold, for an account whose reports you do not trust.
   */
  readonly usageTrust?: 'reported' | 'held';
  /**
   * Hides the upstream's own error messages about bad requests from callers. Without it they are
   * shown, unless they contain a secret of the account.
   */
  readonly hideErrors?: boolean;
  /** Its own timeouts, in ms. Default: the model's, then the gateway's. */
  readonly timeouts?: Partial<Timeouts>;
}

/** A model that callers can name. */
export interface Model {
  /** Matched exactly and case-sensitively; slashes and colons are legal. */
  readonly id: string;
  /**
   * Of a model that a catalog made of a wildcard: the id that callers send. `id` is then that of
   * the wildcard, by which events, metrics, usage records and `rates` know all its models.
   */
  readonly exactId?: string;
  /**
   * Shown to callers in lists of models and in `No available <vendor> accounts`. Default: the
   * provider of the first channel, `OpenAI`, `Google` or `Anthropic`.
   */
  readonly vendor?: string;
  /**
   * All channels and fallbacks make the same vectors, although their names for the model differ: an
   * Azure deployment, `openai/text-embedding-3-small`. Without it they must all have one
   * `upstreamModel`, if the model offers `embeddings`.
   */
  readonly sameVectors?: boolean;
  /**
   * The APIs through which the model is offered. Default: `images` for a price per image, else
   * `chat`, `native`, `responses` and `messages`; others must always be named.
   */
  readonly protocols?: readonly ProtocolName[];
  /** Groups whose keys may use the model; an empty list means that no key may. */
  readonly groups: readonly string[];
  /** What callers pay: see `tokenPrice`, `imagePrice` and docs/costs.md. */
  readonly price: Price;
  /** The upstream accounts that serve it; at least one. */
  readonly channels: readonly Channel[];
  /**
   * What decides between channels of one priority, before their weight and after stickiness:
   * `latency` is the median of a channel's latest first bytes, `cost` is by `Channel.cost`.
   */
  readonly prefer?: 'cost' | 'latency';
  /** Other ids for the same model. */
  readonly aliases?: readonly string[];
  /**
   * Ids of models to ask instead, in this order, while all accounts of this one are out: cooling
   * down, at their limit, or failing before a call runs. A fallback is asked only if the key's
   * group may use it and it supports the request. It is charged at its own price, and named in the
   * header `x-tollgate-model` of the reply. The fallbacks of a fallback are not asked.
   */
  readonly fallbacks?: readonly string[];
  /** The most tokens of one reply. Default: unknown, and a call holds 16,384. */
  readonly maxOutputTokens?: number;
  /** The largest prompt that is held, in tokens; it also bounds documents. Default: unknown. */
  readonly contextTokens?: number;
  /**
   * The most tokens that one byte of a request may count; the hold assumes them. Default: 0.4. No
   * text exceeds 1.
   */
  readonly tokensPerByte?: number;
  /** The most tokens of one image, audio, video or document, for the hold. */
  readonly mediaPartTokens?: MediaPartTokens;
  /** Members that callers may send although they reach beyond the call. Default: none. */
  readonly allow?: AllowedMembers;
  /**
   * How many calls and tokens all keys together may use of the model per minute, hour and day, such
   * as the upstream accounts can serve: `{ tokens: { perMinute: 2_000_000 } }`. Callers do not see
   * its numbers. Default: no limit.
   */
  readonly rates?: RateLimits;
  /** The largest `n` or `candidateCount`. Default: 10 for images, else unbounded. */
  readonly maxCandidates?: number;
  /**
   * Refuses a translated call with 400 for members that would otherwise be left out and listed in
   * `x-tollgate-dropped`.
   */
  readonly strict?: boolean;
  /** Unix seconds, as `GET /v1/models` shows it. Default: 0, which is 1970-01-01. */
  readonly createdAtSeconds?: number;
  /** For lists of models. Default: none. */
  readonly displayName?: string;
  /** For lists of models. Default: none. */
  readonly description?: string;
  /** Timeouts of its calls, in ms. Default: the gateway's. */
  readonly timeouts?: Partial<Timeouts>;
}

/**
 * The live list of models.
 *
 * The gateway checks each model object once and caches what it works out from it by the object's
 * identity. To change a model, return a new object; never change one that was returned before.
 */
export interface Catalog {
  /** The model with this id or alias, compared byte for byte, or undefined. */
  find(modelId: string): MaybePromise<Model | undefined>;
  /** The models that a group may use through a protocol, in a stable order. */
  list(group: string, protocol: ProtocolName): MaybePromise<readonly Model[]>;
}
