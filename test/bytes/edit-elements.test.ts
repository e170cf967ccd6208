// suite: quick
/** Editing elements of a JSON array keeps all other bytes, whatever the elements are. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { editElements } from '../../src/bytes/json/edit-elements.ts';
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
