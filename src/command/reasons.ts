/** What commands and the log of `serve` say about a failure of a store. */
import { errorClass, errorName, isConfigurationError, isError } from '../errors.ts';
import { isStoreCorrupt, isStoreUnavailable } from '../ports/call-options.ts';

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
