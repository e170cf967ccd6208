// suite: quick runtime
/** Names of periods: each ends when the next one begins, and no two kinds have equal names. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PeriodOfLimit } from '../../../src/ports/keys/key-store.ts';
import { isPeriod, nextPeriodMs, periodName } from '../../../src/ports/limits/quota-input.ts';

const anchored = fc
  .integer({ min: 2, max: 31 })
  .map((anchorDay): PeriodOfLimit => ({ period: 'month', anchorDay }));
const limits = fc.oneof(
  fc.constantFrom<PeriodOfLimit>({ period: 'day' }, { period: 'week' }, { period: 'month' }),
  anchored,
);
const times = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) });

describe('a period', () => {
  it('keeps its name until the next one begins, whose name sorts after it', () => {
    fc.assert(
      fc.property(limits, times, (limit, nowMs) => {
        const nextMs = nextPeriodMs(limit, nowMs) ?? Number.NaN;
        const name = periodName(limit, nowMs);

        expect(nextMs).toBeGreaterThan(nowMs);
        expect(nextMs % 86_400_000).toBe(0);
        expect(periodName(limit, nextMs - 1)).toBe(name);
        expect(periodName(limit, nextMs) > name).toBe(true);
        expect(isPeriod(name)).toBe(true);
      }),
    );
  });

  it('has a name that no period of another kind has', () => {
    fc.assert(
      fc.property(limits, limits, times, times, (one, other, oneMs, otherMs) => {
        const isSameKind = one.period === other.period && one.anchorDay === other.anchorDay;
        if (!isSameKind) expect(periodName(one, oneMs)).not.toBe(periodName(other, otherMs));
      }),
    );
  });

  it.each([
    ['2026-12-31', '2026-W53'],
    ['2027-01-03', '2026-W53'],
    ['2027-01-04', '2027-W01'],
    ['2024-12-30', '2025-W01'],
  ])('of a week is the ISO week: %s is in %s', (day, name) => {
    expect(periodName({ period: 'week' }, Date.parse(day))).toBe(name);
  });

  it.each([
    [15, '2026-11-14', '2026-10.15'],
    [15, '2026-11-15', '2026-11.15'],
    [31, '2026-11-29', '2026-10.31'],
    [31, '2026-11-30', '2026-11.31'],
    [31, '2027-02-28', '2027-02.31'],
    [30, '2028-02-28', '2028-01.30'],
    [30, '2028-02-29', '2028-02.30'],
    [1, '2026-11-20', '2026-11'],
  ])('that begins on day %d has %s in %s', (anchorDay, day, name) => {
    expect(periodName({ period: 'month', anchorDay }, Date.parse(day))).toBe(name);
  });
});
