/** Source, docs and tests use the field's standard terms, and cite only what is in this repo. */
import { describe, expect, it } from 'vitest';
import { readText, repoFiles } from './sources.ts';

/** What a line must not hold, what to write instead, and a line in which it must be found. */
interface Word {
  readonly pattern: RegExp;
  readonly instead: string;
  readonly sample: string;
}

const words: readonly Word[] = [
  { pattern: /\b[Ff]ilms?\b/, instead: 'video', sample: 'A film counts as one part.' },
  { pattern: /\baloud\b/i, instead: 'explicitly', sample: 'It is free, said aloud.' },
  { pattern: /deare(?:r|st)\b/, instead: 'more expensive, most expensive', sample: 'dearest rate' },
  { pattern: /Deare(?:r|st)|deare(?:r|st)[A-Z]/, instead: 'maximum', sample: 'dearestOf(rates)' },
  { pattern: /\butmost/i, instead: 'maximum', sample: 'No model needs the utmost.' },
  {
    pattern: /patien(?:ce|t)/i,
    instead: 'deadline, timeout, call options',
    sample: 'await store.find(secret, aPatience);',
  },
  { pattern: /\b[Mm]end(?:s|ed|ing)?(?![a-z])/, instead: 'fix', sample: 'const mend = mendBody;' },
  {
    pattern: /\b(?:images?|pictures?|documents?|media) by address\b/i,
    instead: 'image URL',
    sample: 'An image by address is fetched.',
  },
  {
    pattern: /\b(?:lies?|lay|lying) at\b/i,
    instead: 'is at, provider file',
    sample: 'A file that lies at OpenAI is refused.',
  },
  {
    pattern: /(?:\b[Rr]|R)esting(?![a-z])/,
    instead: 'cooling down',
    sample: 'if (isResting(channel)) return;',
  },
  {
    pattern: /(?:\b[Ee]|E)ject(?:s|ed|ing|ions?)?(?![a-z])/,
    instead: 'open (of a circuit breaker)',
    sample: "if (state === 'ejected') return;",
  },
  {
    pattern: /\b(?:fairly|telling|noted|sayable|withPast|inStream|quietly)\b(?=\(|<\w|: \()/,
    instead: 'a verb that says what the function does',
    sample: 'const kept = await quietly(() => store.end());',
  },
  {
    pattern: /\b(?:interface|type|class) \w*(?:Ground|Course|Visit)\b/,
    instead: '…Deps, …Input, …State, AdaptedRequest',
    sample: 'interface ReserveGround {}',
  },
  {
    pattern:
      /\b(?:const|let|function|type|local) (?:[Ss]aid|told|[Aa]sked|[Hh]eard|grown|goesOn)\b/,
    instead: 'received, request, output, reported, extended, continues',
    sample: 'const said = textOf(reply);',
  },
  {
    pattern: /\b[Ss]cenes?(?![a-z])|Scene\b/,
    instead: 'harness, setup, context',
    sample: "import { openScene } from './idempotency-scene.ts';",
  },
  {
    // Sections of public documents may be cited: RFC 9110 §5.3, HTML §9.2.6.
    pattern: /(?<!(?:RFC \d+|HTML|PNG)[\s*]*)§/,
    instead: 'the fact itself, or a page of docs/',
    sample: '// A stream ends with an error (WIRE §4.3).',
  },
  { pattern: /\btime-outs?\b/i, instead: 'timeout', sample: 'Time-outs count twice.' },
  {
    pattern: /\b(?:FAULTS F|SECURITY T|QUOTA I)\d/,
    instead: 'the fact itself, or a page of docs/',
    sample: '// The body is cut: FAULTS F45.',
  },
  {
    pattern: /\bARCHITECTURE(?:\.md)? [A-Z]|\bDECISIONS\b/,
    instead: 'the fact itself, or docs/internals/architecture.md',
    sample: '// As ARCHITECTURE B says.',
  },
  {
    pattern: /\b(?<![/#-])[Ii]ssue \d/,
    instead: 'the fact itself, or the link of a public issue',
    sample: '// Kept since issue 4.',
  },
];

const covered = /^(?:src|adapters|docs|examples|bench|test)\/|^(?:README|CHANGELOG)\.md$/;
const pages = repoFiles().filter(
  (path) =>
    covered.test(path) &&
    /\.(?:[cm]?[jt]s|md|sh)$/.test(path) &&
    path !== 'test/house/words.check.ts',
);

describe('source, docs and tests', () => {
  it('are read at all', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'src/gateway.ts', 'bench/run.mjs']));
  });

  it.each(words)('say $instead, unlike “$sample”', ({ pattern }) => {
    expect(pages.flatMap((path) => linesWith(pattern, path, readText(path)))).toEqual([]);
  });
});

describe('a word that has a plainer one', () => {
  it.each(words)('is found in “$sample”', ({ pattern, sample }) => {
    expect(linesWith(pattern, 'a.md', `First.\n${sample}`)).toContain(`a.md:2: ${sample}`);
  });

  it('is not found in words that only resemble it', () => {
    const text =
      'We recommend an interesting, rejected, filmy amendment; noted.\n' +
      'See undici#4, issue #4, RFC 9110\n * §5.3, HTML §9.2.6.';

    expect(words.flatMap(({ pattern }) => linesWith(pattern, 'a.md', text))).toEqual([]);
  });
});

/** The lines that hold the word, as `docs/page.md:12: the line`. */
function linesWith({ source, flags }: RegExp, path: string, text: string): readonly string[] {
  return [...text.matchAll(new RegExp(source, `${flags}g`))].map(({ index }) => {
    const line = text.slice(0, index).split('\n').length;
    return `${path}:${line}: ${text.split('\n')[line - 1]?.trim().slice(0, 100)}`;
  });
}
