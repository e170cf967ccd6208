/**
 * Bounds how many calls of a model may run a second time at once: when an upstream falls ill,
 * retries must not double the load on what is left of it. A try that surely did not run is no part
 * of this: the call it belongs to has not been any load yet.
 */

/** Counts the calls of each model, and those that are retries. */
export interface RetryBudget {
  begin(modelId: string): BudgetedCall;
}

/** One call, counted until it ends. */
export interface BudgetedCall {
  /** Takes the right to run a second time, once a call; false where too many have it. */
  mayRetry(): boolean;
  /** It has an answer: however long that takes, it asks nobody else. */
  answered(): void;
  end(): void;
}

interface Tally {
  calls: number;
  retries: number;
}

/** Retries that are always allowed, and beyond them their share of the running calls. */
const freeRetries = 3;
const retryShare = 0.2;

/** A catalog that makes up ids must not fill the memory. */
const mostIdle = 10_000;

/** Nothing runs yet. */
export function retryBudget(): RetryBudget {
  // A model that has had calls stays: what comes and goes with each would cost more than it holds.
  const tallies = new Map<string, Tally>();

  const tallyOf = (modelId: string): Tally => {
    const known = tallies.get(modelId);
    if (known !== undefined) return known;
    const tally = { calls: 0, retries: 0 };
    tallies.set(modelId, tally);
    return tally;
  };

  return {
    begin: (modelId) => {
      const tally = tallyOf(modelId);
      tally.calls += 1;
      let retries = false;
      const giveBack = (): void => {
        if (retries) tally.retries -= 1;
        retries = false;
      };
      return {
        mayRetry: () => {
          if (retries) return true;
          if (tally.retries >= Math.max(freeRetries, tally.calls * retryShare)) return false;
          retries = true;
          tally.retries += 1;
          return true;
        },
        answered: giveBack,
        end: () => {
          tally.calls -= 1;
          giveBack();
          if (tally.calls === 0 && tallies.size > mostIdle) tallies.delete(modelId);
        },
      };
    },
  };
}
