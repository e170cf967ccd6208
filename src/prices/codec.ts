/**
 * Converts prices from and to the form that is written by hand, for files, tables and usage
 * records.
 */
import { ConfigurationError } from '../errors.ts';
import {
  costMembers,
  type ImagePrice,
  type MemberPrice,
  type MemberPrices,
  type Price,
  type PriceTier,
  type TokenPrice,
  type TokenRates,
} from '../money.ts';
import { refuseProblems } from '../ports/problems.ts';
import { setUpProblems } from '../ports/set-up.ts';
import { formatMoney, money } from './amount.ts';
import type {
  ImagePriceRow,
  MemberPriceInput,
  MembersInput,
  OptionalRates,
  PriceJson,
  TierInput,
  TokenPriceInput,
} from './price-json.ts';
import { priceJsonSchema } from './schema.ts';

/**
 * Creates a price per token from units per million tokens: `tokenPrice({ input: '0.15', output:
 * '0.60', cachedInput: '0.075' })`.
 *
 * @throws ConfigurationError that names each invalid member and the expected form
 */
export function tokenPrice(input: TokenPriceInput): TokenPrice {
  const json = { ...input, per: 'token' } as const;
  checkForm(json, 'tokenPrice: price');
  return tokenPriceFrom(json);
}

/**
 * Creates a price per image, in units: `imagePrice([{ size: '1024x1024', price: '0.04' }])`. A row
 * without `size` or `quality` applies to every value of it.
 *
 * @throws ConfigurationError that names each invalid member and the expected form
 */
export function imagePrice(rows: readonly ImagePriceRow[], members?: MembersInput): ImagePrice {
  const json = { per: 'image', rows, members } as const;
  checkForm(json, 'imagePrice: price');
  return imagePriceFrom(json);
}

/**
 * Parses a price from JSON.
 *
 * @param place the name of the value in error messages: `models[0].price`
 * @throws ConfigurationError that names each invalid member and the expected form
 */
export function priceAt(value: unknown, place: string): Price {
  checkForm(value, place);
  return priceFromJson(value) ?? { per: 'free' };
}

/** Parses a price from JSON; undefined if it is invalid. */
export function priceFromJson(value: unknown): Price | undefined {
  const { data } = priceJsonSchema.safeParse(value);
  switch (data?.per) {
    case 'token':
      return tokenPriceFrom(data);
    case 'image':
      return imagePriceFrom(data);
    default:
      return data;
  }
}

/** Converts a price to JSON, from which {@link priceFromJson} restores it exactly. */
export function priceToJson(price: Price): PriceJson {
  switch (price.per) {
    case 'free':
      return price;
    case 'token':
      return {
        per: 'token',
        ...converted(price.rates, formatMoney),
        tiers: price.tiers?.map(({ aboveInputTokens, rates }) => ({
          aboveInputTokens,
          ...converted(rates, formatMoney),
        })),
        members: membersJson(price.members),
      };
    case 'image':
      return {
        per: 'image',
        rows: price.rows.map(({ nanos, ...row }) => ({ ...row, price: formatMoney(nanos) })),
        members: membersJson(price.members),
      };
  }
}

/** The lowest prices of providers are above this, and the highest prices per token below it. */
const leastRate = money('0.001');

/** Every rate is a price per token: a million times too small. */
function isPerToken(price: unknown): boolean {
  const { data } = priceJsonSchema.safeParse(price);
  if (data?.per !== 'token') return false;
  const { rates, tiers = [] } = tokenPriceFrom(data);
  const all = [rates, ...tiers.map((tier) => tier.rates)].flatMap((one) => Object.values(one));
  return all.some((rate) => rate > 0n) && all.every((rate) => rate < leastRate);
}

function checkForm(value: unknown, place: string): asserts value is PriceJson {
  refuseProblems(
    setUpProblems(priceJsonSchema, value, {
      root: place,
      remedyFor: () => undefined,
      names: 'docs/costs.md',
    }),
  );
  if (!isPerToken(value)) return;
  throw new ConfigurationError(
    `${place}.input must be in units per million tokens, and all rates here are below 0.001. ` +
      'Multiply a price per token by 1,000,000: "0.15" for "0.00000015".',
  );
}

function tokenPriceFrom({ tiers, members, ...rates }: TokenPriceInput): TokenPrice {
  return {
    per: 'token',
    rates: converted(rates, money),
    ...(tiers === undefined ? {} : { tiers: tiers.map(tierFrom) }),
    ...membersFrom(members),
  };
}

function tierFrom({ aboveInputTokens, ...rates }: TierInput): PriceTier {
  return { aboveInputTokens, rates: converted(rates, money) };
}

function imagePriceFrom({ rows, members }: Extract<PriceJson, { per: 'image' }>): ImagePrice {
  return {
    per: 'image',
    rows: rows.map(({ size, quality, price }) => ({
      ...(size === undefined ? {} : { size }),
      ...(quality === undefined ? {} : { quality }),
      nanos: money(price),
    })),
    ...membersFrom(members),
  };
}

const optionalRates = [
  'output',
  'cachedInput',
  'cacheWrite5m',
  'cacheWrite1h',
  'reasoning',
  'audioInput',
  'audioOutput',
  'imageInput',
  'imageOutput',
  'videoInput',
] as const satisfies readonly (keyof TokenRates)[];

function converted<From, To>(
  rates: { readonly input: From } & OptionalRates<From | undefined>,
  convert: (amount: From) => To,
) {
  return { input: convert(rates.input), ...mapped(optionalRates, rates, convert) };
}

function membersFrom(inputs: MembersInput | undefined): { readonly members?: MemberPrices } {
  return inputs === undefined ? {} : { members: mapped(costMembers, inputs, memberFrom) };
}

function memberFrom(input: MemberPriceInput): MemberPrice {
  const { multiplier, perCall, holdCalls, holdInputTokens } = input;
  return {
    ...(multiplier === undefined ? {} : { multiplier }),
    ...(perCall === undefined ? {} : { perCallNanos: money(perCall) }),
    ...(holdCalls === undefined ? {} : { holdCalls }),
    ...(holdInputTokens === undefined ? {} : { holdInputTokens }),
  };
}

function membersJson(members: MemberPrices | undefined): MembersInput | undefined {
  return members && mapped(costMembers, members, memberJson);
}

function memberJson({ perCallNanos, ...others }: MemberPrice): MemberPriceInput {
  return perCallNanos === undefined ? others : { ...others, perCall: formatMoney(perCallNanos) };
}

/** The members of these names that are there, converted. */
function mapped<Name extends string, From, To>(
  names: readonly Name[],
  values: { readonly [Each in Name]?: From | undefined },
  convert: (value: From) => To,
): { [Each in Name]?: To } {
  const all: { [Each in Name]?: To } = {};
  for (const name of names) {
    const value = values[name];
    if (value !== undefined) all[name] = convert(value);
  }
  return all;
}
