/** What a script may reply, checked before it is believed: lists of texts, and numbers in them. */
import { StoreCorrupt } from '../../ports/call-options.ts';

/** Sums of debts may pass 2^53, up to where Redis counts: 2^63 − 1. */
const mostNanos = 9_223_372_036_854_775_807n;

/**
 * A reply that is a list of texts.
 *
 * @throws StoreCorrupt where it is none
 */
export function textsOf(reply: unknown): readonly string[] {
  return listOf(reply).map((text) => (typeof text === 'string' ? text : corrupt()));
}

/** A reply that is a list. */
export function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : corrupt();
}

/** An amount, from 0 to the most that Redis counts. */
export function nanosOf(text: string | undefined): bigint {
  if (text === undefined || !/^\d{1,19}$/.test(text)) return corrupt();
  const nanos = BigInt(text);
  return nanos <= mostNanos ? nanos : corrupt();
}

/** The same, or below zero. */
export function signedNanosOf(text: string | undefined): bigint {
  return text?.startsWith('-') === true ? -nanosOf(text.slice(1)) : nanosOf(text);
}

/** A count or a time: a whole number from 0. */
export function countOf(text: string | undefined): number {
  const count = text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(count) ? count : corrupt();
}

/** One of the words that may stand here. */
export function wordOf<const Word extends string>(
  text: string | undefined,
  words: readonly Word[],
): Word {
  return words.find((word) => word === text) ?? corrupt();
}

/** @throws StoreCorrupt without what was found, which is anything */
export function corrupt(): never {
  throw new StoreCorrupt('Redis answered what no script of ours replies');
}
