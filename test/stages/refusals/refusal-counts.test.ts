// suite: quick
/** Counts of refusals lose none and stay few, whatever is refused. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { statusOf } from '../../../src/errors.ts';
import { failureReasons } from '../../../src/failure-reasons.ts';
import {
  boundedDetails,
  type RefusalKind,
  refusalCounts,
} from '../../../src/stages/record-refusals.ts';

const some = (kind: Partial<RefusalKind> = {}): RefusalKind => ({
  keyId: undefined,
  group: undefined,
  protocol: undefined,
  modelId: undefined,
  code: 'invalid_key',
  reason: undefined,
  detail: undefined,
  ...kind,
});
const sumOf = (rows: readonly { readonly refusals: number }[]): number =>
  rows.reduce((sum, { refusals }) => sum + refusals, 0);

const anyKey = fc.option(fc.nat(3_000), { nil: undefined }).map((key) => ({
  keyId: key === undefined ? undefined : `${key}`,
  group: key === undefined ? undefined : ['staff', 'chat'][key % 2],
}));
const anyRefused = fc.record({
  protocol: fc.constantFrom('chat' as const, 'native' as const, undefined),
  modelId: fc.option(fc.string({ maxLength: 3, unit: 'binary' }), { nil: undefined }),
  code: fc.constantFrom('rate_limited' as const, 'model_not_allowed' as const),
  reason: fc.constantFrom(...failureReasons.slice(0, 3), undefined),
  detail: fc.constantFrom('messages[].content', '/v1/files', undefined),
});
const anyKind = fc.tuple(anyKey, anyRefused).map(([key, refused]) => ({ ...key, ...refused }));

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

const dayMs = 86_400_000;
const anyDetailed = fc.record({
  keyId: fc.constantFrom('ada', 'bob', undefined),
  code: fc.constantFrom('invalid_request' as const, 'not_portable' as const),
  detail: fc.option(
    fc.nat(60).map((name) => `metadata.name_${name}`),
    { nil: undefined },
  ),
  day: fc.nat(2),
});

it('a key brings at most 16 members into a day for each code, and the first ones stay', () => {
  fc.assert(
    fc.property(fc.array(anyDetailed, { maxLength: 1_000, size: 'max' }), (drawn) => {
      const bounded = boundedDetails();
      const inOrder = drawn.toSorted((one, other) => one.day - other.day);
      const kept = new Map<string, Set<string>>();
      for (const { day, ...kind } of inOrder) {
        const before = some(kind);
        const after = bounded(before, day * dayMs + 7);
        expect({ ...after, detail: kind.detail }).toEqual(before);
        const name = `${kind.keyId} ${kind.code} ${day}`;
        const known = kept.get(name) ?? new Set();
        if (kind.detail === undefined) continue;
        const isKept = known.has(kind.detail) || known.size < 16;
        expect(after.detail).toBe(isKept ? kind.detail : undefined);
        kept.set(name, isKept ? known.add(kind.detail) : known);
      }
    }),
    { numRuns: 30 },
  );
});

it('members are remembered for 1,000 keys and codes; paths and limits are always kept', () => {
  const bounded = boundedDetails();
  const detailOf = (kind: Partial<RefusalKind>): string | undefined =>
    bounded(some(kind), 0).detail;
  for (let key = 0; key < 1_000; key += 1) detailOf({ keyId: `${key}`, detail: 'input' });

  expect(detailOf({ keyId: 'late', detail: 'input' })).toBeUndefined();
  expect(detailOf({ keyId: '7', detail: 'tools' })).toBe('tools');
  expect(detailOf({ code: 'route_not_found', detail: '/v1/files' })).toBe('/v1/files');
  for (const code of ['rate_limited', 'overloaded'] as const) {
    expect(detailOf({ keyId: 'late', code, detail: 'key:x/minute' })).toBe('key:x/minute');
  }
});

it('a key with very many kinds of refusals leaves the names to the others', () => {
  const counts = refusalCounts();
  for (let index = 0; index < 5_000; index += 1) {
    counts.add(some({ keyId: 'noisy', modelId: `model-${index}`, code: 'rate_limited' }));
  }
  counts.add(some({ keyId: 'quiet', modelId: 'model-1', code: 'rate_limited' }));
  const rows = counts.read();

  expect(rows).toContainEqual({
    ...some({ keyId: 'quiet', modelId: 'model-1', code: 'rate_limited' }),
    refusals: 1,
  });
  expect(sumOf(rows.filter(({ keyId }) => keyId === 'noisy'))).toBe(5_000);
  expect(rows.length).toBeLessThan(110);
});
