// suite: quick
/** Amounts as decimal strings: exact in both directions, and nothing but amounts is accepted. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { maxNanos } from '../../src/money.ts';
import { formatMoney, money } from '../../src/prices/amount.ts';

it.each([
  ['0.15', 150_000_000n],
  ['5', 5_000_000_000n],
  ['0', 0n],
  ['0.000000001', 1n],
  ['007.50', 7_500_000_000n],
  ['9007199.254740991', maxNanos],
])('money(%s) is %s', (units, nanos) => {
  expect(money(units)).toBe(nanos);
});

it.each([
  '',
  '.5',
  '5.',
  '-1',
  '+1',
  '1e3',
  ' 1',
  '1,5',
  '0.0000000001',
  '9007199.254740992',
  '٣',
])('money(%j) is refused', (units) => {
  expect(() => money(units)).toThrow('money: the amount must be a decimal string');
});

it('formatMoney is the reverse, for every amount', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, maxNanos), (nanos) => {
      expect(money(formatMoney(nanos))).toBe(nanos);
    }),
  );
  expect(formatMoney(-1_500_000_000n)).toBe('-1.5');
});
