/** Maps a requested reasoning effort to one that the model supports. */
import { type ReasoningEffort, reasoningEfforts } from '../ports/catalog.ts';

const high = reasoningEfforts.indexOf('high');

/**
 * The nearest supported effort; undefined if there is none. A tie is rounded up, but above `high`
 * it is rounded down, because `xhigh` doesn't ask for the maximum. Thinking is switched off only if
 * the caller asked for `none`.
 */
export function nearestEffort(
  requested: ReasoningEffort,
  supported: readonly ReasoningEffort[],
): ReasoningEffort | undefined {
  if (supported.includes(requested)) return requested;
  const rank = reasoningEfforts.indexOf(requested);
  const distance = (effort: ReasoningEffort): number => {
    const steps = reasoningEfforts.indexOf(effort) - rank;
    const isLower = steps < 0;
    return Math.abs(steps) + (isLower === rank > high ? 0 : 0.5);
  };
  const thinking = supported.filter((effort) => effort !== 'none');
  return thinking.toSorted((one, other) => distance(one) - distance(other))[0];
}
