/** Checks the inputs of a rate limiter, so that every limiter refuses the same mistakes. */
import type { RateTake } from './rate-limiter.ts';

/** The largest limit: 60,000 times more are still integers that a double holds exactly. */
export const maxRate = 10_000_000_000;

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
