/** What the program says of an error: the messages of this package, in the words of the command. */
import { errorName, isConfigurationError, isError } from '../errors.ts';
import { isStoreCorrupt, isStoreUnavailable } from '../ports/call-options.ts';

/** Only messages of this package are shown: a driver's may quote what was sent. */
export function reasonOf(error: unknown): string {
  const isOurs =
    isConfigurationError(error) ||
    isStoreUnavailable(error) ||
    isStoreCorrupt(error) ||
    errorName(error) === 'CommandError';
  return isOurs && isError(error) ? withCommand(error.message) : errorName(error);
}

/** The stores name a function to call; users of the command run a command instead. */
export function withCommand(text: string): string {
  return text.replaceAll(/([Rr]un) migrate(?:Postgres|Sqlite)\(\w+\)/g, '$1 npx tollgate migrate');
}
