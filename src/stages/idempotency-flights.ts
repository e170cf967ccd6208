/**
 * The repeatable calls of one gateway that are in flight, so that repeated calls can wait for them.
 */
import type { Outcome } from './idempotency-repeat.ts';

/** A repeatable call in flight. */
export interface Flight {
  /** The outcome of the call; never rejects. */
  readonly outcome: Promise<Outcome>;
  /** Resolves `outcome`; only the first call counts. */
  land(outcome: Outcome): void;
  /** Removes the call from the list; later repetitions ask the store. */
  leave(): void;
}

/**
 * All repeatable calls in flight, by name and fingerprint. The limit of concurrent calls bounds
 * their number.
 */
export interface Flights {
  find(id: string): Flight | undefined;
  /** Adds a call, which replaces any other with this id. */
  open(id: string): Flight;
}

/** Makes an empty list. */
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
