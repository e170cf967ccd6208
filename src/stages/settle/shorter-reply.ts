/** What a call that its quota does not cover would cost at least, with a shorter reply. */
import { none, root } from '../../bytes/json/tape.ts';
import type { Nanos } from '../../money.ts';
import { maxCostOf } from '../../prices/cost.ts';
import type { Admitted } from '../call-record.ts';
import { outputBound } from './hold.ts';

/** A way for the caller to make a call cheaper. */
export interface ShorterReply {
  /** The member of the request that limits the reply, as the caller spells it. */
  readonly member: string;
  /** The output tokens of the hold. */
  readonly heldTokens: number;
  /** The hold of the same call if its reply were limited to one token. */
  readonly leastNanos: Nanos;
}

/** Undefined for an API whose replies have no limit. */
export function shorterReply({
  route: { protocol },
  call,
  model,
  hold: { bound, request },
}: Admitted): ShorterReply | undefined {
  const [usual] = protocol.outputLimits;
  if (usual === undefined) return undefined;
  const { tape } = call;
  const sent = protocol.outputLimits.find((name) => tape.get(root, name) !== none);
  // `images` is the number of replies that the upstream may generate, whatever they consist of.
  const saved = bound.images * (outputBound(call, model) - 1);
  const least = { ...bound, outputTokens: bound.outputTokens - saved };
  return {
    member: sent ?? usual,
    heldTokens: bound.outputTokens,
    leastNanos: maxCostOf(least, model.price, request),
  };
}
