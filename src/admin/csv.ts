/** CSV (RFC 4180) that is safe to open in a spreadsheet: no cell is a formula. */

/** A value of a cell. */
export type Cell = string | number | bigint | boolean | undefined;

/** A spreadsheet treats a cell that begins like this as a formula. */
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
