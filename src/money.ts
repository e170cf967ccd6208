/**
 * Money is whole nanos in a `bigint`, never a float: `Nanos`, the prices a model may have, and what
 * a reply consumed in the terms a price is in.
 */

/**
 * 1 nano is 1e-9 of the host's currency unit. 0 to 2^53 − 1, about nine million units a subject and
 * period: one bound for every store, because Redis counts in doubles.
 */
export type Nanos = bigint;

/** The largest amount any store holds: 2^53 − 1. */
export const maxNanos: Nanos = 9_007_199_254_740_991n;

/** What a million tokens of each kind cost, in nanos. */
export interface TokenRates {
  readonly input: Nanos;
  /** Left out where the model makes no tokens: as `input`. */
  readonly output?: Nanos;
  /** Prompt tokens read from the provider's cache; as `input` where left out. */
  readonly cachedInput?: Nanos;
  /** Prompt tokens written to the provider's cache for 5 minutes; as `input` where left out. */
  readonly cacheWrite5m?: Nanos;
  /** The same for an hour; as `cacheWrite5m` where left out. */
  readonly cacheWrite1h?: Nanos;
  /** Reasoning tokens; as `output` where left out. */
  readonly reasoning?: Nanos;
  /** Audio tokens of the prompt; as `input` where left out. */
  readonly audioInput?: Nanos;
  /** Audio tokens of the reply; as `output` where left out. */
  readonly audioOutput?: Nanos;
  /** Image tokens of the prompt; as `input` where left out. */
  readonly imageInput?: Nanos;
  /** Image tokens of the reply; as `output` where left out. */
  readonly imageOutput?: Nanos;
  /** Video tokens of the prompt; as `input` where left out. */
  readonly videoInput?: Nanos;
}

/** Other rates for long prompts. */
export interface PriceTier {
  /** Counts for calls whose whole prompt, cached tokens included, has more tokens than this. */
  readonly aboveInputTokens: number;
  /** For all tokens of such a call, of the reply too; nothing is taken from the base rates. */
  readonly rates: TokenRates;
}

/** A price by the token. */
export interface TokenPrice {
  readonly per: 'token';
  readonly rates: TokenRates;
  /** The tier with the highest threshold that the prompt exceeds replaces `rates`. */
  readonly tiers?: readonly PriceTier[];
  readonly members?: MemberPrices;
}

/** What one image costs, by size and quality. */
export interface ImagePrice {
  readonly per: 'image';
  /**
   * A row without `size` or `quality` fits every value of it; of the rows that fit the most
   * expensive counts.
   */
  readonly rows: readonly {
    readonly size?: string;
    readonly quality?: string;
    readonly nanos: Nanos;
  }[];
  readonly members?: MemberPrices;
}

/** A model that costs its callers nothing, stated explicitly: one without a price is not served. */
export interface FreePrice {
  readonly per: 'free';
}

/** What a model costs its callers, or what a channel costs its operator. */
export type Price = TokenPrice | ImagePrice | FreePrice;

/**
 * Members of a request that make a call cost more than the model's price says. They are refused on
 * models with a price unless {@link MemberPrices} lists them, and taken by free ones.
 */
export type CostMember = (typeof costMembers)[number];

/** All of them. */
export const costMembers = [
  'service_tier',
  'speed',
  'inference_geo',
  'best_of',
  'web_search',
  'web_fetch',
  'maps',
  'code_execution',
  'image_generation',
  'num_images',
  'image_size',
  'output_modalities',
  'reasoning_budget',
] as const;

/** The members of a request that callers of a priced model may use, and what each of them costs. */
export type MemberPrices = { readonly [Row in CostMember]?: MemberPrice };

/** What a call costs that uses such a member. */
export interface MemberPrice {
  /** Multiplies the cost of the call's tokens or images: `'6'`, `'1.1'`. 1 where left out. */
  readonly multiplier?: string;
  /** Fee for each call of the tool, a web search for example; none where left out. */
  readonly perCallNanos?: Nanos;
  /** How many calls of the tool the hold covers; 10 where left out. */
  readonly holdCalls?: number;
  /**
   * How many input tokens the tool's results may add to a call, all together. Where left out,
   * `contextTokens` for each of `holdCalls` if the member is a tool, else 0.
   */
  readonly holdInputTokens?: number;
}

/**
 * What a reply consumed, in the terms a price is in. A count that is undefined was not reported; it
 * costs what the broader count costs.
 */
export interface Usage {
  /** Prompt tokens of every kind. */
  readonly inputTokens: number;
  /** The part of `inputTokens` that the upstream read from its cache. */
  readonly cachedInputTokens: number;
  /** Completion tokens of every kind, reasoning among them. */
  readonly outputTokens: number;
  /** Images made; 0 for text. */
  readonly images: number;
  /** The part of `inputTokens` that the upstream wrote to its cache, for 5 minutes. */
  readonly cacheWrite5mTokens?: number | undefined;
  /** The same, for an hour. */
  readonly cacheWrite1hTokens?: number | undefined;
  /** Parts of `outputTokens`. */
  readonly reasoningTokens?: number | undefined;
  readonly audioOutputTokens?: number | undefined;
  readonly imageOutputTokens?: number | undefined;
  /** Parts of `inputTokens`, without those that the upstream says were read from its cache. */
  readonly audioInputTokens?: number | undefined;
  readonly imageInputTokens?: number | undefined;
  readonly videoInputTokens?: number | undefined;
  /**
   * Prompt tokens of the largest pass, where the upstream ran the model several times for one
   * reply: the tier of the price is chosen by them.
   */
  readonly largestPassInputTokens?: number | undefined;
  /** Calls of the provider's tools that may have a fee. */
  readonly toolCalls?: ToolCalls | undefined;
}

/** The usage of a prompt that its provider blocked, and of which it states nothing. */
export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  images: 0,
};

/** How often each tool was called; a kind that is left out was not called. */
export type ToolCalls = { readonly [Row in CostMember]?: number };
