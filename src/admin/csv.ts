/** CSV (RFC 4180): written so that no cell is a formula in a spreadsheet, and read strictly. */

export type Cell = string | number | bigint | boolean | undefined;

/**
 * A spreadsheet treats a cell that begins like this as a formula, unless it is a number; in Japan
 * also one with the wide form of such a sign.
 */
const formula = /^(?:[=+@\t\r\n＝＋－＠]|-(?!\d+(?:\.\d+)?$))/;

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

/** A row of a CSV file: the line in which it begins, from 1 on, and its cells without quotes. */
export interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** The rows of a CSV file, up to its first mistake. */
export interface ReadCsv {
  readonly rows: readonly CsvRow[];
  readonly problem: { readonly line: number; readonly sentence: string } | undefined;
}

/** A cell in quotes, whose quotes are doubled; or one without quotes, up to the next comma. */
const cellForm = /"([^"]*(?:""[^"]*)*)"|([^",\r\n]*)/y;
const endForm = /,|\r?\n|\r|$/y;

const wrongQuotes =
  'The quotes are wrong. Put a cell that has some between two quotes, and double those in it.';

/**
 * Reads a CSV file: a byte order mark and empty lines are left out, and lines may end with CRLF, LF
 * or CR. Quotes anywhere but around a whole cell are a mistake, because the rest of the file would
 * be read as something else.
 */
export function readCsv(text: string): ReadCsv {
  const rows: CsvRow[] = [];
  let [at, line] = [text.startsWith('\ufeff') ? 1 : 0, 1];
  while (at < text.length) {
    const [start, cells]: [number, string[]] = [line, []];
    let separator = ',';
    while (separator === ',') {
      cellForm.lastIndex = at;
      const [whole = '', quoted, plain = ''] = cellForm.exec(text) ?? [];
      cells.push(quoted?.replaceAll('""', '"') ?? plain);
      endForm.lastIndex = at + whole.length;
      const [found] = endForm.exec(text) ?? [];
      if (found === undefined) {
        return { rows, problem: { line, sentence: wrongQuotes } };
      }
      line += whole.match(/\r\n|\r|\n/g)?.length ?? 0;
      at = endForm.lastIndex;
      separator = found;
    }
    line += 1;
    if (cells.length > 1 || cells[0] !== '') rows.push({ line: start, cells });
  }
  return { rows, problem: undefined };
}
