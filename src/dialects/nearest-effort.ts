/** Moves a wish for reasoning to what a model knows (TRANSLATION §6.9). */
import { type ReasoningEffort, reasoningEfforts } from '../ports/catalog.ts';

const high = reasoningEfforts.indexOf('high');

/**
 * The nearest effort the model knows; undefined where it knows none. Of two that are equally near
 * the harder one, but above `high` the easier: `xhigh` is no wish for the utmost. Thinking is
 * switched off only where that was asked for.
 */
export function nearestEffort(
  wanted: ReasoningEffort,
  supported: readonly ReasoningEffort[],
): ReasoningEffort | undefined {
  if (supported.includes(wanted)) return wanted;
  const rank = reasoningEfforts.indexOf(wanted);
  const distance = (effort: ReasoningEffort): number => {
    const steps = reasoningEfforts.indexOf(effort) - rank;
    const isEasier = steps < 0;
    return Math.abs(steps) + (isEasier === rank > high ? 0 : 0.5);
  };
  const thinking = supported.filter((effort) => effort !== 'none');
  return thinking.toSorted((one, other) => distance(one) - distance(other))[0];
}
