/**
 * Grows a hold before the request is sent, if the body for this channel is larger than the
 * caller's. A translation may be longer than its original.
 */
import type { PromptSize } from '../../call.ts';
import { GatewayError, isGatewayError } from '../../errors.ts';
import type { Nanos } from '../../money.ts';
import { maxCostOf } from '../../prices/cost.ts';
import type { Held } from '../call-record.ts';
import { isExtendResults } from '../ports/port-answers.ts';
import { promptBound, usageBound } from './hold.ts';
import { extendInput } from './keep-holds.ts';
import { reserveError } from './reserve.ts';

/** Returns the reason if the store refuses to grow the hold, or nothing bounds the cost. */
export async function coverPrompt(
  prompt: PromptSize,
  held: Held,
): Promise<GatewayError | undefined> {
  const { settlement, admitted } = held;
  const { call, model, hold } = admitted;
  if (model.price.per === 'free') return undefined;
  try {
    const tokens = promptBound(prompt, model);
    if (tokens.text <= hold.prompt.text && tokens.media <= hold.prompt.media) return undefined;
    const bound = usageBound(call, model, tokens, hold.members);
    const needed = maxCostOf(bound, model.price, hold.request);
    const add = needed - settlement.heldNanos;
    return add <= 0n ? undefined : await growHold(add, held);
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}

/** Grows the hold by an amount. Returns the reason if the store refuses. */
export async function growHold(
  add: Nanos,
  { settlement, admitted: { received, key } }: Held,
): Promise<GatewayError | undefined> {
  const { settings, ports } = received;
  const input = extendInput({ settlement }, add, settings.leaseMs);
  const [result] = await ports.ask('quota', 'extend', isExtendResults(1), (options) =>
    settlement.quota.extend([input], options),
  );
  if (result?.status !== 'held') {
    if (result?.status !== 'insufficient') return holdLapsed();
    const heldNanos = settlement.heldNanos;
    return reserveError(result, { key, nanos: heldNanos + add, heldNanos });
  }
  settlement.addHeld(add);
  return undefined;
}

/** A hold that the store has lost bounds nothing. Nothing was sent yet, so the call is refused. */
function holdLapsed(): GatewayError {
  return new GatewayError(
    'store_unavailable',
    'The gateway could not check this call just now. Try again shortly.',
    { reason: 'hold_lapsed', retryAfterMs: 1_000 },
  );
}
