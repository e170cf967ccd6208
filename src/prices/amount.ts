/** Amounts of money as people write them: decimal strings in the host's currency unit. */
import { ConfigurationError } from '../errors.ts';
import { maxNanos, type Nanos } from '../money.ts';

/** How many nanos one unit of the host's currency has. */
export const nanosPerUnit = 1_000_000_000n;

/** What an amount must look like, as the end of a sentence about it. */
export const amountForm =
  'must be a decimal string of at most 9 decimals, such as "0.15", from 0 to 9007199.254740991';

/**
 * The nanos of a decimal string: `money('0.15')` is 150,000,000. No float is involved.
 *
 * @throws ConfigurationError where the text is no decimal number from 0 to 9007199.254740991 with
 *   at most 9 decimals
 */
export function money(units: string): Nanos {
  const nanos = nanosOf(units);
  if (nanos === undefined) throw new ConfigurationError(`money: the amount ${amountForm}.`);
  return nanos;
}

/** The same as {@link money}; undefined where it is no amount. */
export function nanosOf(units: unknown): Nanos | undefined {
  const nanos = scaled(units);
  return nanos === undefined || nanos > maxNanos ? undefined : nanos;
}

/** An amount as a decimal string without trailing zeros, the reverse of {@link money}. */
export function formatMoney(nanos: bigint): string {
  if (nanos < 0n) return `-${formatMoney(-nanos)}`;
  const decimals = String(nanos % nanosPerUnit)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const whole = String(nanos / nanosPerUnit);
  return decimals === '' ? whole : `${whole}.${decimals}`;
}

/** A factor of a price in billionths; undefined where it is no decimal number above 0. */
export function factorOf(text: unknown): bigint | undefined {
  const billionths = scaled(text);
  return billionths === undefined || billionths === 0n ? undefined : billionths;
}

/** A decimal string times a billion. */
function scaled(text: unknown): bigint | undefined {
  if (typeof text !== 'string') return undefined;
  const [, whole, decimals = ''] = /^(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return BigInt(whole) * nanosPerUnit + BigInt(decimals.padEnd(9, '0'));
}
