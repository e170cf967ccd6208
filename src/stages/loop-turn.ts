/**
 * Lets all calls that arrived in one turn of the event loop run the next stages together, one right
 * after the other. If each ran from its own socket's event, parsers and sockets would evict the
 * gateway's code from the processor's caches in between, which costs a call more than its own work
 * does (docs/internals/performance.md).
 */
// Imported, because a host's tests may replace the global timers with fakes.
import { setImmediate } from 'node:timers';

/**
 * Calls back at the end of the loop's turn, when the sockets that are ready now have been read.
 * `next` must not throw.
 */
export type LoopTurn = (next: () => void) => void;

export function loopTurn(): LoopTurn {
  let waiting: (() => void)[] | undefined;
  return (next) => {
    if (waiting?.push(next) !== undefined) return;
    const all = [next];
    waiting = all;
    setImmediate(() => {
      waiting = undefined;
      for (const one of all) one();
    });
  };
}
