/** Prices as written by hand and in JSON: amounts are decimal strings in currency units. */
import type { CostMember, TokenRates } from '../money.ts';

/** The price of a million tokens of each kind, in units; see `TokenRates`. */
export interface RatesInput extends OptionalRates<string | undefined> {
  /** For tokens of the prompt: `'0.15'`. */
  readonly input: string;
}

export type OptionalRates<Amount> = {
  readonly [Name in Exclude<keyof TokenRates, 'input'>]?: Amount;
};

/** The rates for longer prompts; see `PriceTier`. */
export interface TierInput extends RatesInput {
  /** The tier is for prompts with more tokens than this. */
  readonly aboveInputTokens: number;
}

/** The price of a request member; see `MemberPrice`. */
export interface MemberPriceInput {
  /** Multiplies the price of all tokens of the call: `'1.1'`. */
  readonly multiplier?: string | undefined;
  /** The fee for each call of the tool, in units. */
  readonly perCall?: string | undefined;
  /** How many calls of the tool are held. Default: as in `MemberPrice`. */
  readonly holdCalls?: number | undefined;
  /** How many further input tokens are held. Default: as in `MemberPrice`. */
  readonly holdInputTokens?: number | undefined;
}

/** The members that callers may use; see `MemberPrices`. */
export type MembersInput = { readonly [Row in CostMember]?: MemberPriceInput | undefined };

/** A price per token, in units per million tokens. */
export interface TokenPriceInput extends RatesInput {
  /** Other rates for longer prompts. Default: none. */
  readonly tiers?: readonly TierInput[] | undefined;
  /** What members of a request cost in addition. Default: nothing. */
  readonly members?: MembersInput | undefined;
}

/** The price of one image of a size and quality, in units. */
export interface ImagePriceRow {
  /** The size that it is for: `1024x1024`. Default: all sizes. */
  readonly size?: string | undefined;
  /** The quality that it is for: `high`. Default: all qualities. */
  readonly quality?: string | undefined;
  /** For one image, in units: `'0.04'`. */
  readonly price: string;
}

/** A price in JSON. */
export type PriceJson =
  | (TokenPriceInput & { readonly per: 'token' })
  | {
      readonly per: 'image';
      /** The price of an image of each size and quality. */
      readonly rows: readonly ImagePriceRow[];
      /** What members of a request cost in addition. Default: nothing. */
      readonly members?: MembersInput | undefined;
    }
  | { readonly per: 'free' };
