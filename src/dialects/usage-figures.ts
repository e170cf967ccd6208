/** Reads the figures of a reply without trust: whole numbers from 0, or none at all. */
import { isJsonObject, type JsonObject, type JsonValue, member, numberOf } from '../json.ts';
import type { Usage } from '../money.ts';

/** Whether the object says anything at all of what it is there for. */
export function hasAny(holder: JsonValue | undefined, names: readonly string[]): boolean {
  return names.some((name) => (member(holder, name) ?? undefined) !== undefined);
}

/**
 * The usage known so far after one more object of it, of which only these members are kept: a later
 * value replaces an earlier one, what is left out or null does not. Servers have sent an object of
 * zeros behind the real one: it is ignored.
 */
export function mergedFigures(
  before: JsonObject | undefined,
  after: JsonValue | undefined,
  names: readonly string[],
): JsonObject | undefined {
  if (!isJsonObject(after)) return before;
  const stated = names
    .map((name) => [name, member(after, name) ?? null] as const)
    .filter(([, value]) => value !== null);
  if (before !== undefined && stated.every(([, value]) => isNothing(value))) return before;
  return { ...before, ...Object.fromEntries(stated) };
}

/** A zero, or an object or list that holds no other number. */
function isNothing(value: JsonValue): boolean {
  const number = numberOf(value);
  if (number !== undefined) return number === 0;
  return typeof value === 'object' && value !== null && Object.values(value).every(isNothing);
}

/** A count: 0 where the member is absent or null, NaN where it is absurd. */
export function figure(holder: JsonValue | undefined, name: string): number {
  const value = numberOf(member(holder, name) ?? 0) ?? Number.NaN;
  return Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}

/** The figures as a usage, or undefined as soon as one of them is absurd. */
export function usageOf(figures: Usage): Usage | undefined {
  const { inputTokens, cachedInputTokens, outputTokens, images } = figures;
  if (!Number.isSafeInteger(inputTokens + cachedInputTokens + outputTokens + images))
    return undefined;
  // Some vendors count cached tokens apart from the prompt's.
  return { ...figures, inputTokens: Math.max(inputTokens, cachedInputTokens) };
}
