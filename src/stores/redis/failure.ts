/**
 * What went wrong, in the two words a store has for it. Clients say it in the text of an error
 * only: Redis' own code comes first in it, or behind the script's name before Redis 7.
 */
import { StoreCorrupt, StoreUnavailable } from '../../ports/call-options.ts';

/**
 * A call that ioredis sent again and again, perhaps after one that was done and not heard; what it
 * ends with is the last error only.
 */
const manyTimes = /^Too many Cluster redirections/;

/** What stands before Redis' code in an error of a script, before Redis 7. */
const scriptName = String.raw`Error running script \(call to \w+\): (?:@\w+: ?\d+: )*`;

/**
 * Refused before the script's first write: in the wrong place or state, without the right, or
 * without room. A script that has written is never refused any more.
 */
const refused = atStart(
  ...['READONLY', 'LOADING', 'OOM', 'MISCONF', 'MASTERDOWN', 'CLUSTERDOWN', 'MOVED', 'ASK'],
  ...['TRYAGAIN', 'BUSY', 'NOREPLICAS', 'NOSCRIPT', 'NOAUTH', 'WRONGPASS', 'NOPERM'],
  ...['max number of clients reached', 'Script killed by user'],
);

/** Never sent: no connection to send it on, or given up while it waited for one. */
const neverSent = anyOf(
  ...['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'Connection timeout'],
  ...['client is closed', 'client is offline', 'command was aborted', 'Waited to write command'],
  ...['queue is full', 'enableOfflineQueue', 'root nodes are unavailable'],
);

/** The server speaks, but not as Redis does. */
const gibberish = /protocol error|unknown RESP type|parser error/i;

/** An error reply begins with a code in capitals: `ERR`, `WRONGTYPE`. */
const errorReply = /^-?[A-Z]{3,}\s/;

/** Whether the server does not know a script by its digest; nothing has run then. */
export function isUnknownScript(error: unknown): boolean {
  return /^-?NOSCRIPT(?:\s|$)/.test(messageOf(error));
}

/** The error to throw for one of the client's. Its text may name hosts, so it is only the cause. */
export function failureOf(error: unknown): StoreUnavailable | StoreCorrupt {
  const message = messageOf(error);
  if (manyTimes.test(message)) {
    return new StoreUnavailable('Redis could not be asked in the end', { cause: error });
  }
  const code = refused.exec(message)?.[1];
  if (code !== undefined) {
    return new StoreUnavailable(`Redis refused the call: ${code}`, {
      outcome: 'not_done',
      cause: error,
    });
  }
  if (neverSent.test(message) || isUnsentTimeout(error)) {
    return new StoreUnavailable('Redis can not be reached', { outcome: 'not_done', cause: error });
  }
  if (gibberish.test(message) || errorReply.test(message)) {
    return new StoreCorrupt('Redis failed at a script, or answered what is none of its words', {
      cause: error,
    });
  }
  return new StoreUnavailable('Redis did not answer', { cause: error });
}

/** node-redis gives up what waits for a connection with an error that has a class and no words. */
function isUnsentTimeout(error: unknown): boolean {
  return error instanceof Error && error.constructor.name === 'TimeoutError' && !error.message;
}

function atStart(...words: readonly string[]): RegExp {
  return new RegExp(`^-?(?:ERR )?(?:${scriptName})?-?(${words.join('|')})(?:\\s|$)`);
}

function anyOf(...words: readonly string[]): RegExp {
  return new RegExp(`(?:^|[\\s-])(?:${words.join('|')})(?:\\s|$)`);
}

/** An error that gathers several, one for each address that was tried, has no text of its own. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? ` ${String(error.code)}` : '';
  return `${error.message}${code}`;
}
