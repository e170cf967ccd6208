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

/** How this page writes amounts and times of day: the session states it once. */
const host: { sign: string; zone: string | undefined } = { sign: '', zone: undefined };

/** From here on amounts have the sign of a currency, and times of day are those of a zone. */
export function writeFor({ currency, timeZone }: HostFormat): void {
  host.sign = currency === null ? '' : signOf(currency);
  host.zone = timeZone ?? undefined;
}

interface HostFormat {
  readonly currency: string | null;
  readonly timeZone: string | null;
}

/** `$` and `€`; a code has a space after it. */
function signOf(currency: string): string {
  const parts = new Intl.NumberFormat('en', { style: 'currency', currency }).formatToParts(0);
  const sign = parts.find(({ type }) => type === 'currency')?.value ?? currency;
  return /[A-Za-z]$/.test(sign) ? `${sign}\u00a0` : sign;
}

/**
 * An amount of nanos in units. From one unit up it has two decimals, below it four significant
 * digits, so that the price of a cheap call is not 0.00. One that stands beside a larger amount has
 * the decimals of that one: `0.01 of 50.00`.
 */
export function moneyText(nanos: string | bigint | null, beside: string | bigint = 0n): string {
  if (nanos === null) return none;
  const [value, other] = [BigInt(nanos), BigInt(beside)];
  if (sizeOf(other) > sizeOf(value)) return within(value, Math.min(6, decimalsFor(other, 4)));
  return withDecimals(value, decimalsFor(value, 4), 2);
}

/** Formats the amounts of a column alike, so that their decimal points are aligned. */
export function moneyColumn(all: readonly (string | null)[]): (nanos: string | null) => string {
  const decimals = all.map((nanos) => decimalsFor(BigInt(nanos ?? 0), 3));
  const most = Math.min(6, Math.max(2, ...decimals));
  return (nanos) => (nanos === null ? none : within(BigInt(nanos), most));
}

/** One that has no digit within the decimals is less than the last of them: `<0.000001`. */
function within(value: bigint, decimals: number): string {
  if (value === 0n) return `${host.sign}0`;
  const text = withDecimals(value, decimals);
  if (/[1-9]/.test(text)) return text;
  return `${value < 0n ? '−' : ''}<${host.sign}0.${'1'.padStart(decimals, '0')}`;
}

function sizeOf(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** Zeros at the end are left out down to `least` decimals. */
function withDecimals(value: bigint, most: number, least = most): string {
  const step = 10n ** BigInt(9 - most);
  const rounded = ((sizeOf(value) + step / 2n) / step) * step;
  const fraction = fractionOf(rounded).padEnd(least, '0');
  const sign = value < 0n ? '−' : '';
  return `${sign}${host.sign}${count.format(rounded / nanosPerUnit)}.${fraction}`;
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

const minuteForm = { hour: '2-digit', minute: '2-digit' } as const;
const secondForm = { ...minuteForm, second: '2-digit' } as const;

/** In the time zone of the host, otherwise in that of the browser. */
function localText(ms: number, form: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-GB', { ...form, timeZone: host.zone }).format(ms);
}

/** The zone of the times of day. */
export function zoneText(): string {
  return host.zone ?? `${Intl.DateTimeFormat().resolvedOptions().timeZone}, as this browser`;
}

/** The local time; with the day unless it is today. */
export function clockText(
  ms: number,
  nowMs: number,
  form: Intl.DateTimeFormatOptions = secondForm,
): string {
  const [day, today] = [ms, nowMs].map((time) => localText(time, { dateStyle: 'short' }));
  const clock = localText(ms, form);
  return day === today ? clock : `${dayText(ms)} ${clock}`;
}

/** The local time alone, for lists that name the day. */
export function timeText(ms: number): string {
  return localText(ms, secondForm);
}

export function minuteText(ms: number): string {
  return localText(ms, minuteForm);
}

export function sinceText(ms: number, nowMs: number): string {
  return `since ${clockText(ms, nowMs, minuteForm)}`;
}

/** Where refusals are counted. Each process writes its counts into the log once a minute. */
export function refusalsOf(source: 'log' | 'process', since: string): string {
  return source === 'log'
    ? `all processes, ${since}, up to a minute late`
    : `this process, ${since}`;
}

/** The local day: `23 Nov`. */
export function dayText(ms: number): string {
  return localText(ms, { day: 'numeric', month: 'short' });
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
  const plain = phrase.replaceAll('`', '');
  const whole = /[.?!]$/.test(plain) ? plain : `${plain}.`;
  return /^[a-z’']+(?:[ ,]|.$)/.test(whole)
    ? whole.charAt(0).toUpperCase() + whole.slice(1)
    : whole;
}

/** `caller_left` as words: `caller left`. */
export function wordsOf(name: string): string {
  return name.replaceAll('_', ' ');
}
