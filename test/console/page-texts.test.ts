// suite: slow runtime
/**
 * The texts of the console: amounts that are exact in both directions, and routes that are read
 * back from their URL.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import {
  amountText,
  clockText,
  durationText,
  exactMoney,
  moneyColumn,
  moneyText,
  nanosOf,
  percentText,
  rateOf,
  sentence,
  spanText,
  writeFor,
  zoneText,
} from '../../src/console/page/format.ts';
import { namedRanges, shortRanges } from '../../src/console/page/range.ts';
import { hrefOf, routeOf, viewNames } from '../../src/console/page/route.ts';

const amount = fc.bigInt({ min: -9_000_000n * 10n ** 9n, max: 9_000_000n * 10n ** 9n });
const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
/** Names of filters; a range is not one. */
const filters = fc.dictionary(fc.stringMatching(/^[a-qs-z]{1,8}$/), text, {
  noNullPrototype: true,
});

describe('an amount', () => {
  it('that is written out and read again is the same to the nano', () => {
    fc.assert(fc.property(amount, (nanos) => nanosOf(exactMoney(nanos)) === String(nanos)));
  });

  it('is shown within half of its last digit', () => {
    fc.assert(
      fc.property(amount, (nanos) => {
        const shown = moneyText(nanos).replace('−', '-').replaceAll(',', '');
        const decimals = shown.split('.')[1]?.length ?? 0;
        const difference = BigInt(nanosOf(shown) ?? 'none') - nanos;

        expect(decimals).toBeGreaterThanOrEqual(2);
        expect(2n * (difference < 0n ? -difference : difference)).toBeLessThanOrEqual(
          10n ** BigInt(9 - decimals),
        );
      }),
    );
  });

  it('has as many decimals as the others of its column, unless it is 0', () => {
    fc.assert(
      fc.property(fc.array(amount.map(String), { minLength: 1 }), (all) => {
        const shown = all.filter((nanos) => nanos !== '0').map(moneyColumn(all));
        const decimals = shown.map((amount) => amount.split('.')[1]?.length);

        expect(new Set(decimals).size).toBe(Math.min(1, shown.length));
        expect(moneyColumn(all)('0')).toBe('0');
      }),
    );
  });

  it('of a column is below the last of its digits, if it has none among them', () => {
    const column = moneyColumn(['2000000000', '20', '-20', '0']);

    expect(['20', '-20', '0', '2000000000'].map(column)).toEqual([
      '<0.000001',
      '−<0.000001',
      '0',
      '2.000000',
    ]);
    fc.assert(
      fc.property(fc.array(amount.map(String), { minLength: 1 }), (all) => {
        const shown = all.filter((nanos) => nanos !== '0').map(moneyColumn(all));

        for (const text of shown) expect(text).toMatch(/[1-9]/);
      }),
    );
  });

  it.each([
    ['0', '0.00'],
    ['340000', '0.00034'],
    ['1', '0.000000001'],
    ['1234567890123', '1,234.57'],
    ['-50000000', '−0.05'],
  ])('of %s nanos is %s', (nanos, shown) => {
    expect(moneyText(nanos)).toBe(shown);
  });

  it.each([
    '',
    '1.',
    '.5',
    '1e3',
    '0x1',
    '12345678',
    '1.0000000001',
    'NaN',
    '--1',
    '0,50',
    '1,500',
    '1,500.00',
    '٣',
  ])('can’t be written as “%s”', (written) => {
    expect(nanosOf(written)).toBeUndefined();
  });

  it('is read from any text as its digits say, or not at all', () => {
    const characters = fc.constantFrom(...'00123456789..,,-+e ’\u00a0٣_x');
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 12 }), (written) => {
        const nanos = nanosOf(written);
        const [whole = '', fraction = '', ...more] = written.trim().replace('-', '').split('.');
        const isAmount =
          /^-?[0-9]+(?:\.[0-9]+)?$/.test(written.trim()) &&
          whole.length < 8 &&
          fraction.length < 10;

        expect(nanos !== undefined).toBe(isAmount && more.length === 0);
        if (nanos === undefined) return;
        const size = BigInt(`${whole}${fraction}${'0'.repeat(9 - fraction.length)}`);
        expect(BigInt(nanos)).toBe(written.trim().startsWith('-') ? -size : size);
      }),
      { numRuns: 2_000 },
    );
  });

  it('with one more character that is not a digit is refused, wherever it is', () => {
    const foreign = fc.constantFrom(...",.'’_ -+eE\u00a0\u202f٬٫");
    fc.assert(
      fc.property(
        fc.nat({ max: 9_999_999 }),
        fc.nat({ max: 99 }),
        foreign,
        fc.nat({ max: 8 }),
        (whole, cents, character, place) => {
          const plain = `${whole}.${String(cents).padStart(2, '0')}`;
          const at = 1 + (place % (plain.length - 1));
          const written = `${plain.slice(0, at)}${character}${plain.slice(at)}`;

          expect(nanosOf(plain)).toBeDefined();
          expect(nanosOf(written)).toBeUndefined();
        },
      ),
    );
  });

  it('is shown again with all of its digits', () => {
    fc.assert(
      fc.property(amount, (nanos) => {
        const shown = amountText(nanos).replace('−', '-').replaceAll(',', '');

        expect(nanosOf(shown)).toBe(String(nanos));
      }),
    );
  });
});

describe('a rate', () => {
  const unitMs: Readonly<Record<string, number>> = {
    '/s': 1_000,
    '/min': 60_000,
    '/h': 3_600_000,
    '/day': 86_400_000,
  };

  it('is within its last digit, and 0 only where nothing happened', () => {
    const lengths = fc.constantFrom(60_000, 3_600_000, 86_400_000);
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), lengths, (count, ms) => {
        const [text, unit] = rateOf(count, ms);
        const exact = (count / ms) * (unitMs[unit] ?? Number.NaN);

        expect(Math.abs(Number(text.replaceAll(',', '')) - exact)).toBeLessThanOrEqual(
          exact >= 10 ? 0.501 : 0.0501,
        );
        expect(Number(text.replaceAll(',', '')) === 0).toBe(count === 0);
      }),
    );
  });

  it.each([
    [0, 60_000, '0/min'],
    [16, 3_600_000, '16/h'],
    [400, 86_400_000, '17/h'],
    [3, 86_400_000, '3.0/day'],
    [120, 60_000, '2.0/s'],
  ])('of %i in %i ms is %s', (count, ms, shown) => {
    expect(rateOf(count, ms).join('')).toBe(shown);
  });
});

it.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [1_900, '1.9 s'],
  [59_400, '59 s'],
  [61_000, '1 min'],
  [11_520_000, '3 h 12 min'],
  [90_000_000, '1 d 1 h'],
])('%s ms are %s', (ms, shown) => {
  expect(durationText(ms)).toBe(shown);
});

it('a share is 100 % only where nothing is missing', () => {
  expect([0.99999, 1, 0].map(percentText)).toEqual(['99.9 %', '100 %', '0.0 %']);
  expect(spanText(-5)).toBe('0 s');
});

it.each([
  ['0', '50000000000', '0'],
  ['10320000', '50000000000', '0.01'],
  ['1', '50000000000', '<0.01'],
  ['50000000000', '10320000', '50.00'],
  ['10320000', '51000000', '0.01032'],
])('%s nanos beside %s are %s', (nanos, beside, shown) => {
  expect(moneyText(nanos, beside)).toBe(shown);
});

describe('in the currency and the time zone of the host', () => {
  afterEach(() => writeFor({ currency: null, timeZone: null }));

  it.each([
    ['USD', '$10.50', '−$0.00005', '<$0.01'],
    ['EUR', '€10.50', '−€0.00005', '<€0.01'],
    ['CHF', 'CHF\u00a010.50', '−CHF\u00a00.00005', '<CHF\u00a00.01'],
  ])('amounts have the sign of %s', (currency, ...shown) => {
    writeFor({ currency, timeZone: null });

    const amounts = [moneyText('10500000000'), moneyText('-50000'), moneyText(1n, 1_000_000_000n)];
    expect(amounts).toEqual(shown);
    expect(nanosOf(exactMoney('10500000000'))).toBe('10500000000');
  });

  it('times of day, and whether it is today, are those of the zone', () => {
    writeFor({ currency: null, timeZone: 'Pacific/Kiritimati' });
    const nowMs = Date.UTC(2026, 10, 20, 12);

    expect(zoneText()).toBe('Pacific/Kiritimati');
    expect(clockText(nowMs, nowMs)).toBe('02:00:00');
    expect(clockText(Date.UTC(2026, 10, 20, 9), nowMs)).toBe('20 Nov 23:00:00');
    expect(clockText(Date.UTC(2025, 10, 20, 12), nowMs)).toBe('21 Nov 02:00:00');
  });
});

it('a sentence has no marks of code around its names', () => {
  expect(sentence('add the group to `groups` of the model')).toBe(
    'Add the group to groups of the model.',
  );
});

describe('a route', () => {
  it('is read back from its URL, whatever its id and its filters are', () => {
    const route = fc.record({
      view: fc.constantFrom(...viewNames),
      id: fc.option(text, { nil: undefined }),
      range: fc.constantFrom(...shortRanges, ...namedRanges),
      params: filters,
    });

    fc.assert(
      fc.property(route, (place) => {
        expect(routeOf(hrefOf(place), '1h')).toEqual(place);
      }),
    );
  });

  it('is read from any URL', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (hash) => {
        expect(viewNames).toContain(routeOf(hash, '1h').view);
      }),
    );
  });
});
