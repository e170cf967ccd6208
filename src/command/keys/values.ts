/** Reads the values of the commands about keys: amounts, periods, dates and durations. */
import type { QuotaSubject } from '../../ports/key-store.ts';
import { money } from '../../prices/amount.ts';
import { type Given, usageError } from '../command.ts';
import { dateOf } from '../dates.ts';

/** @throws CommandError */
export function amountOf(text: string): bigint {
  try {
    return money(text);
  } catch {
    throw usageError(`"${text}" must be an amount such as 5 or 0.50, up to 9007199.`);
  }
}

/** @throws CommandError */
export function periodNamed(text: string): QuotaSubject['period'] {
  const period = (['total', 'day', 'month'] as const).find((known) => known === text);
  if (period === undefined) throw usageError('--period must be total, day or month.');
  return period;
}

/** @throws CommandError */
export function expiryOf(given: Given): number | undefined {
  const timeMs = dateOf(given, 'expires');
  if (timeMs !== undefined && timeMs <= given.around.clock.now()) {
    throw usageError('--expires is in the past: the key could never be used.');
  }
  return timeMs;
}

/** @throws CommandError */
export function callCountOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usageError('--max-calls must be an integer, at least 1.');
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @throws CommandError */
export function durationOf(text: string, option: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const known = (['s', 'm', 'h', 'd'] as const).find((name) => name === unit);
  if (known === undefined) throw usageError(`--${option} must be a duration such as 30m or 24h.`);
  return Number(count) * unitMs[known];
}

/** @throws CommandError */
export function keyIdIn({ positionals }: Given): string {
  const [id] = positionals;
  if (id === undefined) throw usageError('KEY_ID is missing: give the id of a key.');
  return id;
}

/** @throws CommandError */
export function keyAndAmountIn(given: Given): readonly [id: string, amount: string] {
  const [id, amount] = given.positionals;
  if (id === undefined || amount === undefined) throw usageError('KEY_ID and AMOUNT are required.');
  return [id, amount];
}
