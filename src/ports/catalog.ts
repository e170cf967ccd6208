/**
 * The port that lists the models: what exists, who may use it, what it costs, which channels serve
 * it.
 */
import type { Nanos, Price } from '../money.ts';
import type { MaybePromise } from './call-options.ts';

/** One of the ways to call the gateway. */
export type ProtocolName = 'chat' | 'images' | 'native';

/** A provider's wire format. */
export type DialectName = 'openai' | 'gemini';

/**
 * What an upstream can take and give; each flag has a default that is true for the dialect's own
 * provider.
 */
export interface Capabilities {
  /** Takes `stream_options.include_usage`. Default true. */
  readonly includeUsage?: boolean;
  /**
   * `unasked`: answers images in Base64 and refuses `response_format` (GPT-image, the default).
   * `response_format`: must be asked with `response_format: "b64_json"` (DALL·E, most compatible
   * servers).
   */
  readonly imageBase64?: 'unasked' | 'response_format';
}

/** One upstream account that serves a model. The same id under two models is the same account. */
export interface Channel {
  readonly id: string;
  readonly dialect: DialectName;
  /**
   * `https://api.openai.com/v1`, `https://generativelanguage.googleapis.com/v1beta`: up to the
   * version.
   */
  readonly baseUrl: string;
  /** The account's secret; a function is asked once a call, for secrets that rotate. */
  readonly credential: string | (() => Promise<string>);
  /** What this account calls the model; the model's id where left out. */
  readonly upstreamModel?: string;
  /** Lower is tried first. */
  readonly priority: number;
  /** Share of the calls among channels of one priority. 0 takes none. */
  readonly weight: number;
  /**
   * The channel serves only models that cost the caller at most this, in nanos: per million output
   * tokens, or the dearest image.
   */
  readonly maxPriceNanos?: Nanos;
  readonly capabilities?: Capabilities;
  /** Static headers of the account, sent with every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Passes none of the upstream's own words about a bad request to the caller. */
  readonly hideErrors?: boolean;
  readonly timeouts?: Partial<Timeouts>;
}

/** How long an upstream may take, in ms. */
export interface Timeouts {
  readonly connectMs: number;
  /** Until the status line: of a streamed reply, and of one that comes whole. */
  readonly firstByteStreamedMs: number;
  readonly firstByteMs: number;
  /** Between two pieces of the reply. */
  readonly idleMs: number;
  readonly totalMs: number;
}

/** What a caller names. */
export interface Model {
  /** Exact and case-sensitive; slashes and colons are legal. */
  readonly id: string;
  /** Named to the caller in `No available <vendor> accounts`. */
  readonly vendor: string;
  readonly protocols: readonly ProtocolName[];
  /** Groups whose keys may use it; none means nobody. */
  readonly groups: readonly string[];
  readonly price: Price;
  readonly channels: readonly Channel[];
  /** Other ids it answers to. */
  readonly aliases?: readonly string[];
  readonly maxOutputTokens?: number;
  readonly contextTokens?: number;
  /** What one image, sound or file in a prompt may count at most; 4,096 where left out. */
  readonly mediaPartTokens?: number;
  /** The largest `n` or `candidateCount`; unbounded where left out. */
  readonly maxCandidates?: number;
  /** Unix seconds, as `GET /v1/models` shows it. */
  readonly createdAtSeconds?: number;
  readonly displayName?: string;
  readonly description?: string;
  readonly timeouts?: Partial<Timeouts>;
}

/** The live list of models. */
export interface Catalog {
  /** The model of this id or alias, byte for byte, or undefined. */
  find(modelId: string): MaybePromise<Model | undefined>;
  /** The models a group may use by a protocol, in a stable order. */
  list(group: string, protocol: ProtocolName): MaybePromise<readonly Model[]>;
}
