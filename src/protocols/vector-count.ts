/** Compares the number of vectors in a relayed reply with that of the inputs. */

import type { Call } from '../call.ts';
import type { FailureReason } from '../failure-reasons.ts';

/**
 * The remark for the usage record of a reply with another number of vectors than the call has
 * inputs: clients take vectors for inputs by their order, so that somebody should look at it.
 */
export function countRemark(
  vectors: number,
  { demand }: Pick<Call, 'demand'>,
): FailureReason | undefined {
  return vectors === demand.prompt.inputs?.length ? undefined : 'upstream_count';
}
