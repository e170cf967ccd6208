/**
 * Validates rate limits. Separate from their types, so that hosts can compile those without zod's.
 */
import { z } from 'zod';
import type { OwnerRateLimits } from '../keys/key-owner.ts';
import type { Path } from '../problems.ts';
import { anId, flag, strict, text } from '../set-up.ts';
import type { RateTake } from './rate-limiter.ts';
import type { AmountPerPeriod, KeyRateLimits, RateLimits } from './rates.ts';

/** The largest limit: 60,000 times more are still integers that a double holds exactly. */
export const maxRate = 10_000_000_000;

/** The maximum number of entries in the record of one key, since each call checks all of them. */
const maxKeyRates = 32;

const rate = z
  .int('must be a positive integer')
  .positive('must be a positive integer')
  .max(maxRate, `must be at most ${maxRate}`);

const amounts = strict('must be an object of limits by period: { perMinute: 60 }', {
  perMinute: rate.optional(),
  perHour: rate.optional(),
  perDay: rate.optional(),
} satisfies Record<keyof AmountPerPeriod, z.ZodType>).refine(
  ({ perMinute, perHour, perDay }) => (perMinute ?? perHour ?? perDay) !== undefined,
  'must state perMinute, perHour or perDay',
);

const limits = {
  calls: amounts.optional(),
  tokens: amounts.optional(),
} satisfies Record<keyof RateLimits, z.ZodType>;

const nothingStated = 'must limit calls, tokens or both';
const shape = 'must be limits: { calls: { perMinute: 60 }, tokens: { perDay: 1000000 } }';

/** The rate limits of a model. Strict, because a misspelt limit would limit nothing. */
export const rateLimitsSchema: z.ZodType = strict(shape, limits).refine(
  ({ calls, tokens }) => (calls ?? tokens) !== undefined,
  nothingStated,
);

const ownerRateLimits = {
  ...limits,
  model: text('must be the id of a model').optional(),
  visible: flag.optional(),
} satisfies Record<keyof OwnerRateLimits, z.ZodType>;

function listOf(members: z.core.$ZodLooseShape): z.ZodType {
  const entry = strict(shape, members).refine(
    ({ calls, tokens }) => (calls ?? tokens) !== undefined,
    nothingStated,
  );
  return z
    .array(entry, 'must be a list of limits: [{ calls: { perMinute: 60 } }]')
    .max(maxKeyRates, `must have at most ${maxKeyRates} entries`);
}

/** The rate limits of a key. */
export const keyRatesSchema: z.ZodType = listOf({
  ...ownerRateLimits,
  subject: anId.optional(),
} satisfies Record<keyof KeyRateLimits, z.ZodType>);

/** The rate limits of an owner. */
export const ownerRatesSchema: z.ZodType = listOf(ownerRateLimits);

/** Whether a value of unknown origin is the rate limits of an owner. */
export function areOwnerRates(value: unknown): value is readonly OwnerRateLimits[] {
  return ownerRatesSchema.safeParse(value).success;
}

/** Whether a value of unknown origin is the rate limits of a key. */
export function areKeyRates(value: unknown): value is readonly KeyRateLimits[] {
  return keyRatesSchema.safeParse(value).success;
}

/**
 * The remedy for each optional member, by name. The last limit of an entry can't be left out, so
 * what its absence means is not worded as advice.
 */
const remedies: ReadonlyMap<unknown, string> = new Map([
  ['rates', 'Leave it out for no rate limits'],
  ['sharedRates', 'Leave it out for no rate limits'],
  ['calls', 'Without it calls have no limit'],
  ['tokens', 'Without it tokens have no limit'],
  ['perMinute', 'Without it there is no limit per minute'],
  ['perHour', 'Without it there is no limit per hour'],
  ['perDay', 'Without it there is no limit per day'],
  ['subject', 'Leave it out for limits of the key alone'],
  ['model', 'Leave it out for all models together'],
  ['visible', 'Leave it out to hide it from callers'],
]);

/** The remedy for the wrong member of rate limits at a path. */
export function rateRemedyOf(path: Path): string | undefined {
  return remedies.get(path.at(-1));
}

/** @throws RangeError where a limit or an amount could never be granted */
export function checkTakes(takes: readonly RateTake[]): void {
  for (const { amount, limit } of takes) {
    checkLimit(limit);
    if (!(Number.isSafeInteger(amount) && amount > 0 && amount <= limit)) {
      throw new RangeError(`amount must be a whole number from 1 to the limit, ${limit}`);
    }
  }
}

/** @throws RangeError where a limit or an amount is not a whole number */
export function checkAdjustments(takes: readonly RateTake[]): void {
  for (const { amount, limit } of takes) {
    checkLimit(limit);
    if (!Number.isSafeInteger(amount)) throw new RangeError('amount must be a whole number');
  }
}

function checkLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit > 0 && limit <= maxRate) return;
  throw new RangeError(`limit must be a whole number from 1 to ${maxRate}`);
}
