/** Writes the matrix as a Markdown table, and finds it where it is published. */
import { readFileSync } from 'node:fs';

/** A row: what it is about, and its cells. */
export interface Row {
  readonly title: string;
  readonly cells: readonly string[];
}

/** A table with a first column of titles. */
function table(corner: string, titles: readonly string[], rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line([corner, ...titles]),
    line(['---', ...titles.map(() => '---')]),
    ...rows.map(({ title, cells }) => line([title, ...cells])),
  ].join('\n');
}

/** As {@link table}, with one row for all that meets the same fate; first what arrives. */
export function shortTable(
  corner: string,
  titles: readonly string[],
  rows: readonly Row[],
): string {
  const groups = new Map<string, Row>();
  const sorted = [...rows.filter(isCarried), ...rows.filter((row) => !isCarried(row))];
  for (const row of sorted) {
    const cells = isCarried(row) ? row.cells.map(() => 'carried') : row.cells;
    const name = cells.join();
    const { title } = groups.get(name) ?? {};
    groups.set(name, { title: title === undefined ? row.title : `${title}; ${row.title}`, cells });
  }
  return table(corner, titles, [...groups.values()]);
}

/** Nothing is lost, and nothing changes. */
function isCarried({ cells }: Row): boolean {
  return cells.every((cell) => ['carried', 'relayed', '—'].includes(cell));
}

/** What stands between the marks of that name in a document of the repository. */
export function published(path: string, name = 'matrix'): string {
  const marks = { begin: `<!-- ${name} -->`, end: `<!-- /${name} -->` } as const;
  const text = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const begin = text.indexOf(marks.begin);
  const end = text.indexOf(marks.end);
  return begin === -1 || end === -1 ? '' : text.slice(begin + marks.begin.length, end).trim();
}
