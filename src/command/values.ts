/** Reads the values of options that several commands share: dates in UTC, and amounts. */
import { money } from '../prices/amount.ts';
import { type Given, usageError } from './command.ts';

/** A day, optionally with a time, whose seconds are optional. */
const form = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(\.\d{3})?)?(Z?))?$/;

/**
 * The time that an option names, in Unix ms; undefined if it was not given.
 *
 * @throws CommandError if it is not a date, is not in UTC, or is a day that the month does not have
 *   (`Date.parse` would return another day)
 */
export function dateOf(given: Given, option: string): number | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  const [, day, minute, second = '00', fraction = '.000', zone] = form.exec(text) ?? [];
  if (day === undefined) {
    const remedy = 'Write it in UTC, such as 2027-01-31 or 2027-01-31T18:00Z.';
    throw usageError(`--${option} must be a date. ${remedy}`);
  }
  if (minute !== undefined && zone !== 'Z') {
    throw usageError(`--${option} needs a Z after its time, which is in UTC: ${text}Z.`);
  }
  const iso = `${day}T${minute ?? '00:00'}:${second}${fraction}Z`;
  const timeMs = Date.parse(iso);
  const isReal = !Number.isNaN(timeMs) && new Date(timeMs).toISOString() === iso;
  if (!isReal) throw usageError(`--${option} is a date that does not exist. Correct it.`);
  return timeMs;
}

/** @throws CommandError */
export function amountOf(text: string): bigint {
  try {
    return money(text);
  } catch {
    throw usageError(`"${text}" must be an amount such as 5 or 0.50, up to 9007199.`);
  }
}
