/** Tells the host's listener, whose mistakes must not become a caller's. */
import type { EventListener } from '../events.ts';

/** The listener of the moment, with what it throws, or rejects with later, swallowed. */
export function quietListener(listener: () => EventListener | undefined): EventListener {
  return (event) => {
    try {
      const said: unknown = listener()?.(event);
      // Any thenable: a promise may come from another library or another realm.
      if (typeof said === 'object' && said !== null) Promise.resolve(said).catch(() => {});
    } catch {
      // Nobody is left to tell: telling is what failed.
    }
  };
}
