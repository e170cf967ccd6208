/**
 * Finds a channel's secrets in an upstream's text, however they are written there: in another case,
 * percent-encoded, as HTML entities or escapes, in Base64 or hex, reversed, with white space or
 * invisible characters inside, or only a part of one.
 */

/** What stands in place of everything that is taken out. */
export const redacted = '[redacted]';

/** A part of a secret is found from this length on, at its end from a shorter one. */
const minPartChars = 12;
const minTailChars = 8;
/** A shorter value is found only as it is spelled: without spaces, texts hold it by accident. */
const minLooseChars = 6;
/** Only a text that is long enough, and no plain word, has parts that tell something. */
const minPartialSecretChars = 16;
/** A secret is compared up to this length. */
const maxComparedChars = 2_048;

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
/** In UTF-8, what is not ASCII has two to four bytes. */
const percentEncodedUtf8 = /(?:%[89a-f][0-9a-f]){2,4}/gi;
const escaped = /\\{1,4}(?:u00|u\{0{0,4}|x)([2-7][0-9a-f])\}?/gi;
const escapedUnicode = /\\{1,4}u(?:\{([0-9a-f]{2,6})\}|([0-9a-f]{4}))/gi;
const entity = /&(?:#(\d{2,7})|#x([0-9a-f]{2,6})|([a-z]{2,24}));?/gi;
/** Names of characters that are not seen. */
const invisibleEntity =
  /^(?:shy|zwn?j|lrm|rlm|ic|it|af|nobreak|\w+space|invisible\w+|applyfunction|\w{2,4}sp)$/i;

/** Encodings may be nested: an error that passed through three systems was encoded by each. */
const nestedEncodings = 3;

/** White space, control characters, accents, and what is not seen at all. */
const invisible = /[\s\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;
const printable = /^[!-~]*$/;
const notAscii = /[^!-~]/;

/**
 * The text with everything decoded that stands for a printable ASCII character, and without the
 * secrets. Takes time in proportion to the text's length.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const given = secrets.filter((secret) => secret !== '');
  const plain = given.reduce((kept, secret) => kept.replaceAll(secret, redacted), decoded(text));
  const visible = visibleIn(plain);
  const spans = given.flatMap((secret) => spansOf(secret, visible));
  return withoutSpans(plain, visible, spans);
}

/**
 * The text that percent-encoding, entities and escapes stand for, as far as it is ASCII, and
 * without those that stand for what is not seen: a secret could be broken up by them.
 */
function decoded(text: string): string {
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

/** The bytes of UTF-8 that stand here, or nothing where none of their characters is seen. */
function withoutInvisible(encoded: string): string {
  const text = Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8');
  return [...text].every((character) => invisible.test(character)) ? '' : encoded;
}

/** The characters of a text that are seen, in lower case, and where each of them stands. */
interface VisibleText {
  readonly letters: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

function visibleIn(text: string): VisibleText {
  let letters = '';
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const character of text) {
    const end = at + character.length;
    for (const letter of visibleLetters(character)) {
      letters += letter;
      starts.push(at);
      ends.push(end);
    }
    at = end;
  }
  return { letters, starts, ends };
}

/** Full-width and mathematical letters are read as those that they stand for. */
function visibleLetters(character: string): string {
  if (character > ' ' && character < '\x7F') return character.toLowerCase();
  if (invisible.test(character)) return '';
  const plain = character.normalize('NFKC').toLowerCase();
  return notAscii.test(plain) ? '\uFFFD' : plain;
}

/** The same of a secret, whose places nobody asks for. */
function lettersOf(secret: string): string {
  return printable.test(secret) ? secret.toLowerCase() : visibleIn(secret).letters;
}

/** From the first letter to behind the last, as places among the letters that are seen. */
interface Span {
  readonly from: number;
  readonly to: number;
}

function spansOf(secret: string, { letters }: VisibleText): readonly Span[] {
  const compared = lettersOf(secret.slice(0, maxComparedChars));
  if (compared.length < minLooseChars) return [];
  const whole = wholeSpans(compared, letters);
  if (!hasRecognisableParts(secret)) return whole;
  return [...whole, ...formsOf(secret).flatMap((form) => partSpans(form, letters))];
}

/** A random text; of an address or of a word that the host wrote, parts stand in any message. */
function hasRecognisableParts(secret: string): boolean {
  if (secret.length < minPartialSecretChars || secret.includes('://') || /\s/.test(secret))
    return false;
  return /\d/.test(secret) && /[a-z]/i.test(secret);
}

/** A secret, and what it looks like in the encodings that hide every letter of it. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret.slice(0, maxComparedChars));
  // Base64 looks different for each of the three places at which a text may begin in a group.
  const base64 = [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(before === 0 ? 0 : 4)
      .replace(/.?=+$/, ''),
  );
  const url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const reversed = [...secret.slice(0, maxComparedChars)].reverse().join('');
  const forms = [secret, reversed, bytes.toString('hex'), ...base64, ...url];
  return [...new Set(forms.map(lettersOf))];
}

function wholeSpans(secret: string, letters: string): readonly Span[] {
  const spans: Span[] = [];
  let from = letters.indexOf(secret);
  while (from !== -1) {
    spans.push({ from, to: from + secret.length });
    from = letters.indexOf(secret, from + secret.length);
  }
  return spans;
}

/**
 * Every part of the secret that is long enough. It is looked for by eight letters at every fourth
 * place of the secret: a part of twelve holds one of these, and the end is one.
 */
function partSpans(secret: string, letters: string): readonly Span[] {
  const last = secret.length - minTailChars;
  const seeds = Array.from({ length: Math.ceil(last / 4) + 1 }, (_, at) => Math.min(4 * at, last));
  return seeds.flatMap((at) => spansAround(at, secret, letters));
}

/** The parts that hold the eight letters of the secret that stand at this place. */
function spansAround(at: number, secret: string, letters: string): readonly Span[] {
  const spans: Span[] = [];
  const seed = secret.slice(at, at + minTailChars);
  // Behind the last part that was found: no letter is compared twice with the same seed.
  let minStart = 0;
  let hit = letters.indexOf(seed);
  while (hit !== -1) {
    let from = hit;
    while (
      from > minStart &&
      hit - from < at &&
      letters[from - 1] === secret[at - (hit - from) - 1]
    ) {
      from -= 1;
    }
    let length = minTailChars;
    while (at + length < secret.length && letters[hit + length] === secret[at + length]) {
      length += 1;
    }
    const to = hit + length;
    const isTail = at + length === secret.length;
    const isLongEnough = to - from >= (isTail ? minTailChars : minPartChars);
    if (isLongEnough) spans.push({ from, to });
    minStart = isLongEnough ? to : minStart;
    hit = letters.indexOf(seed, isLongEnough ? to : hit + 1);
  }
  return spans;
}

function withoutSpans(text: string, { starts, ends }: VisibleText, spans: readonly Span[]): string {
  let kept = '';
  let at = 0;
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const start = starts[from] ?? text.length;
    const end = ends[to - 1] ?? text.length;
    if (start >= at) kept += `${text.slice(at, start)}${redacted}`;
    at = Math.max(at, end);
  }
  return kept + text.slice(at);
}
