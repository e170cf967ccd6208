/** Reads the figures of a reply without trust: whole numbers from 0, or none at all. */
import { type JsonValue, member, numberOf } from '../json.ts';
import type { Usage } from '../money.ts';

/** Whether the object says anything at all of what it is there for. */
export function hasAny(holder: JsonValue | undefined, names: readonly string[]): boolean {
  return names.some((name) => (member(holder, name) ?? undefined) !== undefined);
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
