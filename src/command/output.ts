/** Prints results: a table for people, one JSON document for programs. */
import type { Given, Surroundings } from './command.ts';

/** Prints a JSON document; amounts in it become texts of nanos. */
export function printJson({ out }: Surroundings, value: unknown): void {
  const text = JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? `${item}` : item), 2);
  out(`${text}\n`);
}

/** A table with a heading; a column whose heading begins with a space is aligned to the right. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((title, column) =>
    Math.max(title.trim().length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return heading[column]?.startsWith(' ') ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return `${[heading.map((title) => title.trim()), ...rows].map(line).join('\n')}\n`;
}

/** A CSV file. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function csv(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => cells.map(csvCell).join(',');
  return `${[heading, ...rows].map(line).join('\r\n')}\r\n`;
}

function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Shows a line about long work on a terminal; the returned function clears it. */
export function progress(
  { around, json }: Pick<Given, 'around' | 'json'>,
  text: string,
): () => void {
  if (!around.isTerminal || json) return () => {};
  around.err(`\r${text} …`);
  return () => around.err(`\r${' '.repeat(text.length + 2)}\r`);
}
