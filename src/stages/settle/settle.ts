/**
 * Ends a call exactly once, on every path: computes the charge by the policy, settles or releases
 * the hold, and writes one record to the usage log.
 */
import type { CallEnding, ChargeRule } from '../../charge-policy.ts';
import type { EventListener, HoldEnd } from '../../events/events.ts';
import type { Nanos, Price, Usage } from '../../money.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { QuotaLine, QuotaStore } from '../../ports/limits/quota-store.ts';
import type { Channel, Model } from '../../ports/models/catalog.ts';
import type { CallAttempt, CallOutcome, UsageRecord } from '../../ports/usage-sink.ts';
import type { Admitted, Received } from '../call-record.ts';
import { onceForEach } from '../ports/once-for-each.ts';
import { isPending, whenKnown } from '../ports/port-calls.ts';
import type { TakenRates } from '../rates/applied-limits.ts';
import { usedTokens } from '../rates/limit-model.ts';
import { reportBug } from '../refuse.ts';
import { reportEnd } from '../request-events.ts';
import { type Charge, type ChargedCall, chargeFor, costNanosOf, observedNanos } from './charge.ts';
import type { Hold } from './hold.ts';
import type { Delivery, Outbox } from './outbox.ts';
import { reportCrossings } from './quota-levels.ts';
import { type CallEnd, isCharged, type Reservation, type Settlement } from './settlement.ts';

interface SettledCall extends ChargedCall {
  readonly admitted: Admitted;
  readonly emit: EventListener;
  /** Reports the names of numbers in its channel's usage that the gateway doesn't know. */
  readonly reportUnknown: (channelId: string, members: readonly string[]) => void;
}

interface ChargedEnd {
  readonly callEnd: CallEnd;
  readonly rule: ChargeRule;
  readonly charge: Charge;
}

/** What all settlements of a gateway share. */
interface SettlementDeps {
  readonly outbox: Outbox;
  readonly reportUnknown: SettledCall['reportUnknown'];
  readonly onClose: () => void;
}

/** The lease of a call in doubt, during which the host may find out what became of an image. */
const inDoubtLeaseMs = 900_000;

export type Settle = (
  admitted: Admitted,
  reservation: Reservation,
  rates: TakenRates | undefined,
) => Settlement;

export interface Settler {
  readonly settle: Settle;
  readonly openCount: () => number;
}

export function settler(outbox: Outbox, emitAll: EventListener): Settler {
  const reportUnknown = onceForEach((channelId, members: readonly string[]) =>
    emitAll({ type: 'unknown_usage', channelId, members }),
  );
  let open = 0;
  const onClose = (): void => {
    open -= 1;
  };
  const deps = { outbox, reportUnknown, onClose };
  return {
    settle: (admitted, reservation, rates) => {
      open += 1;
      return new CallSettlement(admitted, reservation, rates, deps);
    },
    openCount: () => open,
  };
}

class CallSettlement implements Settlement, SettledCall {
  readonly requestId: string;
  readonly emit: EventListener;
  readonly startedMs: number;
  readonly reservation: Reservation;
  readonly quota: QuotaStore;
  readonly reportUnknown: SettledCall['reportUnknown'];
  /** As they were when the call began, because a host may change the record of its key. */
  readonly keyId: string;
  readonly group: string;
  /** The call, with the model that serves it now. */
  admitted: Admitted;
  /** The id and the price that the model had when it was chosen: a host may change its record. */
  modelId: string;
  price: Price;
  attempts: readonly CallAttempt[] = [];
  channel: Channel | undefined = undefined;
  /** The name of the model at that channel when it was tried. */
  upstreamModel: string | undefined = undefined;
  firstByteMs: number | undefined = undefined;
  heldNanos: Nanos;
  readonly #rates: TakenRates | undefined;
  readonly #deps: SettlementDeps;
  #isClosed = false;
  #renewed: Promise<void> | undefined;
  #endsToo: ((end: CallEnd) => Promise<void>) | undefined;

  constructor(
    admitted: Admitted,
    reservation: Reservation,
    rates: TakenRates | undefined,
    deps: SettlementDeps,
  ) {
    const { received, model, key } = admitted;
    this.requestId = received.responseContext.requestId;
    this.emit = received.emit;
    this.startedMs = received.settings.clock.monotonicMs();
    this.reservation = reservation;
    this.quota = received.settings.quota;
    this.reportUnknown = deps.reportUnknown;
    this.keyId = key.id;
    this.group = key.group;
    this.admitted = admitted;
    this.modelId = model.id;
    this.price = model.price;
    this.heldNanos = reservation.nanos;
    this.#rates = rates;
    this.#deps = deps;
  }

  isOpen(): boolean {
    return !this.#isClosed;
  }

  serveWith(model: Model, hold: Hold, metadata: UsageRecord['metadata']): void {
    this.admitted = { ...this.admitted, model, hold, metadata };
    this.modelId = model.id;
    this.price = model.price;
  }

  addAttempt(channel: Channel, attempt: CallAttempt): void {
    this.channel = channel;
    this.upstreamModel = channel.upstreamModel ?? this.modelId;
    this.attempts = this.attempts.length === 0 ? [attempt] : [...this.attempts, attempt];
  }

  mayHaveRun(): boolean {
    return this.attempts.some(({ mayHaveRun }) => mayHaveRun);
  }

  recordFirstByte(): void {
    const { clock } = this.admitted.received.settings;
    this.firstByteMs ??= clock.monotonicMs() - this.startedMs;
  }

  observedNanos(usage: Usage | undefined, countedTokens: number): Nanos {
    try {
      return observedNanos(this, usage, countedTokens);
    } catch {
      // The end of the call reports it, and charges the hold, which must not grow until then.
      return 0n;
    }
  }

  addHeld(nanos: Nanos): void {
    this.heldNanos += nanos;
  }

  trackRenewal(renewal: Promise<void>): void {
    this.#renewed = this.#renewed?.then(() => renewal) ?? renewal;
  }

  endTogetherWith(end: (end: CallEnd) => Promise<void>): void {
    this.#endsToo = end;
  }

  close(end: CallEnd, recordAfter?: Promise<void>): MaybePromise<unknown> {
    const closing = this.#isClosed ? undefined : this.#closeOnce(end, recordAfter);
    const ending = this.#endsToo?.(end);
    return ending === undefined ? closing : Promise.all([closing, ending]);
  }

  /** Never rejects. A call whose record can't be made still has its hold ended, and an event. */
  #closeOnce(callEnd: CallEnd, recordAfter: Promise<void> | undefined): MaybePromise<void> {
    this.#isClosed = true;
    const { outbox, onClose } = this.#deps;
    onClose();
    const { reservation, requestId, quota, emit, keyId } = this;
    const { call, received, metadata } = this.admitted;
    const { settings, ports } = received;
    try {
      const rule = settings.chargePolicy[callEnd.ending][call.operation.chargedAs[call.framing]];
      const charge = reportedCharge(this, rule, callEnd);
      const durationMs = settings.clock.monotonicMs() - this.startedMs;
      const outcome = { callEnd, rule, charge, durationMs };
      if (this.#rates !== undefined) correctRates(this.#rates, this, outcome);
      const end = holdEnd(reservation, this.admitted.model, { rule, charge });
      const delivery: Delivery = {
        requestId,
        end,
        quota,
        ports,
        emit,
        onSettled: (result, lines) => reportCrossings(result, lines, { keyId, metadata }, emit),
      };
      if (rule === 'pend') return this.#pend(outcome, delivery);
      return whenKnown(outbox.deliver(delivery), (isBooked) =>
        whenKnown(recordAfter, () => this.#record(outcome, delivery, isBooked)),
      );
    } catch (error) {
      reportBug(error, requestId, emit);
    }
  }

  #record(outcome: Outcome, delivery: Delivery, isBooked: boolean): MaybePromise<void> {
    const { outbox } = this.#deps;
    const { received } = this.admitted;
    const reportFailure = (error: unknown): void => reportBug(error, this.requestId, this.emit);
    try {
      const record = recordOf(this, outcome, isBooked);
      if (!isBooked) delivery.onLateDelivery = () => recordLateBooking(record, outbox, received);
      const logging = outbox.log(record, received.settings.usage, received.ports);
      const report = (): void => reportEnd(record, outcome.callEnd, received);
      return isPending(logging) ? logging.then(report).catch(reportFailure) : report();
    } catch (error) {
      reportFailure(error);
    }
  }

  /** The record is first: if the process died, a long hold would be left that no record names. */
  async #pend(outcome: Outcome, delivery: Delivery): Promise<void> {
    const { outbox } = this.#deps;
    const { received } = this.admitted;
    try {
      const record = recordOf(this, outcome, false);
      await outbox.log(record, received.settings.usage, received.ports);
      // A renewal that arrives after the long lease would replace it with a short one.
      if (this.#renewed !== undefined) await this.#renewed;
      await outbox.deliver(delivery);
      reportEnd(record, outcome.callEnd, received);
    } catch (error) {
      reportBug(error, this.requestId, this.emit);
    }
  }
}

/** The store has taken a charge late: a second revision of the record says so. */
async function recordLateBooking(
  unbooked: UsageRecord,
  outbox: Outbox,
  { settings, ports, emit }: Received,
): Promise<void> {
  const record = { ...unbooked, booked: true, revision: unbooked.revision + 1 };
  await outbox.log(record, settings.usage, ports);
  emit({ type: 'call_booked', record });
}

function holdEnd(
  reservation: Reservation,
  model: Model,
  { rule, charge }: Pick<ChargedEnd, 'rule' | 'charge'>,
): HoldEnd {
  const { id, partition, subjects } = reservation;
  if (rule === 'pend') {
    return { operation: 'extend', input: { id, partition, ttlMs: inDoubtLeaseMs, idle: true } };
  }
  const lines: QuotaLine[] = [];
  for (let index = 0; index < reservation.lines.length; index += 1) {
    const line = reservation.lines[index];
    if (line === undefined) continue;
    const { subject, period } = line;
    lines.push({ subject, period, amount: isCharged(subjects[index], model) ? charge.nanos : 0n });
  }
  return rule === 'release'
    ? { operation: 'release', input: { id, partition, lines } }
    : { operation: 'settle', input: { id, partition, lines, basis: charge.basis } };
}

interface Outcome extends ChargedEnd {
  readonly durationMs: number;
}

function recordOf(state: CallSettlement, outcome: Outcome, booked: boolean): UsageRecord {
  const { callEnd: end, rule, charge, durationMs } = outcome;
  const { admitted, reservation, channel, heldNanos } = state;
  const { call, metadata, startedAtMs } = admitted;
  return {
    booked,
    revision: 1,
    requestId: state.requestId,
    reservationId: reservation.id,
    partition: reservation.partition,
    // What a line is not charged for is not held for this call either.
    lines: reservation.lines.map(({ subject, period }, index) => ({
      subject,
      period,
      heldNanos: isCharged(reservation.subjects[index], admitted.model) ? heldNanos : 0n,
    })),
    keyId: state.keyId,
    group: state.group,
    metadata,
    protocol: call.protocol,
    streamed: call.framing !== 'json',
    modelId: state.modelId,
    channelId: state.attempts.at(-1)?.channelId,
    upstreamModel: state.upstreamModel,
    attempts: state.attempts,
    startedAtMs,
    durationMs,
    firstByteMs: state.firstByteMs,
    status: end.status,
    outcome: outcomeOf(end.ending, rule),
    reason: end.reason,
    usage: end.usage === undefined ? undefined : recordedUsage(end.usage, charge),
    basis: charge.basis,
    heldNanos,
    chargeNanos: charge.nanos,
    costNanos: channel?.cost === undefined ? undefined : reportedCost(state, rule, charge),
    price: state.price,
  };
}

/**
 * Records have the sum of all passes, which stores can keep in columns. Counts that the gateway
 * filled in are recorded as they are charged.
 */
function recordedUsage(usage: Usage, charge: Charge): Usage {
  if ((usage.passes ?? usage.remarks ?? usage.unreported) === undefined) return usage;
  const { passes: _passes, remarks: _remarks, unreported, ...sum } = usage;
  const { inputTokens, outputTokens } = (unreported && charge.usage) ?? sum;
  return { ...sum, inputTokens, outputTokens };
}

function outcomeOf(ending: CallEnding, rule: ChargeRule): CallOutcome {
  if (rule === 'pend') return 'unknown';
  switch (ending) {
    case 'failed':
    case 'still_running':
      return 'unknown';
    case 'left_early':
      return rule === 'prompt' ? 'caller_left' : 'unknown';
    case 'left':
      return 'caller_left';
    default:
      return ending;
  }
}

// A host may change the record of a model or a channel while a call runs, so that no amount can be
// computed from it. The call still ends, and an event reports the failure.

/** If that fails, because a host has changed its model's record, the whole hold is charged. */
function reportedCharge(settled: SettledCall, rule: ChargeRule, callEnd: CallEnd): Charge {
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
function correctRates(
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
function reportedCost(settled: SettledCall, rule: ChargeRule, charge: Charge): Nanos | undefined {
  const { emit, admitted } = settled;
  try {
    return costNanosOf(settled, rule, charge);
  } catch (error) {
    reportBug(error, admitted.received.responseContext.requestId, emit);
    return undefined;
  }
}
