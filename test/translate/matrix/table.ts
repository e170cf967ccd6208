/** Writes the matrix as a Markdown table, and finds it where it is published. */
import { readFileSync } from 'node:fs';

/** A row: what it is about, and its cells. */
export interface Row {
  readonly title: string;
  readonly cells: readonly string[];
}

/** A table with a first column of titles. */
export function table(corner: string, titles: readonly string[], rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line([corner, ...titles]),
    line(['---', ...titles.map(() => '---')]),
    ...rows.map(({ title, cells }) => line([title, ...cells])),
  ].join('\n');
}

/** A row of which nothing is lost and nothing changes. */
const isCarried = ({ cells }: Row): boolean =>
  cells.every((cell) => ['carried', 'relayed', '—'].includes(cell));

/** As {@link table}, with one row for all that arrives with its meaning everywhere. */
export function shortTable(
  corner: string,
  titles: readonly string[],
  rows: readonly Row[],
): string {
  const carried = rows.filter(isCarried).map(({ title }) => title);
  const all = { title: carried.join('; '), cells: titles.map(() => 'carried') };
  return table(corner, titles, [all, ...rows.filter((row) => !isCarried(row))]);
}

/** What stands between the marks of that name in a document of the repository. */
export function published(path: string, name = 'matrix'): string {
  const marks = { begin: `<!-- ${name} -->`, end: `<!-- /${name} -->` } as const;
  const text = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const begin = text.indexOf(marks.begin);
  const end = text.indexOf(marks.end);
  return begin === -1 || end === -1 ? '' : text.slice(begin + marks.begin.length, end).trim();
}
