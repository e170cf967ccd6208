// suite: quick
/** Counts of refusals lose none and stay few, whatever is refused. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { statusOf } from '../../src/errors.ts';
import { failureReasons } from '../../src/failure-reasons.ts';
import { type RefusalKind, refusalCounts } from '../../src/stages/refusal-counts.ts';

const some = (kind: Partial<RefusalKind> = {}): RefusalKind => ({
  keyId: undefined,
  group: undefined,
  protocol: undefined,
  modelId: undefined,
  code: 'invalid_key',
  reason: undefined,
  ...kind,
});
const sumOf = (rows: readonly { readonly refusals: number }[]): number =>
  rows.reduce((sum, { refusals }) => sum + refusals, 0);

const anyKind = fc.record({
  keyId: fc.option(fc.nat(3_000).map(String), { nil: undefined }),
  group: fc.constantFrom('staff', 'chat', undefined),
  protocol: fc.constantFrom('chat' as const, 'native' as const, undefined),
  modelId: fc.option(fc.string({ maxLength: 3, unit: 'binary' }), { nil: undefined }),
  code: fc.constantFrom('rate_limited' as const, 'model_not_allowed' as const),
  reason: fc.constantFrom(...failureReasons.slice(0, 3), undefined),
});

it('every refusal is counted once, by its code, reason and protocol', () => {
  fc.assert(
    fc.property(fc.array(anyKind, { minLength: 1, maxLength: 6_000, size: 'max' }), (kinds) => {
      const counts = refusalCounts();
      for (const kind of kinds) counts.add(kind);
      const rows = counts.read();

      expect(sumOf(rows)).toBe(kinds.length);
      for (const member of ['code', 'reason', 'protocol'] as const) {
        for (const value of new Set(kinds.map((kind) => kind[member]))) {
          const refused = kinds.filter((kind) => kind[member] === value).length;
          expect(sumOf(rows.filter((row) => row[member] === value))).toBe(refused);
        }
      }
      const named = rows.filter(
        ({ keyId, modelId }) => keyId !== '(other)' && modelId !== '(other)',
      );
      expect(named.length).toBeLessThanOrEqual(1_000 + 100);
      expect(rows.length).toBeLessThanOrEqual(1_000 + 200);
    }),
    { numRuns: 20 },
  );
});

it('the 1,001st key is not counted separately, and known ones still are', () => {
  const counts = refusalCounts();
  for (let key = 0; key < 1_000; key += 1)
    counts.add(some({ keyId: `key-${key}`, group: 'staff' }));
  counts.add(some({ keyId: 'late', group: 'staff', modelId: 'chat' }));
  counts.add(some({ keyId: 'later', group: 'staff', modelId: 'image' }));
  counts.add(some({ keyId: 'key-0', group: 'staff' }));

  const rows = counts.read();
  const other = { keyId: '(other)', group: '(other)', modelId: '(other)', refusals: 2 };

  expect(rows).toHaveLength(1_001);
  expect(rows.at(-1)).toEqual({ ...some(other), refusals: 2 });
  expect(rows.find(({ keyId }) => keyId === 'key-0')?.refusals).toBe(2);
});

it('refusals of requests without a key leave room for counts of keys', () => {
  const counts = refusalCounts();
  for (let request = 0; request < 5_000; request += 1) counts.add(some());
  counts.add(some({ keyId: 'ada', group: 'staff' }));

  expect(counts.read().map(({ keyId, refusals }) => [keyId, refusals])).toEqual([
    [undefined, 5_000],
    ['ada', 1],
  ]);
});

it.each([
  ['a control character', 'a\u0000b'],
  ['half of a character', '\ud800'],
  ['too much text', 'a'.repeat(257)],
])('a name with %s, which a database may refuse, is not kept', (_what, name) => {
  const counts = refusalCounts();

  counts.add(some({ keyId: name, group: name, modelId: name }));

  const other = { keyId: '(other)', group: '(other)', modelId: '(other)' };
  expect(counts.read()).toEqual([{ ...some(other), refusals: 1 }]);
});

it('only codes and reasons of the gateway are kept', () => {
  const counts = refusalCounts();

  counts.add(JSON.parse('{ "code": "a secret", "reason": "a prompt" }'));

  expect(counts.read()).toEqual([{ ...some({ code: 'internal_error' }), refusals: 1 }]);
  expect(Object.keys(statusOf)).toContain('internal_error');
});
