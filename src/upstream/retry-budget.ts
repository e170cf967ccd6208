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
  const models = new Map<string, RunningCalls>();
  return {
    begin: (modelId) => {
      const running = models.get(modelId) ?? { calls: 0, retries: 0 };
      models.set(modelId, running);
      running.calls += 1;
      return new CallInBudget(modelId, running, models);
    },
  };
}

/** Of one model. */
interface RunningCalls {
  calls: number;
  retries: number;
}

class CallInBudget implements BudgetedCall {
  readonly #modelId: string;
  readonly #running: RunningCalls;
  readonly #models: Map<string, RunningCalls>;
  #isRetry = false;

  constructor(modelId: string, running: RunningCalls, models: Map<string, RunningCalls>) {
    this.#modelId = modelId;
    this.#running = running;
    this.#models = models;
  }

  mayRetry(): boolean {
    if (this.#isRetry) return true;
    const { calls, retries } = this.#running;
    if (retries >= Math.max(freeRetries, calls * retryShare)) return false;
    this.#isRetry = true;
    this.#running.retries += 1;
    return true;
  }

  answered(): void {
    if (this.#isRetry) this.#running.retries -= 1;
    this.#isRetry = false;
  }

  end(): void {
    this.#running.calls -= 1;
    this.answered();
    const isIdle = this.#running.calls === 0;
    if (isIdle && this.#models.size > maxIdleModels) this.#models.delete(this.#modelId);
  }
}
