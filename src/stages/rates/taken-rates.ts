/**
 * What a call has taken from the rate limits of its tokens and its model, until the end of the
 * call corrects it or gives it back.
 */
import type { ChargeRule } from '../../charge-policy.ts';
import type { RateTake } from '../../ports/limits/rate-limiter.ts';
import type { Admitted } from '../call-record.ts';
import { isAnything } from '../ports/port-answers.ts';
import type { Charge } from '../settle/charge.ts';
import { promptTokens } from '../settle/hold.ts';
import { type AppliedLimit, dependsOnModel, type TakenRates } from './applied-limits.ts';

export function takenRates(admitted: Admitted, granted: readonly AppliedLimit[]): TakenRates {
  let limits = granted;
  let isOpen = true;
  const giveBack = (): void => {
    if (isOpen) void adjust(limits, admitted, ({ take }) => -take.amount);
    isOpen = false;
  };
  return {
    giveBack,
    settle: (ending, tokens) => {
      if (ending === 'not_run') return giveBack();
      isOpen = false;
      if (tokens === undefined) return;
      void adjust(limits, admitted, ({ counts, take }) =>
        counts === 'calls' ? 0 : tokens - take.amount,
      );
    },
    replaceModel: (ofModel) => {
      void adjust(limits.filter(dependsOnModel), admitted, ({ take }) => -take.amount);
      limits = [...limits.filter((limit) => !dependsOnModel(limit)), ...ofModel];
    },
  };
}

/** Corrects the limits. Nobody waits for it. */
async function adjust(
  limits: readonly AppliedLimit[],
  { received: { settings, ports } }: Admitted,
  amountOf: (limit: AppliedLimit) => number,
): Promise<void> {
  const changes = limits
    .map((limit): RateTake => ({ ...limit.take, amount: amountOf(limit) }))
    .filter(({ amount }) => amount !== 0);
  if (changes.length === 0) return;
  try {
    await ports.ask('rate_limiter', 'adjust', isAnything, (options) =>
      settings.rateLimiter.adjust(changes, options),
    );
  } catch {
    // A correction that was lost is in an event. It needs no retry: the bucket refills by itself.
  }
}

/**
 * The tokens that a call used: those that it is charged for, or would be if its model had a price.
 * Undefined while nobody knows whether it ran.
 */
export function usedTokens(
  rule: ChargeRule,
  { usage, basis }: Charge,
  { call, model }: Pick<Admitted, 'call' | 'model'>,
): number | undefined {
  if (rule === 'pend') return undefined;
  if (rule === 'release' || rule === 'nothing' || usage === undefined) return 0;
  const { inputTokens, outputTokens } = usage;
  // Free models estimate no prompt where the upstream counts none.
  const isUncounted = model.price.per === 'free' && basis !== 'usage' && inputTokens === 0;
  return (isUncounted ? promptTokens(call.demand.prompt, model) : inputTokens) + outputTokens;
}
