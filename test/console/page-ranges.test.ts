// suite: quick runtime
/**
 * The windows of ranges: whole UTC days and months next to each other, at any time and in any time
 * zone of the browser.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import {
  dayMs,
  dayOf,
  liveRangeOf,
  liveRanges,
  namedRanges,
  previousWindow,
  type Range,
  rangeFrom,
  rangeText,
  shortRanges,
  windowOf,
} from '../../src/console/page/range.ts';

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const nowMs = fc.oneof(
  fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) }),
  // Around the ends of months, leap days among them.
  fc
    .tuple(fc.integer({ min: 0, max: 1_200 }), fc.integer({ min: -dayMs, max: dayMs }))
    .map(([month, offset]) => Date.UTC(2000, month) + offset),
);
const days = fc
  .tuple(fc.integer({ min: 0, max: 36_000 }), fc.integer({ min: 1, max: 366 }))
  .map(([first, length]): Range => {
    const fromMs = Date.UTC(2000, 0) + first * dayMs;
    return `${dayOf(fromMs)}..${dayOf(fromMs + (length - 1) * dayMs)}`;
  });
const anyRange = fc.oneof(fc.constantFrom<Range>(...shortRanges, ...namedRanges), days);
// Its clocks change, are half an hour off, or a day ahead.
const zones = fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'Pacific/Kiritimati', 'UTC');

/** What JavaScript's own calendar has: the days of a month are counted one by one. */
function monthOf(ms: number): { readonly fromMs: number; readonly toMs: number } {
  const name = dayOf(ms).slice(0, 7);
  let fromMs = Math.floor(ms / dayMs) * dayMs;
  while (dayOf(fromMs - dayMs).startsWith(name)) fromMs -= dayMs;
  let toMs = fromMs;
  while (dayOf(toMs).startsWith(name)) toMs += dayMs;
  return { fromMs, toMs };
}

const lengths = { '15m': 900_000, '1h': 3_600_000, '24h': dayMs, '7d': 7 * dayMs } as const;

function expected(range: Range, now: number): { readonly fromMs: number; readonly toMs: number } {
  const today = Math.floor(now / dayMs) * dayMs;
  switch (range) {
    case 'today':
      return { fromMs: today, toMs: today + dayMs };
    case 'yesterday':
      return { fromMs: today - dayMs, toMs: today };
    case 'this-month':
      return monthOf(now);
    case 'last-month':
      return monthOf(monthOf(now).fromMs - 1);
    case '15m':
    case '1h':
    case '24h':
    case '7d':
      return { fromMs: now - lengths[range], toMs: now };
    case '30d':
      return { fromMs: now - 30 * dayMs, toMs: now };
    default: {
      const [from = '', to = ''] = range.split('..');
      return { fromMs: Date.parse(from), toMs: Date.parse(to) + dayMs };
    }
  }
}

describe('the window of a range', () => {
  it('is the one of the UTC calendar, at any time and in any zone', () => {
    fc.assert(
      fc.property(anyRange, nowMs, zones, (range, now, timeZone) => {
        process.env.TZ = timeZone;
        const { fromMs, toMs, text } = windowOf(range, now);

        expect({ fromMs, toMs }).toEqual(expected(range, now));
        const isOfDays = !shortRanges.some((short) => short === range);
        expect(text.endsWith('(UTC)')).toBe(isOfDays);
      }),
    );
  });

  it('comes right after the one that it is compared with, of which as much has passed', () => {
    fc.assert(
      fc.property(anyRange, nowMs, zones, (range, now, timeZone) => {
        process.env.TZ = timeZone;
        const { fromMs, toMs } = windowOf(range, now);
        const before = previousWindow(range, now);
        const isOver = now >= toMs || now <= fromMs;
        const isMonth = range.endsWith('month');
        const whole = isMonth ? monthOf(fromMs - 1) : { fromMs: 2 * fromMs - toMs, toMs: fromMs };
        const passedMs = isOver ? Number.POSITIVE_INFINITY : now - fromMs;

        expect(before.fromMs).toBe(whole.fromMs);
        expect(before.toMs).toBe(Math.min(whole.toMs, whole.fromMs + passedMs));
        expect(before.text.startsWith('the same part of ')).toBe(!isOver);
      }),
    );
  });

  it.each([
    ['24h', 'the last 24 hours', 'the 24 hours before', '24h'],
    ['today', 'today, 29 February 2028 (UTC)', 'the same part of yesterday', 'Today'],
    ['yesterday', 'yesterday, 28 February 2028 (UTC)', 'the day before', 'Yesterday'],
    ['this-month', 'this month, February 2028 (UTC)', 'the same part of January', 'This month'],
    ['last-month', 'last month, January 2028 (UTC)', 'December', 'Last month'],
    ['2028-02-01..2028-02-01', '1 February 2028 (UTC)', 'the day before', '1 Feb'],
    [
      '2027-12-31..2028-01-02',
      '31 December 2027 to 2 January 2028 (UTC)',
      'the 3 days before',
      '31 Dec – 2 Jan',
    ],
  ] as const)('of %s has its name', (range, text, before, short) => {
    const now = Date.UTC(2028, 1, 29, 14, 30);

    expect(windowOf(range, now).text).toBe(text);
    expect(previousWindow(range, now).text).toBe(before);
    expect(rangeText(range)).toBe(short);
  });
});

it('a range is read back, and dates that no calendar has are none', () => {
  fc.assert(fc.property(anyRange, (range) => rangeFrom(range) === range));
  const wrong = [
    '',
    '2h',
    '2026-11-15',
    '2026-11-15..',
    '2026-11-15..2026-11-14',
    '2027-02-29..2027-03-01',
    '2026-13-01..2026-13-02',
    '1999-12-31..2000-01-01',
    '2026-01-01..2027-01-02',
    '2026-11-01..2026-11-02..2026-11-03',
    undefined,
  ];
  expect(wrong.map(rangeFrom)).toEqual(wrong.map(() => undefined));
});

it('live figures are shown for the nearest range', () => {
  expect(liveRanges.map(liveRangeOf)).toEqual(liveRanges);
  const others = ['7d', 'today', 'yesterday', 'this-month', '2026-11-01..2026-11-02'] as const;
  expect(others.map(liveRangeOf)).toEqual(['30d', '24h', '24h', '30d', '24h']);
});
