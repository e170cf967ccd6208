/**
 * Lets all calls that arrived in one turn of the event loop run the next stages together, one right
 * after the other. If each ran from its own socket's event, parsers and sockets would evict the
 * gateway's code from the processor's caches in between, which costs a call more than its own work
 * does (docs/internals/performance.md).
 */
// Imported, because a host's tests may replace the global timers with fakes.
import { setImmediate } from 'node:timers';

/** Resolves at the end of the loop's turn, when the sockets that are ready now have been read. */
export type LoopTurn = () => Promise<void>;

/** Makes the function; all its callers within one turn share a promise. */
export function loopTurn(): LoopTurn {
  let end: Promise<void> | undefined;
  return () => {
    end ??= new Promise((resolve) => {
      setImmediate(() => {
        end = undefined;
        resolve();
      });
    });
    return end;
  };
}
