/** Compares the number of vectors in a relayed reply with that of the inputs. */

import type { Call } from '../call.ts';
import type { FailureReason } from '../failure-reasons.ts';

/** Clients match vectors to inputs by order, so somebody should look at another number. */
export function countRemark(
  vectors: number,
  { demand }: Pick<Call, 'demand'>,
): FailureReason | undefined {
  return vectors === demand.prompt.inputs?.length ? undefined : 'upstream_count';
}
