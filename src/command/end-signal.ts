/** Waits for the signal that ends a process. */
import type { Surroundings } from './command.ts';

/** Resolves at the first signal that asks the process to end. The next one ends it at once. */
export function endSignal({ onSignal }: Surroundings): Promise<string> {
  return new Promise((resolve) => {
    const stops = (['SIGTERM', 'SIGINT'] as const).map((signal) =>
      onSignal(signal, () => {
        for (const stop of stops) stop();
        resolve(signal);
      }),
    );
  });
}
