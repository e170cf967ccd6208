/** Maps a requested reasoning effort to one that the model supports. */
import { type ReasoningEffort, reasoningEfforts } from '../ports/catalog.ts';

const high = reasoningEfforts.indexOf('high');

/**
 * Returns the nearest supported effort; undefined if the model supports none. Ties go to the higher
 * effort, except above `high`, where they go to the lower one: a request for `xhigh` is not a
 * request for the maximum. Reasoning is switched off only if that was requested.
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
