/** CSV (RFC 4180) that a spreadsheet opens without running anything in it. */

/** A value of a cell. */
export type Cell = string | number | bigint | boolean | undefined;

/** A spreadsheet would take a cell that begins like this as a formula. */
const formula = /^[=+\-@\t\r]/;

/**
 * One line with its line break. Text that begins with `=`, `+`, `-`, `@`, a tab or a carriage
 * return gets a `'` in front; numbers stay numbers.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: Cell): string {
  if (cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const harmless = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
