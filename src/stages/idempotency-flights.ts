/** The repeatable calls of one gateway that are under way, for others to wait for. */
import type { Outcome } from './idempotency-repeat.ts';

/** One of them. */
export interface Flight {
  /** What comes of it; never rejects. */
  readonly outcome: Promise<Outcome>;
  /** Tells those who wait, the first time. */
  land(outcome: Outcome): void;
  /** From now on nobody finds it: whoever asks again asks the store. */
  leave(): void;
}

/** All of them, by name and fingerprint; each is bounded by the calls that may run at once. */
export interface Flights {
  find(id: string): Flight | undefined;
  /** A new one, which takes the place of any other of this id. */
  open(id: string): Flight;
}

/** None at first. */
export function openFlights(): Flights {
  const byId = new Map<string, Flight>();

  return {
    find: (id) => byId.get(id),
    open: (id) => {
      let land: (outcome: Outcome) => void = () => {};
      const outcome = new Promise<Outcome>((resolve) => {
        land = resolve;
      });
      const flight: Flight = {
        outcome,
        land: (landed) => land(landed),
        leave: () => {
          if (byId.get(id) === flight) byId.delete(id);
        },
      };
      byId.set(id, flight);
      return flight;
    },
  };
}
