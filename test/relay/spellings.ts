/** Other spellings of the same JSON: letters of envelopes and of names beside them as escapes. */
import fc from 'fast-check';

/** Which letters become escapes, in turn. */
export const escapes: fc.Arbitrary<readonly boolean[]> = fc.oneof(
  fc.constant([false]),
  fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
);

/** The JSON text with some of these letters as escapes; its value stays the same. */
export function respelled(json: string, isEscaped: readonly boolean[]): string {
  let count = 0;
  return json.replace(/Z3c[xy]O|(?<=")(?:signature|data|thought_?[sS]ignature)(?=")/g, (letters) =>
    letters.replace(/\w/g, (letter) => {
      count += 1;
      if (isEscaped[count % isEscaped.length] !== true) return letter;
      const hex = letter.charCodeAt(0).toString(16).padStart(4, '0');
      return `\\u${count % 2 === 0 ? hex : hex.toUpperCase()}`;
    }),
  );
}
