/**
 * Lets all calls that came in one turn of the event loop take a stretch of the way together, one
 * right after the other. Called each from its own socket's event, they would find our code thrown
 * out of the processor's caches every time by that of parsers and sockets, which costs a call more
 * than its own work does (docs/performance.md).
 */
// Imported: a host's tests may put clocks of their own in place of the global one.
import { setImmediate } from 'node:timers';

/** Resolves when the sockets that are ready now have been read: at the end of the loop's turn. */
export type LoopTurn = () => Promise<void>;

/** One promise serves all who ask within a turn. */
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
