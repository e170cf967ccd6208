/** Prices as written by hand and in JSON: amounts are decimal strings in currency units. */
import type { CostMember, TokenRates } from '../money.ts';

/** The price of a million tokens of each kind, in units; see `TokenRates`. */
export interface RatesInput extends OptionalRates<string | undefined> {
  readonly input: string;
}

export type OptionalRates<Amount> = {
  readonly [Name in Exclude<keyof TokenRates, 'input'>]?: Amount;
};

/** The rates for longer prompts; see `PriceTier`. */
export interface TierInput extends RatesInput {
  readonly aboveInputTokens: number;
}

/** The price of a request member; see `MemberPrice`. */
export interface MemberPriceInput {
  readonly multiplier?: string | undefined;
  /** The fee for each call of the tool, in units. */
  readonly perCall?: string | undefined;
  readonly holdCalls?: number | undefined;
  readonly holdInputTokens?: number | undefined;
}

/** The members that callers may use; see `MemberPrices`. */
export type MembersInput = { readonly [Row in CostMember]?: MemberPriceInput | undefined };

/** A price per token, in units per million tokens. */
export interface TokenPriceInput extends RatesInput {
  readonly tiers?: readonly TierInput[] | undefined;
  readonly members?: MembersInput | undefined;
}

/** The price of one image of a size and quality, in units. */
export interface ImagePriceRow {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  readonly price: string;
}

/** A price in JSON. */
export type PriceJson =
  | (TokenPriceInput & { readonly per: 'token' })
  | {
      readonly per: 'image';
      readonly rows: readonly ImagePriceRow[];
      readonly members?: MembersInput | undefined;
    }
  | { readonly per: 'free' };
