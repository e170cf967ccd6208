/**
 * The prose of the documents fits into 120 columns, so that it can be read beside code and that a
 * changed word is a small diff. Tables, code blocks and the targets of links may be longer.
 */
import { expect, it } from 'vitest';
import { readText, repoFiles } from './sources.ts';

/** The results of the benchmark are generated, and the fixtures' lists are recorded with them. */
const documents = repoFiles().filter(
  (path) => path.endsWith('.md') && !/^(?:bench\/results|test\/fixtures\/)/.test(path),
);

it('every line of prose in a document has at most 120 columns', () => {
  const tooLong = documents.flatMap((path) =>
    longProse(readText(path)).map((line) => `${path}:${line}`),
  );

  expect(documents).toContain('docs/metrics.md');
  expect(tooLong).toEqual([]);
});

it('a long line is found in prose and in lists, not in tables, code and links', () => {
  const long = 'word '.repeat(25);
  const text = [
    long,
    `- ${long}`,
    `| ${long} |`,
    '```sh',
    long,
    '```',
    `[a link](https://example.com/${'x'.repeat(120)})`,
    `\`${long}\``,
    `${long} \`code\``,
  ].join('\n');

  expect(longProse(text)).toEqual([1, 2, 9]);
});

/** The numbers of the lines of prose that are too long. A line of one code span can't be broken. */
function longProse(text: string): readonly number[] {
  let isCode = false;
  return text.split('\n').flatMap((line, index) => {
    const isFence = /^\s*(?:```|~~~)/.test(line);
    if (isFence) isCode = !isCode;
    if (isCode || isFence || /^\s*\|/.test(line)) return [];
    const isBreakable = /\s/.test(line.trim().replaceAll(/`[^`]*`/g, ''));
    return isBreakable && line.replaceAll(/\]\([^)]*\)/g, ']').length > 120 ? [index + 1] : [];
  });
}
