/**
 * The schema of prices, shared by catalogs in code, files and tables, and by usage records. Amounts
 * are bigints in code and decimal strings in JSON.
 */
import { z } from 'zod';
import { isJsonObject } from '../json.ts';
import {
  costMembers,
  type ImagePrice,
  type MemberPrice,
  type TokenPrice,
  type TokenRates,
} from '../money.ts';
import type { ChannelCost } from '../ports/models/catalog.ts';
import { type Members, nanos, positive, strict, text } from '../ports/set-up.ts';
import { amountForm, factorOf, nanosOf } from './amount.ts';
import type { PriceJson } from './price-json.ts';

const units = z.string(amountForm).refine((value) => nanosOf(value) !== undefined, amountForm);
const nonEmptyText = text('must be non-empty text without control characters');
const factorForm = 'must be a decimal string above 0, such as "1.1"';
const factor = z.string(factorForm).refine((value) => factorOf(value) !== undefined, factorForm);
const countForm = 'must be an integer of 0 or above';
const count = z.int(countForm).nonnegative(countForm);

const tiersForm = 'must be a list of tiers, each with aboveInputTokens and its rates';
const tierForm = 'must be an object with aboveInputTokens and its rates';
const rowForm = 'must be an object: { size, quality } and the price of such an image';
const rowsForm = 'must be a list of rows; one without a size applies to all sizes';
const noRows = 'needs a row; one without a size applies to all sizes';

function ratesOf<Amount extends z.ZodType>(amount: Amount) {
  const optional = amount.optional();
  return {
    input: amount,
    output: optional,
    cachedInput: optional,
    cacheWrite5m: optional,
    cacheWrite1h: optional,
    reasoning: optional,
    audioInput: optional,
    audioOutput: optional,
    imageInput: optional,
    imageOutput: optional,
    videoInput: optional,
  } satisfies Members<TokenRates>;
}

function tiersOf<Rates extends z.core.$ZodLooseShape>(rates: Rates) {
  const tier = strict(tierForm, { aboveInputTokens: positive, ...rates });
  return z.array(tier, tiersForm).optional();
}

function rowsOf<Amount extends z.core.$ZodLooseShape>(amount: Amount) {
  const values = { size: nonEmptyText.optional(), quality: nonEmptyText.optional() };
  return z.array(strict(rowForm, { ...values, ...amount }), rowsForm).min(1, noRows);
}

type FeeSchema = Partial<Record<'perCall' | 'perCallNanos', z.ZodType>>;

/** The schema of a priced request member; `fee` has the name that the form uses for a fee. */
function memberOf<Fee extends FeeSchema>(fee: Fee) {
  return strict('must be an object; use {} for a member that costs nothing but its tokens', {
    multiplier: factor.optional(),
    holdCalls: positive.optional(),
    holdInputTokens: count.optional(),
    ...fee,
  }).optional();
}

function membersOf<Fee extends FeeSchema>(fee: Fee) {
  const member = memberOf(fee);
  const members = Object.fromEntries(costMembers.map((name) => [name, member]));
  return strict('must be an object of request members: { web_search: {} }', members).optional();
}

function formError({ input }: { readonly input?: unknown }): string {
  return isJsonObject(input)
    ? "must be 'token', 'image' or 'free'"
    : "must be an object per 'token' or 'image'; for a free model use { per: 'free' }";
}

const free = z.strictObject({ per: z.literal('free') });
const rates = strict('must be an object of rates: { input, output }', ratesOf(nanos));
const members = membersOf({ perCallNanos: nanos.optional() } satisfies Pick<
  Members<MemberPrice>,
  'perCallNanos'
>);

/** A price in code, with amounts as bigints. */
export const priceSchema: z.ZodType = z.discriminatedUnion(
  'per',
  [
    free,
    z.strictObject({
      per: z.literal('token'),
      rates,
      tiers: tiersOf({ rates }),
      members,
    } satisfies Members<TokenPrice>),
    z.strictObject({
      per: z.literal('image'),
      rows: rowsOf({ nanos }),
      members,
    } satisfies Members<ImagePrice>),
  ],
  { error: formError },
);

const costForm = "must be a price, or 'reported' where replies state what they cost";

/** What a channel costs. A union would not say what is wrong with a price. */
export const costSchema: z.ZodType<ChannelCost> = z
  .custom<ChannelCost>()
  .superRefine((cost, { addIssue }) => {
    if (cost === 'reported') return;
    if (typeof cost === 'string') return addIssue({ code: 'custom', message: costForm });
    for (const issue of priceSchema.safeParse(cost).error?.issues ?? []) addIssue({ ...issue });
  });

const rateInputs = ratesOf(units);
const memberInputs = membersOf({ perCall: units.optional() });

export const priceJsonSchema: z.ZodType<PriceJson> = z.discriminatedUnion(
  'per',
  [
    free,
    z.strictObject({
      per: z.literal('token'),
      ...rateInputs,
      tiers: tiersOf(rateInputs),
      members: memberInputs,
    }),
    z.strictObject({
      per: z.literal('image'),
      rows: rowsOf({ price: units }),
      members: memberInputs,
    }),
  ],
  { error: formError },
);

export const costJsonSchema: z.ZodType<PriceJson | 'reported'> = z.union([
  z.literal('reported'),
  priceJsonSchema,
]);
