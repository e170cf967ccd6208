/**
 * Computes the amounts at the end of a call. A host may change the record of a model or a channel
 * while a call runs, so that no amount can be computed from it. The call still ends, and an event
 * reports the failure.
 */
import type { ChargeRule } from '../../charge-policy.ts';
import type { EventListener } from '../../events.ts';
import type { Nanos } from '../../money.ts';
import type { Admitted } from '../call-record.ts';
import type { TakenRates } from '../rates/applied-limits.ts';
import { usedTokens } from '../rates/taken-rates.ts';
import { reportBug } from '../refuse.ts';
import { type Charge, type ChargedCall, chargeFor, costNanosOf } from './charge.ts';
import type { CallEnd } from './settlement.ts';

export interface SettledCall extends ChargedCall {
  readonly admitted: Admitted;
  readonly emit: EventListener;
  /** Reports the names of numbers in its channel's usage that the gateway doesn't know. */
  readonly reportUnknown: (channelId: string, members: readonly string[]) => void;
}

export interface ChargedEnd {
  readonly callEnd: CallEnd;
  readonly rule: ChargeRule;
  readonly charge: Charge;
}

/** If that fails, because a host has changed its model's record, the whole hold is charged. */
export function reportedCharge(settled: SettledCall, rule: ChargeRule, callEnd: CallEnd): Charge {
  const { emit, heldNanos, admitted, channel, reportUnknown } = settled;
  const { requestId } = admitted.received.responseContext;
  try {
    const charge = chargeFor(settled, rule, callEnd);
    const { nanos, anomaly, aboveHold, basis } = charge;
    if (typeof nanos !== 'bigint' || nanos < 0n) throw new TypeError('invalid charge');
    if (anomaly !== undefined) emit({ type: 'usage_anomaly', requestId, reason: anomaly });
    const { isInconsistent, unknown } = callEnd.usage?.remarks ?? {};
    if (isInconsistent === true && basis !== 'policy') {
      emit({ type: 'usage_anomaly', requestId, reason: 'inconsistent' });
    }
    if (unknown !== undefined && channel !== undefined) reportUnknown(channel.id, unknown);
    if (aboveHold !== undefined) {
      const amounts = { heldNanos, usageNanos: aboveHold };
      emit({ type: 'usage_anomaly', requestId, reason: 'above_hold', ...amounts });
    }
    return charge;
  } catch (error) {
    reportBug(error, requestId, emit);
    const { usage } = callEnd;
    return { nanos: heldNanos, basis: 'policy', anomaly: undefined, aboveHold: undefined, usage };
  }
}

/** If the tokens can't be computed, what the call has taken stays taken. */
export function correctRates(
  rates: TakenRates,
  { emit, admitted }: SettledCall,
  { callEnd: { ending }, rule, charge }: ChargedEnd,
): void {
  let tokens: number | undefined;
  try {
    tokens = usedTokens(rule, charge, admitted);
  } catch (error) {
    reportBug(error, admitted.received.responseContext.requestId, emit);
  }
  rates.settle(ending, tokens);
}

/** Undefined, and reported, if the channel's cost can't be applied any more. */
export function reportedCost(
  settled: SettledCall,
  rule: ChargeRule,
  charge: Charge,
): Nanos | undefined {
  const { emit, admitted } = settled;
  try {
    return costNanosOf(settled, rule, charge);
  } catch (error) {
    reportBug(error, admitted.received.responseContext.requestId, emit);
    return undefined;
  }
}
