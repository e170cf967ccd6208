/** Prices as people write them and as JSON has them: amounts are decimal strings in units. */
import type { CostMember } from '../money.ts';

/** What a million tokens of each kind cost, in units; see `TokenRates`. */
export interface RatesInput {
  readonly input: string;
  readonly output?: string | undefined;
  readonly cachedInput?: string | undefined;
  readonly cacheWrite5m?: string | undefined;
  readonly cacheWrite1h?: string | undefined;
  readonly reasoning?: string | undefined;
  readonly audioInput?: string | undefined;
  readonly audioOutput?: string | undefined;
  readonly imageInput?: string | undefined;
  readonly imageOutput?: string | undefined;
  readonly videoInput?: string | undefined;
}

/** Other rates for long prompts; see `PriceTier`. */
export interface TierInput extends RatesInput {
  readonly aboveInputTokens: number;
}

/** What a member of a request costs; see `MemberPrice`. */
export interface MemberPriceInput {
  readonly multiplier?: string | undefined;
  /** Fee for each call of the tool, in units. */
  readonly perCall?: string | undefined;
  readonly holdCalls?: number | undefined;
  readonly holdInputTokens?: number | undefined;
}

/** The members that callers may use; see `MemberPrices`. */
export type MembersInput = { readonly [Row in CostMember]?: MemberPriceInput | undefined };

/** A price by the token, in units per million tokens. */
export interface TokenPriceInput extends RatesInput {
  readonly tiers?: readonly TierInput[] | undefined;
  readonly members?: MembersInput | undefined;
}

/** What one image of a size and quality costs, in units. */
export interface ImagePriceRow {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  readonly price: string;
}

/** A price as JSON has it. */
export type PriceJson =
  | (TokenPriceInput & { readonly per: 'token' })
  | {
      readonly per: 'image';
      readonly rows: readonly ImagePriceRow[];
      readonly members?: MembersInput | undefined;
    }
  | { readonly per: 'free' };
