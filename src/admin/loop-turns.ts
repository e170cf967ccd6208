/**
 * Turns of the event loop for long reads. SQLite and memory answer while the process waits, so a
 * read has to be small, and calls get their turn before the next one.
 */
import { setImmediate } from 'node:timers/promises';
import type { MaybePromise } from '../ports/call-options.ts';

/** Runs a read in a turn of the event loop that no other read of this function has. */
export type InOwnTurn = <T>(read: () => MaybePromise<T>) => Promise<T>;

/** Reads of all exports together: one a turn, however many exports there are. */
export function ownTurns(): InOwnTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (read) => {
    const turn = last.then(() => setImmediate());
    // The turn, not the read: reads of a database elsewhere run at the same time.
    last = turn;
    return turn.then(read);
  };
}
