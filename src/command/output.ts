/**
 * What commands print: results as a table for people or one JSON document for programs, and the
 * reasons of failures.
 */

import { errorClass, errorName, isConfigurationError, isError } from '../errors.ts';
import { isStoreCorrupt, isStoreUnavailable } from '../ports/call-options.ts';
import { formatMoney } from '../prices/amount.ts';
import type { Given, Surroundings } from './command.ts';

export function printJson({ out }: Surroundings, value: unknown): void {
  out(`${jsonText(value)}\n`);
}

/** A JSON document in which amounts are strings of nanos. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? `${item}` : item), 2);
}

/**
 * A table with a heading; a column whose heading begins with a space is aligned to the right.
 * Control characters become `?`: a terminal would act on them, and callers may choose some of the
 * names. `none` is the sentence that explains a table without rows.
 */
export function table(
  heading: readonly string[],
  cells: readonly (readonly string[])[],
  none: string,
): string {
  if (cells.length === 0) return `${none}\n`;
  const rows = cells.map((row) => row.map((cell) => cell.replace(/\p{Cc}/gu, '?')));
  const widths = heading.map((title, column) =>
    Math.max(title.trim().length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return heading[column]?.startsWith(' ') ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return `${[heading.map((title) => title.trim()), ...rows].map(line).join('\n')}\n`;
}

/**
 * The cells of a column of numbers, with thousands separated; amounts of nanos are shown in the
 * currency unit, with the same number of decimals. What is not known is `-`.
 */
export function numberColumn(values: readonly (number | bigint | undefined)[]): readonly string[] {
  const parts = values.map((value) => {
    const text = typeof value === 'bigint' ? formatMoney(value) : String(value ?? '-');
    return text.split('.');
  });
  const decimals = Math.max(0, ...parts.map(([, fraction = '']) => fraction.length));
  return parts.map(([whole = '', fraction = '']) => {
    const [sign, digits] = whole.startsWith('-') ? ['-', whole.slice(1)] : ['', whole];
    const separated = sign + (digits && BigInt(digits).toLocaleString('en-US'));
    const isWhole = decimals === 0 || whole === '-';
    return isWhole ? separated : `${separated}.${fraction.padEnd(decimals, '0')}`;
  });
}

export type CountProgress = (count: number) => void;

export async function progress<T>(
  { around, json }: Pick<Given, 'around' | 'json'>,
  text: string,
  work: (count: CountProgress) => Promise<T>,
): Promise<T> {
  if (!around.isTerminal || json) return work(() => {});
  let width = 0;
  const show = (line: string): void => {
    around.err(`\r${line.padEnd(width)}`);
    width = line.length;
  };
  show(`${text} …`);
  try {
    return await work((count) => show(`${text}: ${count} …`));
  } finally {
    show('');
    around.err('\r');
  }
}

export interface Finding {
  /**
   * `ok`, `warning`: it works, but something should be changed; `failed`: calls would fail;
   * `skipped`: it could not be tried, because another check failed.
   */
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was checked: `stores.redis`, `channel openai-1`. */
  readonly subject: string;
  readonly detail: string;
}

/** Only messages of this package are shown: a driver's may quote what was sent. */
export function reasonOf(error: unknown): string {
  const isOurs =
    isConfigurationError(error) ||
    isStoreUnavailable(error) ||
    isStoreCorrupt(error) ||
    errorName(error) === 'CommandError';
  if (!isOurs || !isError(error)) return errorClass(error);
  return lacksTable(error.cause) ? missingTables : withCommand(error.message);
}

const missingTables = 'The tables are missing: run npx tollgate migrate.';

/** What a store's message means for those who can't see its code. */
const explanations: readonly (readonly [RegExp, string])[] = [
  [/^SQLite failed with SQLITE_READONLY$/, "$&: the file can't be written."],
  [/^SQLite failed with SQLITE_FULL$/, '$&: the disk is full.'],
  [/([Rr])un migrate(?:Postgres|Sqlite)\(\w+\)/, '$1un npx tollgate migrate'],
];

/** The stores name a function to call; users of the command run a command instead. */
export function withCommand(message: string): string {
  return explanations.reduce((text, [pattern, meaning]) => text.replace(pattern, meaning), message);
}

/** SQLite has no code of its own for it. */
function lacksTable(cause: unknown): boolean {
  return isError(cause) && cause.message.includes('no such table: ');
}
