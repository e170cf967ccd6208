/**
 * Removes a channel's secrets from an upstream's text in any form: in another case,
 * percent-encoded, as HTML entities or escape sequences, in Base64 or hex, reversed, with white
 * space or invisible characters inside, or only in part.
 */

/** Replaces everything that is removed. */
export const redacted = '[redacted]';

/**
 * A part of a secret is removed from this length on; a part at its end, from the shorter length.
 */
const minPartChars = 12;
const minTailChars = 8;
/**
 * Shorter secrets are removed only if they appear literally: with white space ignored, a text
 * contains them by accident.
 */
const minLooseChars = 6;
/** Secrets of at least this length are also removed if only a part of them appears. */
const minPartialSecretChars = 16;
/** Longer secrets are compared up to this length. */
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
/** A character beyond ASCII has two to four bytes in UTF-8. */
const percentEncodedUtf8 = /(?:%[89a-f][0-9a-f]){2,4}/gi;
const escaped = /\\{1,4}(?:u00|u\{0{0,4}|x)([2-7][0-9a-f])\}?/gi;
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
const invisible = /[\s\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;
const printable = /^[!-~]*$/;
const notAscii = /[^!-~]/;

/**
 * Returns the text with the secrets removed and with encoded printable ASCII characters decoded.
 * The running time is proportional to the length of the text.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const nonEmptySecrets = secrets.filter((secret) => secret !== '');
  const plain = nonEmptySecrets.reduce(
    (kept, secret) => kept.replaceAll(secret, redacted),
    decoded(text),
  );
  const visible = visibleIn(plain);
  const spans = nonEmptySecrets.flatMap((secret) => spansOf(secret, visible));
  return withoutSpans(plain, visible, spans);
}

/**
 * Decodes percent-encoding, entities and escapes of ASCII characters, and drops those of invisible
 * characters, which could break up a secret.
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

/** Keeps the encoded bytes unless all of their characters are invisible. */
function withoutInvisible(encoded: string): string {
  const text = Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8');
  return [...text].every((character) => invisible.test(character)) ? '' : encoded;
}

/** The visible characters of a text in lower case, and the position of each in the text. */
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

/** Full-width and mathematical letters are compared as the plain letters they look like. */
function visibleLetters(character: string): string {
  if (character > ' ' && character < '\x7F') return character.toLowerCase();
  if (invisible.test(character)) return '';
  const plain = character.normalize('NFKC').toLowerCase();
  return notAscii.test(plain) ? '\uFFFD' : plain;
}

/** Returns the visible letters of a secret; their positions are not needed. */
function lettersOf(secret: string): string {
  return printable.test(secret) ? secret.toLowerCase() : visibleIn(secret).letters;
}

/** A range of visible letters; `to` is exclusive. */
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

/**
 * Only random-looking secrets are searched for in parts: parts of a URL or of a word that the host
 * chose occur in any message.
 */
function hasRecognisableParts(secret: string): boolean {
  if (secret.length < minPartialSecretChars || secret.includes('://') || /\s/.test(secret))
    return false;
  return /\d/.test(secret) && /[a-z]/i.test(secret);
}

/** The secret itself and its forms in encodings that change every letter. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret.slice(0, maxComparedChars));
  // The Base64 of a text depends on its offset within a group of three bytes.
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
 * Finds every part of the secret that is long enough. It searches for eight letters at every fourth
 * position of the secret: every part of twelve letters contains such a group, and so does the end
 * of the secret.
 */
function partSpans(secret: string, letters: string): readonly Span[] {
  const last = secret.length - minTailChars;
  const seeds = Array.from({ length: Math.ceil(last / 4) + 1 }, (_, at) => Math.min(4 * at, last));
  return seeds.flatMap((at) => spansAround(at, secret, letters));
}

/** Finds the parts that contain the eight letters at this position of the secret. */
function spansAround(at: number, secret: string, letters: string): readonly Span[] {
  const spans: Span[] = [];
  const seed = secret.slice(at, at + minTailChars);
  // The end of the last part that was found, so that no letter is compared twice with the same
  // seed.
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
