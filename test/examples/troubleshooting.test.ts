// suite: quick
/** Every text that docs/troubleshooting.md quotes is one that the code can say. */
import { expect, it } from 'vitest';
import { readText, repoFiles } from '../house/sources.ts';

/** The code with each text in one piece, however it is broken into lines. */
const code = repoFiles()
  .filter((path) => /^(?:src|adapters)\/.*\.ts$/.test(path))
  .map(readText)
  .join('\n')
  .replaceAll(/['`]\s*\+\s*['`]/g, '')
  .replaceAll('\\`', '`')
  .replaceAll("\\'", "'");

const quotes = quotesIn(readText('docs/troubleshooting.md'));

it('the page quotes texts', () => {
  expect(quotes.length).toBeGreaterThan(45);
});

it.each(quotes)('the code has “%s”', (quote) => {
  expect(piecesOf(quote).filter((piece) => !code.includes(piece))).toEqual([]);
});

it('a text that the code lacks would be found', () => {
  const [quote = ''] = quotesIn('| “The API key … is unheard\nof” | |');

  expect(piecesOf(quote).filter((piece) => !code.includes(piece))).toEqual(['is unheard of']);
});

function quotesIn(page: string): readonly string[] {
  return [...page.matchAll(/“([^”]+)”/g)].map(([, text = '']) => text.replaceAll('\n', ' '));
}

/** What is between the parts that vary. */
function piecesOf(quote: string): readonly string[] {
  return quote
    .split('…')
    .map((piece) => piece.replace(/^[\s`:?.,]+|[\s`:?.,]+$/g, ''))
    .filter((piece) => piece.length > 3);
}
