/** Encodings that hide a secret from an exact comparison. */

/** Encodes a secret. */
export type Encoding = (secret: string) => string;

const each =
  (write: (letter: string, index: number) => string): Encoding =>
  (secret) =>
    [...secret].map(write).join('');
const hexOf = (letter: string): string => letter.charCodeAt(0).toString(16).padStart(2, '0');
const between = (gap: string): Encoding => each((letter) => `${letter}${gap}`);

const octalOf = (letter: string): string => letter.charCodeAt(0).toString(8).padStart(3, '0');
const codesOf = (secret: string, radix: number): string[] =>
  [...secret].map((letter) => letter.charCodeAt(0).toString(radix));
const inHex =
  (gap: string): Encoding =>
  (secret) =>
    codesOf(secret, 16).join(gap);

/** The encodings by name. */
export const encodings: Readonly<Record<string, Encoding>> = {
  plain: (secret) => secret,
  'upper case': (secret) => secret.toUpperCase(),
  'lower case': (secret) => secret.toLowerCase(),
  'alternating case': each((letter, at) => (at % 2 ? letter.toUpperCase() : letter.toLowerCase())),
  percent: each((letter) => `%${hexOf(letter)}`),
  'upper-case percent': each((letter) => `%${hexOf(letter).toUpperCase()}`),
  'percent of a half': each((letter, at) => (at % 2 ? letter : `%${hexOf(letter)}`)),
  'percent, twice': each((letter) => `%25${hexOf(letter)}`),
  'percent, three times': each((letter) => `%2525${hexOf(letter)}`),
  'decimal entities': each((letter) => `&#${letter.charCodeAt(0)};`),
  'padded entities': each((letter) => `&#00${letter.charCodeAt(0)};`),
  'hex entities': each((letter) => `&#x${hexOf(letter)};`),
  'entities without an end': each((letter) => `&#${letter.charCodeAt(0)}`),
  'entities of entities': each((letter) => `&amp;#${letter.charCodeAt(0)};`),
  'named entities': (secret) => secret.replaceAll('-', '&hyphen;').replaceAll('_', '&lowbar;'),
  'JSON escapes': each((letter) => `\\u00${hexOf(letter)}`),
  'JSON escapes, twice': each((letter) => `\\\\u00${hexOf(letter)}`),
  'hex escapes': each((letter) => `\\x${hexOf(letter)}`),
  spaces: between(' '),
  'line ends': between('\r\n'),
  tabs: between('\t'),
  'no-break spaces': between('\u00A0'),
  'zero-width spaces': between('\u200B'),
  'zero-width joiners': between('\u200D'),
  'word joiners': between('\u2060'),
  'byte order marks': between('\uFEFF'),
  'soft hyphens': between('\u00AD'),
  'variation selectors': between('\uFE0F'),
  'Hangul fillers': between('\u3164'),
  'zero-width spaces as numbers': between('&#8203;'),
  'zero-width spaces as hex numbers': between('&#x200b;'),
  'zero-width spaces by name': between('&ZeroWidthSpace;'),
  'soft hyphens by name': between('&shy;'),
  'zero-width spaces, percent-encoded': between('%E2%80%8B'),
  'zero-width joiners as escapes': between('\\u200d'),
  'marks of direction': between('\u202E'),
  'combining marks': between('\u0332'),
  'full-width letters': each((letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
  reversed: (secret) => [...secret].reverse().join(''),
  hex: (secret) => Buffer.from(secret).toString('hex'),
  Base64: (secret) => Buffer.from(secret).toString('base64'),
  'Base64 after one byte': (secret) => Buffer.from(`:${secret}`).toString('base64'),
  'Base64 after two': (secret) => Buffer.from(`u:${secret}`).toString('base64'),
  'URL-safe Base64': (secret) => Buffer.from(secret).toString('base64url'),
  'the last 8': (secret) => secret.slice(-8),
  'the last 16': (secret) => secret.slice(-16),
  'all but the first': (secret) => secret.slice(1),
  'the first 16': (secret) => secret.slice(0, 16),
  'the middle': (secret) => secret.slice(4, -4),
  'the last 16, spaced': (secret) => between(' ')(secret.slice(-16)),
  'hex with colons': inHex(':'),
  'hex with spaces': inHex(' '),
  'hex with hyphens': inHex('-'),
  'hex with commas': inHex(', '),
  'hex with prefixes': each((letter) => `0x${hexOf(letter)}, `),
  'upper-case hex with colons': (secret) => inHex(':')(secret).toUpperCase(),
  'hex of UTF-16': (secret) => Buffer.from(secret, 'utf16le').toString('hex'),
  octal: each((letter) => `\\${octalOf(letter)}`),
  'octal with spaces': each((letter) => `${octalOf(letter)} `),
  'quoted-printable': each((letter) => `=${hexOf(letter).toUpperCase()}`),
  'quoted-printable of a half': each((letter, at) => (at % 2 ? letter : `=${hexOf(letter)}`)),
  'quoted-printable with line breaks': between('=\r\n'),
  'a list of bytes': (secret) => JSON.stringify([...Buffer.from(secret)]),
  'an object of bytes': (secret) => JSON.stringify({ ...Buffer.from(secret) }),
  'bytes with spaces': (secret) => codesOf(secret, 10).join(' '),
  binary: (secret) =>
    codesOf(secret, 2)
      .map((byte) => byte.padStart(8, '0'))
      .join(' '),
  'Unicode escapes of eight digits': each((letter) => `\\U000000${hexOf(letter)}`),
  'Base64 of Base64': (secret) =>
    Buffer.from(Buffer.from(secret).toString('base64')).toString('base64'),
  'hex of Base64': (secret) => Buffer.from(Buffer.from(secret).toString('base64')).toString('hex'),
  'Base64 in lines': (secret) =>
    Buffer.from(secret)
      .toString('base64')
      .replaceAll(/(.{10})/g, '$1\n'),
  'Base64 in JSON lines': (secret) =>
    Buffer.from(secret)
      .toString('base64')
      .replaceAll(/(.{10})/g, '$1\\n'),
  'full stops': between('.'),
  hyphens: between('-'),
  underscores: between('_'),
  'commas and spaces': between(', '),
  'a list of letters': (secret) => JSON.stringify([...secret]),
  'invisible tags': each((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))),
};

/**
 * The maximum number of consecutive characters of a secret that a reader can recover from a text,
 * whichever of {@link encodings} was used.
 */
export function shownOf(secret: string, text: string): number {
  const readings = [text, ...Object.values(readers).map((read) => read(text))];
  const forms = [secret, [...secret].reverse().join('')].map(seen);
  return Math.max(
    ...readings.flatMap((reading) => forms.map((form) => longestPart(form, seen(reading)))),
  );
}

const fromHex = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));
const readers: Readonly<Record<string, (text: string) => string>> = {
  unseen: (text) =>
    text.replaceAll(/&#x?200b;|&#8203;|&ZeroWidthSpace;|&shy;|%E2%80%8B|\\u200d/gi, ''),
  percent: (text) => text.replaceAll(/%(?:25)*([0-9a-f]{2})/gi, fromHex),
  decimal: (text) =>
    text.replaceAll(/&(?:amp;)*#0*(\d{2,3});?/g, (_, code) => String.fromCharCode(Number(code))),
  hexadecimal: (text) => text.replaceAll(/&#x([0-9a-f]{2});?/gi, fromHex),
  escapes: (text) => text.replaceAll(/\\+(?:u00|x)([0-9a-f]{2})/gi, fromHex),
  hex: (text) => text.replaceAll(/([0-9a-f]{2})/g, fromHex),
  separatedHex: (text) =>
    Buffer.from(text.replaceAll(/0x|[^0-9a-f]/gi, ''), 'hex').toString('latin1'),
  separatedHexOfUtf16: (text) =>
    Buffer.from(text.replaceAll(/[^0-9a-f]/gi, ''), 'hex').toString('utf16le'),
  quotedPrintable: (text) => text.replaceAll(/=\s+/g, '').replaceAll(/=([0-9a-f]{2})/gi, fromHex),
  octal: (text) => text.replaceAll(/\\*([0-7]{3}) ?/g, fromOctal),
  bytes: (text) => codesIn(text).join(''),
  everySecondByte: (text) => everyNth(2, codesIn(text)),
  binary: (text) => text.replaceAll(/([01]{8}) ?/g, fromBinary),
  tags: (text) => text.replaceAll(/[\u{E0020}-\u{E007E}]/gu, fromTag),
  everySecondLetter: (text) => everyNth(2, [...text.replaceAll(/\s/g, '')]),
  everyFourthLetter: (text) => everyNth(4, [...text.replaceAll(/\s/g, '')]),
  twiceEncoded: (text) =>
    text
      .split(/[^\w+/=]+/)
      .flatMap((word) => [word, Buffer.from(word, 'hex').toString('latin1')])
      .map((word) => Buffer.from(Buffer.from(word, 'base64').toString(), 'base64').toString())
      .join(' '),
  base64: (text) => Buffer.from(text.replaceAll(/\W/g, ''), 'base64').toString('latin1'),
  laterBase64: (text) =>
    [1, 2, 3]
      .map((at) =>
        text
          .split(/[^\w+/=-]+/)
          .map((word) => Buffer.from(word.slice(at), 'base64').toString('latin1'))
          .join(' '),
      )
      .join('\n'),
  eachWord: (text) =>
    text
      .split(/[^\w+/=-]+/)
      .map((word) => Buffer.from(word, 'base64').toString('latin1'))
      .join(' '),
};

function fromOctal(_: string, octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}

function fromBinary(_: string, bits: string): string {
  return String.fromCharCode(Number.parseInt(bits, 2));
}

function fromTag(tag: string): string {
  return String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000);
}

function codesIn(text: string): string[] {
  return [...text.matchAll(/\d{1,3}/g)].map(([code]) => String.fromCharCode(Number(code)));
}

function everyNth(stride: number, letters: readonly string[]): string {
  return Array.from({ length: stride }, (_, first) =>
    letters.filter((_letter, at) => at % stride === first).join(''),
  ).join(' ');
}

function seen(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[^!-~]/gu, '')
    .toLowerCase();
}

function longestPart(secret: string, text: string): number {
  let longest = 0;
  for (let from = 0; from < secret.length; from += 1) {
    while (from + longest < secret.length && text.includes(secret.slice(from, from + longest + 1)))
      longest += 1;
  }
  return longest;
}
