// suite: quick
/** Editing elements of arrays, and cutting members out, keeps all other bytes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spliceMembers } from '../../src/bytes/body/splice.ts';
import { cutPaths, editElements } from '../../src/bytes/json/edit-elements.ts';
import { root } from '../../src/bytes/json/tape.ts';
import { tapeOf } from './scanned.ts';

const replacement = '{"new":1}';
const space = fc.constantFrom('', ' ', '\n\t', '  ');
const region = fc.record({
  before: space,
  text: fc.constantFrom(
    '{"a":[1,{"b":","}]}',
    '"],["',
    '1.0',
    '12345678901234567890',
    '[]',
    'null',
  ),
  after: space,
  edit: fc.constantFrom('keep', 'replace', 'remove'),
});

it('keeps, replaces and removes elements', () => {
  fc.assert(
    fc.property(fc.array(region, { maxLength: 6 }), (regions) => {
      const edits = new Map<number, string | undefined>();
      const expected: string[] = [];
      for (const [at, { before, text, after, edit }] of regions.entries()) {
        if (edit !== 'keep') edits.set(at, edit === 'replace' ? replacement : undefined);
        const written = edit === 'keep' ? text : replacement;
        if (edit !== 'remove') expected.push(before + written + after);
      }
      const list = regions.map(({ before, text, after }) => before + text + after).join(',');
      const prefix = '{"x":"ü","list":';
      const tape = tapeOf(`${prefix}[${list}]}`);

      expect(editElements(tape, tape.get(root, 'list'), edits)).toBe(`[${expected.join(',')}]`);
    }),
  );
});

describe('members at paths', () => {
  const names = ['a', 'b', 'c', 'kept'];
  const number = fc.integer({ min: 0, max: 9 });
  const holder = (more: Record<string, fc.Arbitrary<unknown>>) =>
    fc
      .record({ a: number, b: number, c: number, kept: number, ...more }, { requiredKeys: [] })
      .chain((value) =>
        fc.shuffledSubarray(Object.entries(value)).map((entries) => Object.fromEntries(entries)),
      );
  const leaf = holder({});
  const list = (element: fc.Arbitrary<unknown>) => fc.array(element, { maxLength: 3 });
  const document = holder({ o: leaf, l: list(holder({ m: list(leaf), o: leaf })) });
  const paths = ['o', 'l[]', 'l[].o', 'l[].m[]'].flatMap((path) =>
    names.slice(0, -1).map((name) => `${path}.${name}`),
  );
  const indents = fc.constantFrom(undefined, 1, '\n\t');

  it('are cut together, wherever they are and however many there are', () =>
    fc.assert(
      fc.property(document, fc.subarray(paths), indents, (value, wanted, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const expected = new Set<string>();
        const without: unknown = JSON.parse(text);
        for (const path of wanted) if (removeAt(without, path.split('.'))) expected.add(path);
        const tape = tapeOf(text);

        const { spans, found } = cutPaths(tape, wanted);

        const sent = Buffer.concat(spliceMembers(tape, [], spans)).toString();
        expect(JSON.parse(sent)).toEqual(without);
        expect(found).toEqual(wanted.filter((path) => expected.has(path)));
      }),
      { numRuns: 500 },
    ));
});

/** Whether anything was there. */
function removeAt(holder: unknown, [step = '', ...rest]: readonly string[]): boolean {
  if (!isRecord(holder)) return false;
  const name = step.replace('[]', '');
  const value = holder[name];
  if (value === undefined) return false;
  if (rest.length === 0) return delete holder[name];
  const inner = Array.isArray(value) ? value : [value];
  return inner.map((one) => removeAt(one, rest)).includes(true);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
