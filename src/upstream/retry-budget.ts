/**
 * Limits how many calls of a model may be retried at once, so that retries don't double the load on
 * a failing upstream. An attempt that surely did not run doesn't count, because it caused no load.
 */

export interface RetryBudget {
  begin(modelId: string): BudgetedCall;
}

export interface BudgetedCall {
  /** Takes a retry from the budget, once per call; false if too many calls are being retried. */
  mayRetry(): boolean;
  /** The reply has begun: the call will not be retried, however long it takes. */
  answered(): void;
  end(): void;
}

/** The number of retries that is always allowed; above it, a share of the running calls. */
const freeRetries = 3;
const retryShare = 0.2;

/** Bounds the memory, because a host's catalog may keep returning new ids. */
const maxIdleModels = 10_000;

export function retryBudget(): RetryBudget {
  // Entries of idle models are kept: removing and adding them with each call would cost more than
  // the memory they take.
  const models = new Map<string, { calls: number; retries: number }>();

  return {
    begin: (modelId) => {
      const running = models.get(modelId) ?? { calls: 0, retries: 0 };
      models.set(modelId, running);
      running.calls += 1;
      let isRetry = false;
      const releaseRetry = (): void => {
        if (isRetry) running.retries -= 1;
        isRetry = false;
      };
      return {
        mayRetry: () => {
          if (isRetry) return true;
          if (running.retries >= Math.max(freeRetries, running.calls * retryShare)) return false;
          isRetry = true;
          running.retries += 1;
          return true;
        },
        answered: releaseRetry,
        end: () => {
          running.calls -= 1;
          if (isRetry) releaseRetry();
          if (running.calls === 0 && models.size > maxIdleModels) models.delete(modelId);
        },
      };
    },
  };
}
