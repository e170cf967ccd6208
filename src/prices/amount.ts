/** Converts amounts of money from and to decimal strings in the host's currency unit. */
import { ConfigurationError } from '../errors.ts';
import { type JsonNumber, sourceText } from '../json.ts';
import { maxNanos, type Nanos } from '../money.ts';

export const nanosPerUnit = 1_000_000_000n;

/** The required form of an amount, worded to follow its name in an error message. */
export const amountForm =
  'must be a decimal string of at most 9 decimals, such as "0.15", from 0 to 9007199.254740991';

/**
 * Converts a decimal string to nanos: `money('0.15')` is 150,000,000. Exact, without floating
 * point.
 *
 * @throws ConfigurationError unless the text is a decimal number from 0 to 9007199.254740991 with
 * at most 9 decimals
 */
export function money(units: string): Nanos {
  const nanos = nanosOf(units);
  if (nanos === undefined) throw new ConfigurationError(`money: the amount ${amountForm}.`);
  return nanos;
}

/** As {@link money}, but returns undefined for an invalid amount. */
export function nanosOf(units: unknown): Nanos | undefined {
  const nanos = parseBillionths(units);
  return nanos === undefined || nanos > maxNanos ? undefined : nanos;
}

/** Formats nanos as a decimal string without trailing zeros; the reverse of {@link money}. */
export function formatMoney(nanos: bigint): string {
  if (typeof nanos !== 'bigint') {
    throw new ConfigurationError('formatMoney: the amount must be a bigint of nanos.');
  }
  if (nanos < 0n) return `-${formatMoney(-nanos)}`;
  const decimals = String(nanos % nanosPerUnit)
    .padStart(9, '0')
    .replace(/(?<!0)0+$/, '');
  const whole = String(nanos / nanosPerUnit);
  return decimals === '' ? whole : `${whole}.${decimals}`;
}

/** A price multiplier in billionths; undefined unless the text is a decimal number above 0. */
export function factorOf(text: unknown): bigint | undefined {
  const billionths = parseBillionths(text);
  return billionths === undefined || billionths === 0n ? undefined : billionths;
}

function parseBillionths(text: unknown): bigint | undefined {
  if (typeof text !== 'string') return undefined;
  const [, whole, decimals = ''] = /^(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return BigInt(whole) * nanosPerUnit + BigInt(decimals.padEnd(9, '0'));
}

/**
 * The nanos of a number from JSON, times a power of ten, rounded up: read from its digits, because
 * a double has not all of them. Undefined for a negative number and for one above every amount.
 */
export function nanosOfDecimal(value: JsonNumber, exponent: number): Nanos | undefined {
  const text = typeof value === 'number' ? String(value) : value[sourceText];
  const [, whole, decimals = '', power = '0'] =
    /^(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const digits = BigInt(whole + decimals);
  const shift = Number(power) - decimals.length + exponent + 9;
  const scale = 10n ** BigInt(Math.abs(shift));
  const nanos = shift < 0 ? (digits + scale - 1n) / scale : digits * scale;
  return nanos > maxNanos ? undefined : nanos;
}
