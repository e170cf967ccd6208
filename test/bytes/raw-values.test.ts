// suite: slow
/** The text of a value in a body is what the caller wrote, wherever the value is. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bodyFromChunks } from '../../src/bytes/body/elide.ts';
import { rawValues } from '../../src/bytes/json/edit-elements.ts';
import { scanBody } from '../../src/bytes/json/scan/body.ts';

const space = fc.constantFrom('', ' ', '\n\t', '\r\n  ');
const scalar = fc.constantFrom(
  ...['1.0', '-0', '1e400', '12345678901234567890', 'true', 'null', '"],[{"', '"\\u00e4\\""'],
  // Long enough for its inside to be left out of the text.
  `"${'x'.repeat(200_000)}"`,
  '"ü"',
);

/** The text of a value, and of all values in it by their paths. */
interface Written {
  readonly text: string;
  readonly inside: readonly (readonly [path: string, text: string])[];
}

const { value } = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar.map((text): Written => ({ text, inside: [] })),
    fc
      .tuple(space, fc.array(tie('value'), { maxLength: 4 }))
      .map(([gap, elements]) =>
        container({ brackets: ['[', ']'], gap }, elements, (index) => ['', `[${index}]`]),
      ),
    fc
      .tuple(space, fc.array(tie('value'), { maxLength: 4 }))
      .map(([gap, members]) =>
        container({ brackets: ['{', '}'], gap }, members, (index) => [
          `"m${index}"${gap}:${gap}`,
          `.m${index}`,
        ]),
      ),
  ),
}));

interface Layout {
  readonly brackets: readonly [string, string];
  readonly gap: string;
}

function container(
  { brackets: [open, close], gap }: Layout,
  values: readonly Written[],
  place: (index: number) => readonly [prefix: string, step: string],
): Written {
  const pieces = values.map(({ text }, index) => `${gap}${place(index)[0]}${text}${gap}`);
  return {
    text: `${open}${pieces.join(',')}${values.length === 0 ? gap : ''}${close}`,
    inside: values.flatMap(({ text, inside }, index) => {
      const [, step] = place(index);
      return [
        [step, text] as const,
        ...inside.map(([path, inner]) => [step + path, inner] as const),
      ];
    }),
  };
}

it('is found at every path, in any order, and nowhere else', () => {
  fc.assert(
    fc.property(value, fc.boolean(), ({ text, inside }, isBackwards) => {
      const bytes = Buffer.from(` {"a":1, "x" : ${text} } `);
      const raw = rawValues(scanBody(bodyFromChunks([bytes], bytes.length)));
      const paths = [['', text] as const, ...inside].map(([at, one]) => [`x${at}`, one] as const);

      for (const [path, expected] of isBackwards ? paths.toReversed() : paths) {
        expect(raw(path) === expected, path).toBe(true);
        expect(raw(`${path}.missing`)).toBeUndefined();
        expect(raw(`${path}[99]`)).toBeUndefined();
      }
      expect(raw('missing')).toBeUndefined();
      expect(raw('')).toBeUndefined();
    }),
  );
});

it('needs no more time for a hundred thousand values than for reading them once', () => {
  const count = 100_000;
  const calls = Array.from({ length: count }, (_, at) => `{"input":{"a":${at}.0}}`).join(',');
  const bytes = Buffer.from(`{"messages":[{"content":[${calls}]}]}`);
  const raw = rawValues(scanBody(bodyFromChunks([bytes], bytes.length)));

  let found = 0;
  for (let at = 0; at < count; at += 1) {
    if (raw(`messages[0].content[${at}].input`) === `{"a":${at}.0}`) found += 1;
  }
  expect(found).toBe(count);
});
