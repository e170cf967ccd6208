/**
 * The repeatable calls of one gateway that are in flight, so that repeated calls can wait for them.
 */
import type { Outcome } from './repeat.ts';

export interface CallInFlight {
  /** The outcome of the call; never rejects. */
  readonly outcome: Promise<Outcome>;
  /** Resolves `outcome`; only the first call counts. */
  resolve(outcome: Outcome): void;
  /** Removes the call from the list; later repetitions ask the store. */
  remove(): void;
}

/** By name and fingerprint. The limit of concurrent calls bounds their number. */
export interface CallsInFlight {
  find(id: string): CallInFlight | undefined;
  /** Adds a call, which replaces any other with this id. */
  add(id: string): CallInFlight;
}

export function callsInFlight(): CallsInFlight {
  const byId = new Map<string, CallInFlight>();

  return {
    find: (id) => byId.get(id),
    add: (id) => {
      let resolveOutcome: (outcome: Outcome) => void = () => {};
      const outcome = new Promise<Outcome>((resolve) => {
        resolveOutcome = resolve;
      });
      const call: CallInFlight = {
        outcome,
        resolve: (result) => resolveOutcome(result),
        remove: () => {
          if (byId.get(id) === call) byId.delete(id);
        },
      };
      byId.set(id, call);
      return call;
    },
  };
}
