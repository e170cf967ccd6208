/** CSV (RFC 4180) that is safe to open in a spreadsheet: no cell is a formula. */

export type Cell = string | number | bigint | boolean | undefined;

/** A spreadsheet treats a cell that begins like this as a formula, unless it is a number. */
const formula = /^(?:[=+@\t\r]|-(?!\d+(?:\.\d+)?$))/;

/** Text that a spreadsheet would take for a formula gets a `'` in front; numbers don't. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: Cell): string {
  if (cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const harmless = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
