/**
 * Reads the counts of a usage object without trusting them: each is an integer of at least 0, or
 * missing.
 */
import { isJsonObject, type JsonObject, type JsonValue, member, numberOf } from '../json.ts';
import type { Usage } from '../money.ts';

/**
 * Far above what any model uses, and small enough for exact sums. Larger values are read as this
 * one.
 */
export const maxCount: number = 2 ** 40;

/** Reads a count; undefined if the member is absent, negative, a fraction or not a number. */
export function countIn(holder: JsonValue | undefined, name: string): number | undefined {
  // Most counts are missing, which `in` finds out without a call.
  if (typeof holder !== 'object' || holder === null || !(name in holder)) return undefined;
  return asCount(member(holder, name));
}

function asCount(value: JsonValue | undefined): number | undefined {
  const count = typeof value === 'number' ? value : numberOf(value);
  if (count === undefined || !(count >= 0)) return undefined;
  if (count > maxCount) return maxCount;
  return Number.isInteger(count) ? count : undefined;
}

/** Returns whether at least one of the members is a count. */
export function hasCount(holder: JsonValue | undefined, names: readonly string[]): boolean {
  return names.some((name) => countIn(holder, name) !== undefined);
}

/**
 * Merges a usage object into the ones before it, keeping only the named members. A later count
 * replaces an earlier one; an absent or invalid one does not. An object of zeros after real counts
 * is ignored, because some servers send one.
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

/** True for zero, and for an object or array without any other number. */
function isAllZero(value: JsonValue): boolean {
  const number = numberOf(value);
  if (number !== undefined) return number === 0;
  return typeof value === 'object' && value !== null && Object.values(value).every(isAllZero);
}

/** Reads a count; 0 if it is missing. */
export function countOrZero(holder: JsonValue | undefined, name: string): number {
  return countIn(holder, name) ?? 0;
}

/**
 * Raises the input to at least the cached tokens, which some vendors count separately from the
 * prompt.
 */
export function withCachedInInput(usage: Usage): Usage {
  const { inputTokens, cachedInputTokens } = usage;
  return { ...usage, inputTokens: Math.max(inputTokens, cachedInputTokens) };
}
