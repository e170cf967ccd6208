/**
 * Reads the figures of a reply without trust, each by itself: a whole number from 0, or missing.
 */
import { isJsonObject, type JsonObject, type JsonValue, member, numberOf } from '../json.ts';
import type { Usage } from '../money.ts';

/** Far above what any model uses, so that sums stay exact: what is larger is charged at a bound. */
export const maxCount: number = 2 ** 40;

/** A count; undefined where the member is absent, negative, a fraction or no number. */
export function countIn(holder: JsonValue | undefined, name: string): number | undefined {
  const value = member(holder, name);
  return value === undefined ? undefined : asCount(value);
}

function asCount(value: JsonValue | undefined): number | undefined {
  const count = typeof value === 'number' ? value : numberOf(value);
  if (count === undefined || !(count >= 0)) return undefined;
  if (count > maxCount) return maxCount;
  return Number.isInteger(count) ? count : undefined;
}

/** Whether one of the members is a count. */
export function hasCount(holder: JsonValue | undefined, names: readonly string[]): boolean {
  return names.some((name) => countIn(holder, name) !== undefined);
}

/**
 * The usage known so far after one more object of it, of which only these members are kept: a later
 * value replaces an earlier one, what is left out or no count does not. Servers have sent an object
 * of zeros behind the real one: it is ignored.
 */
export function mergedUsage(
  before: JsonObject | undefined,
  after: JsonValue | undefined,
  names: readonly string[],
): JsonObject | undefined {
  if (!isJsonObject(after)) return before;
  const stated = names
    .map((name) => [name, member(after, name) ?? null] as const)
    .filter(([, value]) => isDetails(value) || asCount(value) !== undefined);
  if (before !== undefined && stated.every(([, value]) => isAllZero(value))) return before;
  return { ...before, ...Object.fromEntries(stated) };
}

function isDetails(value: JsonValue): boolean {
  return Array.isArray(value) || isJsonObject(value);
}

/** A zero, or an object or list that holds no other number. */
function isAllZero(value: JsonValue): boolean {
  const number = numberOf(value);
  if (number !== undefined) return number === 0;
  return typeof value === 'object' && value !== null && Object.values(value).every(isAllZero);
}

/** A count, 0 where it is missing. */
export function countOrZero(holder: JsonValue | undefined, name: string): number {
  return countIn(holder, name) ?? 0;
}

/** Some vendors count cached tokens apart from the prompt's. */
export function withCachedInInput(figures: Usage): Usage {
  const { inputTokens, cachedInputTokens } = figures;
  return { ...figures, inputTokens: Math.max(inputTokens, cachedInputTokens) };
}
