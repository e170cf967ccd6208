/** Texts of numbers, amounts and times. */

const count = new Intl.NumberFormat('en');
const none = '–';

/** `1,204`; a dash where it is not known. */
export function countText(value: number | null | undefined): string {
  return value === null || value === undefined ? none : count.format(value);
}

/** `1.2k`, `34M`: for places where an exact number would not help. */
export function shortCount(value: number | null): string {
  if (value === null) return none;
  if (value < 10_000) return count.format(value);
  const [divisor, unit] = value < 1_000_000 ? [1_000, 'k'] : [1_000_000, 'M'];
  const scaled = value / divisor;
  return `${scaled.toFixed(scaled < 100 ? 1 : 0)}${unit}`;
}

const nanosPerUnit = 1_000_000_000n;

/**
 * An amount of nanos in units. Cents are always shown; below a unit there are four significant
 * digits, so that the price of a cheap call is not 0.00.
 */
export function moneyText(nanos: string | bigint | null): string {
  if (nanos === null) return none;
  return withDecimals(BigInt(nanos), decimalsFor(BigInt(nanos), 4), 2);
}

/**
 * Formats the amounts of a column alike, so that their decimal points are aligned. One that has no
 * digit within them is less than the last of them: `<0.000001`.
 */
export function moneyColumn(all: readonly (string | null)[]): (nanos: string | null) => string {
  const decimals = all.map((nanos) => decimalsFor(BigInt(nanos ?? 0), 3));
  const most = Math.min(6, Math.max(2, ...decimals));
  return (nanos) => {
    if (nanos === null) return none;
    const value = BigInt(nanos);
    if (value === 0n) return '0';
    const text = withDecimals(value, most);
    return /[1-9]/.test(text)
      ? text
      : withDecimals(value, most).replace(/0$/, '1').replace('0.', '<0.');
  };
}

/** Zeros at the end are left out down to `least` decimals. */
function withDecimals(value: bigint, most: number, least = most): string {
  const size = value < 0n ? -value : value;
  const step = 10n ** BigInt(9 - most);
  const rounded = ((size + step / 2n) / step) * step;
  const fraction = fractionOf(rounded).padEnd(least, '0');
  return `${value < 0n ? '−' : ''}${count.format(rounded / nanosPerUnit)}.${fraction}`;
}

/** The digits after the point, without zeros at their end. */
function fractionOf(nanos: bigint): string {
  const digits = String(nanos % nanosPerUnit).padStart(9, '0');
  return digits.replace(/(?<!0)0+$/, '');
}

/** How many decimals an amount below a unit needs for its first digits. */
function decimalsFor(value: bigint, digits: number): number {
  const size = value < 0n ? -value : value;
  if (size === 0n || size >= nanosPerUnit) return 2;
  return Math.min(9, Math.max(2, 9 - String(size).length + digits));
}

/** All digits of an amount, for titles and form fields: `0.00034`. */
export function exactMoney(nanos: string | bigint): string {
  const value = BigInt(nanos);
  const size = value < 0n ? -value : value;
  const fraction = fractionOf(size);
  const whole = `${value < 0n ? '-' : ''}${size / nanosPerUnit}`;
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** The same for people, with at least two decimals: `1,500.50`. */
export function amountText(nanos: string | bigint): string {
  return withDecimals(BigInt(nanos), 9, 2);
}

/**
 * The nanos of a decimal number in units, as written by a person; undefined if it is not one. A
 * comma is refused, because it is the decimal separator in some countries and the thousands
 * separator in others.
 */
export function nanosOf(text: string): string | undefined {
  const match = /^(-?)(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, sign = '', whole = '0', fraction = ''] = match;
  const nanos = BigInt(whole) * nanosPerUnit + BigInt(fraction.padEnd(9, '0'));
  return `${sign === '-' && nanos !== 0n ? '-' : ''}${nanos}`;
}

/** The share of one amount in another, 0 to 1. */
export function shareOf(part: string | bigint, whole: string | bigint): number {
  const [one, all] = [BigInt(part), BigInt(whole)];
  if (all <= 0n) return one > 0n ? 1 : 0;
  return Math.min(1, Math.max(0, Number((one * 10_000n) / all) / 10_000));
}

/** How many there are for one unit of time, and the shortest unit in which that is 1 or more. */
export function rateOf(count: number, ms: number): readonly [rate: string, unit: string] {
  const units = [
    ['/s', 1_000],
    ['/min', 60_000],
    ['/h', 3_600_000],
    ['/day', 86_400_000],
  ] as const;
  const [unit, unitMs] =
    units.find(([, length]) => (count / ms) * length >= 1) ?? (count === 0 ? units[1] : units[3]);
  const rate = (count / ms) * unitMs;
  return [rate >= 10 ? countText(Math.round(rate)) : rate.toFixed(rate === 0 ? 0 : 1), unit];
}

/** `420 ms`, `1.9 s`, `2 min`. */
export function durationText(ms: number | null): string {
  if (ms === null) return none;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return spanText(ms);
}

/** A longer time in its two largest units: `3 h 12 min`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return withRest(hours, 'h', minutes % 60, 'min');
  return withRest(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function withRest(value: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${value} ${unit}` : `${value} ${unit} ${rest} ${restUnit}`;
}

/** `98.7 %`; 100 % only where nothing is missing. */
export function percentText(share: number): string {
  if (share >= 1) return '100 %';
  const percent = Math.floor(share * 1_000) / 10;
  return `${percent.toFixed(1)} %`;
}

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const minuteClock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** The local time; with the day unless it is today. */
export function clockText(ms: number, nowMs: number, format: Intl.DateTimeFormat = clock): string {
  const isToday = new Date(ms).toDateString() === new Date(nowMs).toDateString();
  return isToday ? format.format(ms) : `${day.format(ms)} ${format.format(ms)}`;
}

/** The local time alone, for lists that name the day. */
export function timeText(ms: number): string {
  return clock.format(ms);
}

export function minuteText(ms: number): string {
  return minuteClock.format(ms);
}

export function sinceText(ms: number, nowMs: number): string {
  return `since ${clockText(ms, nowMs, minuteClock)}`;
}

/** Where refusals are counted. Each process writes its counts into the log once a minute. */
export function refusalsOf(source: 'log' | 'process', since: string): string {
  return source === 'log'
    ? `all processes, ${since}, up to a minute late`
    : `this process, ${since}`;
}

/** The local day: `23 Nov`. */
export function dayText(ms: number): string {
  return day.format(ms);
}

const utcDay = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});

export function utcDayText(ms: number): string {
  return utcDay.format(ms);
}

/** `12 s ago`, `in 4 min`. */
export function agoText(ms: number, nowMs: number): string {
  const span = nowMs - ms;
  return span >= 0 ? `${spanText(span)} ago` : `in ${spanText(-span)}`;
}

/** A phrase of the docs as a sentence: `Replace the credential.` An id at its start stays. */
export function sentence(phrase: string): string {
  const whole = /[.?!]$/.test(phrase) ? phrase : `${phrase}.`;
  return /^[a-z’']+(?:[ ,]|.$)/.test(whole)
    ? whole.charAt(0).toUpperCase() + whole.slice(1)
    : whole;
}

/** `caller_left` as words: `caller left`. */
export function wordsOf(name: string): string {
  return name.replaceAll('_', ' ');
}
