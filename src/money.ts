/** Types for money and usage. Money is whole nanos in a `bigint`, never a float. */

/**
 * A nano is 1e-9 of the host's currency unit. Amounts are from 0 to 2^53 − 1, about nine million
 * units per subject and period: the same limit for every store, because Redis counts in doubles.
 */
export type Nanos = bigint;

/** The largest amount in any store: 2^53 − 1. */
export const maxNanos: Nanos = 9_007_199_254_740_991n;

/** The price of a million tokens of each kind, in nanos. */
export interface TokenRates {
  /** For tokens of the prompt. */
  readonly input: Nanos;
  /** Default: as `input`; may be left out for models without token output. */
  readonly output?: Nanos;
  /** Prompt tokens read from the provider's cache. Default: as `input`. */
  readonly cachedInput?: Nanos;
  /** Prompt tokens written to the provider's cache for 5 minutes. Default: as `input`. */
  readonly cacheWrite5m?: Nanos;
  /** Prompt tokens written to the provider's cache for an hour. Default: as `cacheWrite5m`. */
  readonly cacheWrite1h?: Nanos;
  /** Reasoning tokens. Default: as `output`. */
  readonly reasoning?: Nanos;
  /** Audio tokens of the prompt. Default: as `input`. */
  readonly audioInput?: Nanos;
  /** Audio tokens of the reply. Default: as `output`. */
  readonly audioOutput?: Nanos;
  /** Image tokens of the prompt. Default: as `input`. */
  readonly imageInput?: Nanos;
  /** Image tokens of the reply. Default: as `output`. */
  readonly imageOutput?: Nanos;
  /** Video tokens of the prompt. Default: as `input`. */
  readonly videoInput?: Nanos;
}

/** The rates for longer prompts. */
export interface PriceTier {
  /**
   * Applies to calls whose whole prompt, including cached tokens, exceeds this number of tokens.
   */
  readonly aboveInputTokens: number;
  /**
   * The rates for all tokens of such a call, including the reply; missing rates are not taken from
   * the base rates.
   */
  readonly rates: TokenRates;
}

/** A price per token. */
export interface TokenPrice {
  readonly per: 'token';
  /** For prompts up to the first tier. */
  readonly rates: TokenRates;
  /** The tier with the highest threshold that the prompt exceeds replaces `rates`. */
  readonly tiers?: readonly PriceTier[];
  /** What members of a request cost in addition, such as a tool. */
  readonly members?: MemberPrices;
}

/** A price per image, by size and quality. */
export interface ImagePrice {
  readonly per: 'image';
  /**
   * A row without `size` or `quality` applies to every value of it; of several matching rows the
   * most expensive one counts.
   */
  readonly rows: readonly {
    /** The size that it is for: `1024x1024`. Default: all sizes. */
    readonly size?: string;
    /** The quality that it is for: `high`. Default: all qualities. */
    readonly quality?: string;
    /** The price of one image, in nanos. */
    readonly nanos: Nanos;
  }[];
  /** What members of a request cost in addition. */
  readonly members?: MemberPrices;
}

/**
 * A model that is free for its callers. It must be stated explicitly: a model without a price is
 * not served.
 */
export interface FreePrice {
  readonly per: 'free';
}

/** The price of a model for its callers, or of a channel for its operator. */
export type Price = TokenPrice | ImagePrice | FreePrice;

/**
 * Request members that make a call cost more than the model's price. On models with a price they
 * are refused unless {@link MemberPrices} lists them; free models accept them. `file_search`,
 * `code_interpreter`, `shell`, `mcp`, `advisor` and `fallbacks` must be allowed on every model
 * (`Model.allow`), and may have a price; so must `other_tools` with a vendor's prefix.
 */
export type CostMember = (typeof costMembers)[number];

export const costMembers = [
  ...['service_tier', 'speed', 'inference_geo', 'best_of', 'web_search', 'web_fetch', 'maps'],
  ...['code_execution', 'image_generation', 'file_search', 'code_interpreter', 'shell'],
  ...['other_tools', 'mcp', 'advisor', 'fallbacks', 'tool_search', 'compaction', 'num_images'],
  ...['image_size', 'output_format', 'complexity', 'frame_count', 'input_fidelity'],
  ...['partial_images', 'output_modalities', 'reasoning_budget', 'reasoning_mode'],
] as const;

/** The request members that callers of a priced model may use, with their prices. */
export type MemberPrices = { readonly [Row in CostMember]?: MemberPrice };

/** The price of a call that uses such a member. */
export interface MemberPrice {
  /** Multiplies the cost of the call's tokens or images: `'6'`, `'1.1'`. Default: 1. */
  readonly multiplier?: string;
  /** The fee for each call of the tool, such as a web search. Default: none. */
  readonly perCallNanos?: Nanos;
  /** The number of tool calls that the hold covers. Default: 10. */
  readonly holdCalls?: number;
  /**
   * The number of input tokens that all results of the tool together may add to a call. Default:
   * `contextTokens` for each of `holdCalls` if the member is a tool, else 0.
   */
  readonly holdInputTokens?: number;
}

/**
 * The usage of a reply, in the kinds of tokens that a price has. A count that is undefined was not
 * reported, and is charged as part of the broader count.
 */
export interface Usage {
  /** Prompt tokens of every kind. */
  readonly inputTokens: number;
  /** The part of `inputTokens` that the upstream read from its cache. */
  readonly cachedInputTokens: number;
  /** Completion tokens of every kind, including reasoning. */
  readonly outputTokens: number;
  /** The number of generated images; 0 for text. */
  readonly images: number;
  /** The part of `inputTokens` that the upstream wrote to its cache, for 5 minutes. */
  readonly cacheWrite5mTokens?: number | undefined;
  /** The part of `inputTokens` that the upstream wrote to its cache, for an hour. */
  readonly cacheWrite1hTokens?: number | undefined;
  /** Parts of `outputTokens`. */
  readonly reasoningTokens?: number | undefined;
  /** The part of `outputTokens` that is audio. */
  readonly audioOutputTokens?: number | undefined;
  /** The part of `outputTokens` that is images. */
  readonly imageOutputTokens?: number | undefined;
  /** Parts of `inputTokens`, excluding tokens that the upstream reported as read from its cache. */
  readonly audioInputTokens?: number | undefined;
  /** The part of `inputTokens` that is images. */
  readonly imageInputTokens?: number | undefined;
  /** The part of `inputTokens` that is video. */
  readonly videoInputTokens?: number | undefined;
  /**
   * The prompt tokens of the largest pass, if the upstream ran the model several times for one
   * reply. They determine the price tier of what `passes` leaves out.
   */
  readonly largestPassInputTokens?: number | undefined;
  /**
   * The passes of which `inputTokens` and `outputTokens` are the sum, if the upstream reports them:
   * each is charged at its own price tier. Only the sum is kept in usage records.
   */
  readonly passes?: readonly PassUsage[] | undefined;
  /** The calls of the provider's tools that may have a fee. */
  readonly toolCalls?: ToolCalls | undefined;
  /** The parts that the upstream did not report. Not kept in usage records. */
  readonly unreported?: UnreportedTokens | undefined;
  /** What the upstream's usage says besides. Not kept in usage records. */
  readonly remarks?: UsageRemarks | undefined;
}

/** What an upstream's usage says besides its counts. */
export interface UsageRemarks {
  /**
   * Its counts contradict each other: a total differs from the sum of its parts or is less than one
   * of them, or a count is stated twice with different values. The larger counts are in the usage.
   */
  readonly isInconsistent?: true;
  /** The names of numbers that the gateway doesn't know: `details.name`. */
  readonly unknown?: readonly string[];
  /** What the upstream says that the call cost the operator. */
  readonly costNanos?: Nanos;
}

/** The tokens of one pass, as the {@link Usage} of the whole call has them. */
export type PassUsage = Pick<
  Usage,
  'inputTokens' | 'cachedInputTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens' | 'outputTokens'
>;

/** The tokens of a usage that the gateway counted or estimated. */
export interface UnreportedTokens {
  /** The part of `inputTokens` that was estimated from the prompt. */
  readonly input: number;
  /** The part of `outputTokens` that was counted in the reply. */
  readonly output: number;
  /**
   * Another part of `outputTokens`, counted in the reply too: the upstream reported only its sum
   * with `inputTokens`.
   */
  readonly splitOutput: number;
}

export const allReported: UnreportedTokens = { input: 0, output: 0, splitOutput: 0 };

/** The usage of a blocked prompt for which the provider reports none. */
export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  images: 0,
};

/** How often each tool was called. A missing tool was not called. */
export type ToolCalls = { readonly [Row in CostMember]?: number };
