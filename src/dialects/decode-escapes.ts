/**
 * Decodes the ways of writing single characters that can be replaced inside a text without harm:
 * percent-encoding, HTML entities and escape sequences.
 */

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  ast: '*',
  colon: ':',
  commat: '@',
  dash: '-',
  equals: '=',
  gt: '>',
  hyphen: '-',
  lowbar: '_',
  lt: '<',
  nbsp: ' ',
  num: '#',
  percnt: '%',
  period: '.',
  plus: '+',
  quot: '"',
  sol: '/',
};
const percentEncoded = /%([2-7][0-9a-f])/gi;
/** A character beyond ASCII has two to four bytes in UTF-8. */
const percentEncodedUtf8 = /(?:%[89a-f][0-9a-f]){2,4}/gi;
const escaped = /\\{1,4}(?:u00|u\{0{0,4}|u0{6}|x)([2-7][0-9a-f])\}?/gi;
const escapedUnicode = /\\{1,4}u(?:\{([0-9a-f]{2,6})\}|([0-9a-f]{4}))/gi;
const entity = /&(?:#(\d{2,7})|#x([0-9a-f]{2,6})|([a-z]{2,24}));?/gi;
/** Entity names of invisible characters. */
const invisibleEntity =
  /^(?:shy|zwn?j|lrm|rlm|ic|it|af|nobreak|\w+space|invisible\w+|applyfunction|\w{2,4}sp)$/i;

/**
 * Encodings may be nested, because an error that passed through three systems was encoded by each
 * of them.
 */
const nestedEncodings = 3;

/** White space, control characters, accents and invisible characters. */
export const invisible: RegExp = /[\s\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Decodes percent-encoding, entities and escapes of ASCII characters, and drops those of invisible
 * characters, which could break up a secret.
 */
export function withoutEscapes(text: string): string {
  let plain = text;
  for (let pass = 0; pass < nestedEncodings; pass += 1) {
    const next = plain
      .replace(percentEncoded, (all, hex) => asciiOrSame(all, Number.parseInt(hex, 16)))
      .replace(percentEncodedUtf8, withoutInvisible)
      .replace(escaped, (all, hex) => asciiOrSame(all, Number.parseInt(hex, 16)))
      .replace(escapedUnicode, (all, long, short) =>
        asciiOrSame(all, Number.parseInt(long ?? short, 16)),
      )
      .replace(entity, (all, decimal, hex, name) => {
        if (name !== undefined) return entities[name.toLowerCase()] ?? emptyIfInvisible(all, name);
        return asciiOrSame(all, Number.parseInt(decimal ?? hex, decimal === undefined ? 16 : 10));
      });
    if (next === plain) return plain;
    plain = next;
  }
  return plain;
}

function asciiOrSame(text: string, code: number): string {
  if (code >= 0x20 && code < 0x7f) return String.fromCharCode(code);
  if (code > 0x10ffff) return text;
  const character = String.fromCodePoint(code);
  if (/\s/.test(character)) return ' ';
  return invisible.test(character) ? '' : text;
}

function emptyIfInvisible(text: string, name: string): string {
  return invisibleEntity.test(name) ? '' : text;
}

/** Keeps the encoded bytes unless all of their characters are invisible. */
function withoutInvisible(encoded: string): string {
  const text = Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8');
  return [...text].every((character) => invisible.test(character)) ? '' : encoded;
}
