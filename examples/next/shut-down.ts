/** Closes the gateway before the process ends. */
import { gateway } from './gateway';

/** Next.js leaves the signal to this listener if `NEXT_MANUAL_SIG_HANDLE` is set. */
export function closeOnSignal(): void {
  if (process.env.NEXT_MANUAL_SIG_HANDLE === undefined) return;
  process.once('SIGTERM', () => {
    void gateway()
      .close({ drainMs: 20_000 })
      .then(() => process.exit(0));
  });
}
