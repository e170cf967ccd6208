/**
 * Maps a client's errors to the two errors of a store. Clients report the cause only in the error's
 * message, which begins with Redis' code, or before Redis 7 with the script's name.
 */
import { isError } from '../../errors.ts';
import { StoreCorrupt, StoreUnavailable } from '../../ports/call-options.ts';

/**
 * ioredis resends a call upon redirections, perhaps after one try that was done and whose reply was
 * lost; this error carries only the last reason.
 */
const tooManyRedirections = /^Too many Cluster redirections/;

/** The prefix of Redis' code in a script's error, before Redis 7. */
const scriptName = String.raw`Error running script \(call to \w+\): (?:@\w+: ?\d+: )*`;

/**
 * Refused before the script's first write: wrong node or state, missing permission, or out of
 * memory. Redis never refuses a script that has written.
 */
const refusals = [
  ...['READONLY', 'LOADING', 'OOM', 'MISCONF', 'MASTERDOWN', 'CLUSTERDOWN', 'MOVED', 'ASK'],
  ...['TRYAGAIN', 'BUSY', 'NOREPLICAS', 'NOSCRIPT', 'NOAUTH', 'WRONGPASS', 'NOPERM'],
  ...['max number of clients reached', 'Script killed by user'],
].join('|');
const refused = new RegExp(`^-?(?:ERR )?(?:${scriptName})?-?(${refusals})(?:\\s|$)`);

/** Never sent: there was no connection, or the command was aborted while it waited for one. */
const unsentReasons = [
  ...['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'Connection timeout'],
  ...['client is closed', 'client is offline', 'command was aborted', 'Waited to write command'],
  ...['queue is full', 'enableOfflineQueue', 'root nodes are unavailable'],
].join('|');
const neverSent = new RegExp(`(?:^|[\\s-])(?:${unsentReasons})(?:\\s|$)`);

/** The server does not speak the Redis protocol. */
const protocolError = /protocol error|unknown RESP type|parser error/i;

/** An error reply begins with an upper-case code, such as `ERR` or `WRONGTYPE`. */
const errorReply = /^-?[A-Z]{3,}\s/;

/** Whether the server does not know a script by its digest, in which case nothing has run. */
export function isUnknownScript(error: unknown): boolean {
  return /^-?NOSCRIPT(?:\s|$)/.test(messageOf(error));
}

/** A store error for a client's error, which becomes only the cause: its text may name hosts. */
export function failureOf(error: unknown): StoreUnavailable | StoreCorrupt {
  const message = messageOf(error);
  if (tooManyRedirections.test(message)) {
    return new StoreUnavailable('Redis redirected the call too many times', { cause: error });
  }
  const code = refused.exec(message)?.[1];
  if (code !== undefined) {
    return new StoreUnavailable(`Redis refused the call: ${code}`, {
      outcome: 'not_done',
      code,
      cause: error,
    });
  }
  if (neverSent.test(message) || isUnsentTimeout(error)) {
    return new StoreUnavailable("Redis can't be reached", { outcome: 'not_done', cause: error });
  }
  if (protocolError.test(message) || errorReply.test(message)) {
    return new StoreCorrupt('Redis failed to run a script, or its reply is not valid', {
      cause: error,
    });
  }
  return new StoreUnavailable('Redis did not answer', { cause: error });
}

/** node-redis rejects queued commands with a TimeoutError whose message is empty. */
function isUnsentTimeout(error: unknown): boolean {
  return isError(error) && error.constructor.name === 'TimeoutError' && !error.message;
}

/** An AggregateError, with one error for each address tried, has no message; so add the code. */
function messageOf(error: unknown): string {
  if (!isError(error)) return String(error);
  const code = 'code' in error ? ` ${String(error.code)}` : '';
  return `${error.message}${code}`;
}
