/** Checked readers for the replies of scripts: lists of strings, and numbers in them. */
import { StoreCorrupt } from '../../ports/call-options.ts';

/** The largest integer of Redis, 2^63 − 1: sums of debts may exceed 2^53. */
const maxRedisInteger = 9_223_372_036_854_775_807n;

/** @throws StoreCorrupt where it is not a list of strings */
export function textsOf(reply: unknown): readonly string[] {
  return listOf(reply).map((text) => (typeof text === 'string' ? text : corrupt()));
}

export function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : corrupt();
}

/** An amount, from 0 to the largest integer of Redis. */
export function nanosOf(text: string | undefined): bigint {
  if (text === undefined || !/^\d{1,19}$/.test(text)) return corrupt();
  const nanos = BigInt(text);
  return nanos <= maxRedisInteger ? nanos : corrupt();
}

export function signedNanosOf(text: string | undefined): bigint {
  return text?.startsWith('-') === true ? -nanosOf(text.slice(1)) : nanosOf(text);
}

/** A count or a time: a whole number from 0. */
export function countOf(text: string | undefined): number {
  const count = text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(count) ? count : corrupt();
}

/** The one count of a reply, as text or as bytes. */
export function countIn(reply: unknown): number {
  const [count] = listOf(reply);
  if (count instanceof Uint8Array) return countOf(Buffer.from(count).toString());
  return countOf(typeof count === 'string' ? count : undefined);
}

export function literalOf<const Literal extends string>(
  text: string | undefined,
  literals: readonly Literal[],
): Literal {
  return literals.find((literal) => literal === text) ?? corrupt();
}

/** @throws StoreCorrupt whose message leaves out the reply, since that may be anything */
export function corrupt(): never {
  throw new StoreCorrupt("Redis returned a reply that is not in the script's format");
}
