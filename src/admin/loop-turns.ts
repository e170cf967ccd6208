/**
 * Gives each step of a long read its own turn of the event loop. SQLite and memory block the
 * process while they answer, so a step has to be small, and calls run before the next one.
 */
import { setImmediate } from 'node:timers/promises';
import type { MaybePromise } from '../ports/call-options.ts';

/** Runs a read in a turn of the event loop that no other read of this function has. */
export type InOwnTurn = <T>(read: () => MaybePromise<T>) => Promise<T>;

/** At most one read per turn, however many exports run at once. */
export function ownTurns(): InOwnTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (read) => {
    const turn = last.then(() => setImmediate());
    // The next read waits for this turn, not for this read: a database server runs them
    // concurrently.
    last = turn;
    return turn.then(read);
  };
}
