/**
 * The ranges of time that a view can show, and their windows. Days and months are those of UTC, as
 * in the budgets of the quota store.
 */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

const spans = {
  '15m': { ms: 15 * minuteMs, text: '15 minutes' },
  '1h': { ms: hourMs, text: 'hour' },
  '24h': { ms: dayMs, text: '24 hours' },
  '7d': { ms: 7 * dayMs, text: '7 days' },
  '30d': { ms: 30 * dayMs, text: '30 days' },
} as const;

/** The ranges of the live figures, which the server computes. */
export const liveRanges = ['15m', '1h', '24h', '30d'] as const;
/** The ranges that end now. */
export const shortRanges = ['15m', '1h', '24h', '7d', '30d'] as const;
export const namedRanges = ['today', 'yesterday', 'this-month', 'last-month'] as const;

export type LiveRange = (typeof liveRanges)[number];
type ShortRange = (typeof shortRanges)[number];
type NamedRange = (typeof namedRanges)[number];
/** `2026-11-01..2026-11-15`: whole days, the last one included. */
export type DateRange = `${string}..${string}`;
export type Range = ShortRange | NamedRange | DateRange;

/** How many days the dates of a range may have. */
export const maxDays = 366;

export interface Window {
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs: number;
  /** What it is, as in `Calls of yesterday, 27 November 2026 (UTC)`. */
  readonly text: string;
}

/** Reads a range; undefined if it is none. */
export function rangeFrom(text: string | undefined): Range | undefined {
  const known = [...shortRanges, ...namedRanges].find((name) => name === text);
  if (known !== undefined || text === undefined) return known;
  const [from = '', to = ''] = text.split('..');
  const range: DateRange = `${from}..${to}`;
  if (range !== text || !isDay(from) || !isDay(to)) return undefined;
  const days = (msOf(to) - msOf(from)) / dayMs + 1;
  return days >= 1 && days <= maxDays ? range : undefined;
}

/** A day of the calendar: `2026-02-29` is none. */
function isDay(text: string): boolean {
  return /^2\d{3}-\d\d-\d\d$/.test(text) && !Number.isNaN(msOf(text)) && dayOf(msOf(text)) === text;
}

function msOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** The UTC day of a time: `2026-11-27`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The first millisecond of the UTC day. */
export function dayStart(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}

/** The first millisecond of the UTC month, or of one some months later. */
function monthStart(ms: number, later = 0): number {
  const day = new Date(ms);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + later);
}

/** The time of a range. Days and months that have begun are shown whole. */
export function windowOf(range: Range, nowMs: number): Window {
  return periodOf(range, nowMs).window;
}

/** The time before it, which it is compared with: only as much of it as has passed of the range. */
export function previousWindow(range: Range, nowMs: number): Window {
  const { window, before } = periodOf(range, nowMs);
  const { fromMs, toMs } = before;
  const endMs = Math.ceil(nowMs);
  if (endMs <= window.fromMs || endMs >= window.toMs) return before;
  return {
    fromMs,
    toMs: Math.min(toMs, fromMs + (endMs - window.fromMs)),
    text: `the same part of ${before.text}`,
  };
}

/** The live range that comes nearest, for views whose figures are live. */
export function liveRangeOf(range: Range): LiveRange {
  const known = liveRanges.find((live) => live === range);
  if (known !== undefined) return known;
  const { fromMs, toMs } = windowOf(range, 0);
  return toMs - fromMs <= 2 * dayMs ? '24h' : '30d';
}

interface Period {
  readonly window: Window;
  readonly before: Window;
}

function periodOf(range: Range, nowMs: number): Period {
  const todayMs = dayStart(nowMs);
  switch (range) {
    case '15m':
    case '1h':
    case '24h':
    case '7d':
    case '30d':
      return spanOf(range, nowMs);
    case 'today':
      return {
        window: daysOf(todayMs, 1, `today, ${daysText(todayMs, 1)}`),
        before: daysOf(todayMs - dayMs, 1, 'yesterday'),
      };
    case 'yesterday':
      return {
        window: daysOf(todayMs - dayMs, 1, `yesterday, ${daysText(todayMs - dayMs, 1)}`),
        before: daysOf(todayMs - 2 * dayMs, 1, 'the day before'),
      };
    case 'this-month':
      return monthsOf(monthStart(nowMs), 'this month');
    case 'last-month':
      return monthsOf(monthStart(nowMs, -1), 'last month');
    default: {
      const [from = '', to = ''] = range.split('..');
      const fromMs = msOf(from);
      const days = (msOf(to) - fromMs) / dayMs + 1;
      const before = days === 1 ? 'the day before' : `the ${days} days before`;
      return {
        window: daysOf(fromMs, days, daysText(fromMs, days)),
        before: daysOf(fromMs - days * dayMs, days, before),
      };
    }
  }
}

function spanOf(range: ShortRange, nowMs: number): Period {
  const { ms, text } = spans[range];
  const toMs = Math.ceil(nowMs);
  return {
    window: { fromMs: toMs - ms, toMs, text: `the last ${text}` },
    before: { fromMs: toMs - 2 * ms, toMs: toMs - ms, text: `the ${text} before` },
  };
}

function daysOf(fromMs: number, days: number, text: string): Window {
  return { fromMs, toMs: fromMs + days * dayMs, text };
}

function monthsOf(fromMs: number, name: string): Period {
  const beforeMs = monthStart(fromMs, -1);
  const toMs = monthStart(fromMs, 1);
  return {
    window: { fromMs, toMs, text: `${name}, ${monthYear.format(fromMs)} (UTC)` },
    before: { fromMs: beforeMs, toMs: fromMs, text: month.format(beforeMs) },
  };
}

const timeZone = 'UTC';
const dayMonth = new Intl.DateTimeFormat('en-GB', { timeZone, day: 'numeric', month: 'long' });
const shortDay = new Intl.DateTimeFormat('en-GB', { timeZone, day: 'numeric', month: 'short' });
const month = new Intl.DateTimeFormat('en-GB', { timeZone, month: 'long' });
const monthYear = new Intl.DateTimeFormat('en-GB', { timeZone, month: 'long', year: 'numeric' });

/** `27 November 2026 (UTC)`, `1 November to 15 November 2026 (UTC)`. */
function daysText(fromMs: number, days: number): string {
  const lastMs = fromMs + (days - 1) * dayMs;
  const [year, lastYear] = [fromMs, lastMs].map((ms) => new Date(ms).getUTCFullYear());
  const last = `${dayMonth.format(lastMs)} ${lastYear} (UTC)`;
  if (days === 1) return last;
  return `${dayMonth.format(fromMs)}${year === lastYear ? '' : ` ${year}`} to ${last}`;
}

/** A range in the header: `24h`, `Yesterday`, `1 Nov – 15 Nov`. */
export function rangeText(range: Range): string {
  const [from = '', to] = range.split('..');
  if (to === undefined) {
    const words = range.replace('-', ' ');
    return words.charAt(0).toUpperCase() + words.slice(1);
  }
  const texts = [from, to].map((day) => shortDay.format(msOf(day)));
  return from === to ? (texts[0] ?? '') : texts.join(' – ');
}
