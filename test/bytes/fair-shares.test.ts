// suite: quick
/** How the body budget and the number of running calls are divided among keys. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyBudget, type FairShares, fairShares } from '../../src/bytes/body/fair-shares.ts';
import { often } from './json-arbitrary.ts';

const large = { own: 0, isSmall: false };
const small = { own: 0, isSmall: true };

describe('fair shares', () => {
  it('one key may take half, and above that only others may take more', () => {
    const shares = fairShares(() => 80);

    expect(taken(shares, 'greedy', large)).toBe(40);
    expect(shares.take('other', 1, large)).toBe(true);
    expect(taken(shares, 'other', large)).toBe(19);
    expect(shares.take('third', 1, large)).toBe(true);
  });

  it('the last eighth is for small bodies', () => {
    const shares = fairShares(() => 80);

    const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`);
    const largeOnes = keys.reduce((sum, key) => sum + taken(shares, key, large), 0);
    const smallOnes = keys.reduce((sum, key) => sum + taken(shares, key, small), 0);

    expect([largeOnes, smallOnes]).toEqual([70, 10]);
  });

  it('a single body may take everything', () => {
    const shares = fairShares(() => 1_000_000);
    const body = bodyBudget(shares, 'key', 1_000_000);

    for (let count = 0; count < 10; count += 1) expect(body.take(100_000)).toBe(true);
    expect(body.take(1)).toBe(false);
  });

  it('a body counts as large by its content-length or by the bytes received', () => {
    const shares = fairShares(() => 1_000_000);
    for (const key of ['a', 'b', 'c', 'd']) shares.take(key, 218_750, large);

    expect(bodyBudget(shares, 'e', 70_000).take(1)).toBe(false);
    const unannounced = bodyBudget(shares, 'e', undefined);
    expect(unannounced.take(65_536)).toBe(true);
    expect(unannounced.take(1)).toBe(false);
  });

  it('a limit of one allows one', () => {
    expect(fairShares(() => 1).take('key', 1, large)).toBe(true);
  });

  it('never exceeds the limit, and returns to zero when all is given back', () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      body: fc.nat(3),
      bytes: fc.integer({ min: 1, max: 200_000 }),
      isEnd: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const most = 1_000_000;
        const shares = fairShares(() => most);
        const bodies = new Map<string, { budget: ReturnType<typeof bodyBudget>; bytes: number }>();
        const sum = (): number =>
          [...bodies.values()].reduce((total, { bytes }) => total + bytes, 0);
        for (const { key, body, bytes, isEnd } of steps) {
          const name = `${key}${body}`;
          const open = bodies.get(name) ?? { budget: bodyBudget(shares, key, undefined), bytes: 0 };
          bodies.set(name, open);
          if (isEnd) {
            open.budget.give(open.bytes);
            open.bytes = 0;
          } else if (open.budget.take(bytes)) {
            open.bytes += bytes;
          }
          expect(sum()).toBeLessThanOrEqual(most);
        }
        for (const { budget, bytes } of bodies.values()) budget.give(bytes);

        expect(shares.take('anybody', most, large)).toBe(true);
      }),
      { ...often, numRuns: 300 },
    );
  });
});

/** The number of takes that a key is granted before it is refused. */
function taken(shares: FairShares, key: string, claim: typeof large): number {
  let count = 0;
  while (shares.take(key, 1, claim)) count += 1;
  return count;
}
