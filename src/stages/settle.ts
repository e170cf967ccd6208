/**
 * Ends a call exactly once, on every path: computes the charge by the policy, settles or releases
 * the hold, and writes one record to the usage log.
 */
import type { CallEnding, ChargeRule } from '../charge-policy.ts';
import type { EventListener, HoldEnd } from '../events.ts';
import type { Nanos } from '../money.ts';
import type { Channel } from '../ports/catalog.ts';
import type { CallAttempt, CallOutcome, UsageRecord } from '../ports/usage-sink.ts';
import type { TakenRates } from './applied-limits.ts';
import type { Admitted } from './call-record.ts';
import {
  type Charge,
  chargeFor,
  costFor,
  costNanosOf,
  maxCountedNanos,
  withCounted,
} from './charge.ts';
import type { Delivery, Outbox } from './outbox.ts';
import type { CallEnd, Reservation, Settlement } from './settlement.ts';
import { usedTokens } from './taken-rates.ts';

/** Dependencies of a settlement. */
export interface SettlementDeps {
  readonly admitted: Admitted;
  readonly reservation: Reservation;
  /** What the call took from rate limits; undefined if none depends on its tokens or its model. */
  readonly rates: TakenRates | undefined;
  readonly outbox: Outbox;
  readonly emit: EventListener;
}

/** The lease of a call in doubt, during which the host may find out what became of an image. */
const inDoubtLeaseMs = 900_000;

/** The state of a call's settlement. */
interface SettlementState extends SettlementDeps {
  /** The call, with the model that serves it now. */
  admitted: Admitted;
  readonly startedMs: number;
  attempts: readonly CallAttempt[];
  channel: Channel | undefined;
  firstByteMs: number | undefined;
  heldNanos: Nanos;
  isClosed: boolean;
  renewed: Promise<void> | undefined;
}

/** Makes the settlement of a call that has reserved quota. */
export type Settle = (
  admitted: Admitted,
  reservation: Reservation,
  rates: TakenRates | undefined,
) => Settlement;

/** Settlements whose ends go out through one outbox. */
export function settler(outbox: Outbox, emit: EventListener): Settle {
  return (admitted, reservation, rates) =>
    settlementOf({ admitted, reservation, rates, outbox, emit });
}

/** Makes the settlement of a hold. */
function settlementOf(deps: SettlementDeps): Settlement {
  const { reservation } = deps;
  const { settings, responseContext } = deps.admitted.received;
  const state = newState(deps);
  return {
    requestId: responseContext.requestId,
    startedMs: state.startedMs,
    reservation,
    quota: settings.quota,
    isOpen: () => !state.isClosed,
    serveWith: (model, hold, metadata) => {
      state.admitted = { ...state.admitted, model, hold, metadata };
    },
    addAttempt: (channel, attempt) => {
      state.channel = channel;
      state.attempts = state.attempts.length === 0 ? [attempt] : [...state.attempts, attempt];
    },
    recordFirstByte: () => {
      state.firstByteMs ??= settings.clock.monotonicMs() - state.startedMs;
    },
    heldNanos: () => state.heldNanos,
    observedNanos: (usage, countedTokens) =>
      usage === undefined
        ? maxCountedNanos(state, countedTokens)
        : costFor(withCounted(usage, countedTokens, state), state),
    addHeld: (nanos) => {
      state.heldNanos += nanos;
    },
    trackRenewal: (renewal) => {
      state.renewed = state.renewed?.then(() => renewal) ?? renewal;
    },
    close: (end) => closeOnce(state, end),
  };
}

function newState(deps: SettlementDeps): SettlementState {
  const { admitted, reservation, rates, outbox, emit } = deps;
  return {
    admitted,
    reservation,
    rates,
    outbox,
    emit,
    startedMs: admitted.received.settings.clock.monotonicMs(),
    attempts: [],
    channel: undefined,
    firstByteMs: undefined,
    heldNanos: reservation.nanos,
    isClosed: false,
    renewed: undefined,
  };
}

/** Never rejects, because the code that ends a reply can't handle an error. */
async function closeOnce(state: SettlementState, callEnd: CallEnd): Promise<void> {
  if (state.isClosed) return;
  state.isClosed = true;
  const { renewed, reservation, outbox, emit, admitted } = state;
  const { call, received } = admitted;
  const { settings, ports, responseContext } = received;
  const { requestId } = responseContext;
  const rule = settings.chargePolicy[callEnd.ending][call.operation.chargedAs[call.framing]];
  const charge = chargeFor(state, rule, callEnd);
  reportAnomalies(charge, state);
  state.rates?.settle(callEnd.ending, usedTokens(rule, charge, admitted));
  const durationMs = settings.clock.monotonicMs() - state.startedMs;
  const makeRecord = (booked: boolean): UsageRecord =>
    recordOf(state, { callEnd, rule, charge, durationMs, booked });
  const end = holdEnd(reservation, rule, charge);
  const delivery: Delivery = { requestId, end, quota: settings.quota, ports };
  if (rule === 'pend') {
    const record = makeRecord(false);
    // The record is written first. If the process died between the two steps, a long hold would be
    // left that no record names.
    await outbox.log(record, settings.usage, ports);
    // A renewal that arrives after the long lease would replace it with a short one.
    if (renewed !== undefined) await renewed;
    await outbox.deliver(delivery);
    return emit({ type: 'call_ended', record });
  }
  // The store is asked first, and the record waits for it: a host's sink and listener must not run
  // before the end of a reply.
  const record = makeRecord(await outbox.deliver(delivery));
  if (!record.booked) delivery.onLateDelivery = () => recordLateBooking(state, record);
  await outbox.log(record, settings.usage, ports);
  emit({ type: 'call_ended', record });
}

/**
 * The store has taken a charge that it could not take at first; a second revision of the record
 * says so.
 */
async function recordLateBooking(
  { outbox, emit, admitted: { received } }: SettlementDeps,
  unbooked: UsageRecord,
): Promise<void> {
  const { settings, ports } = received;
  const record = { ...unbooked, booked: true, revision: unbooked.revision + 1 };
  await outbox.log(record, settings.usage, ports);
  emit({ type: 'call_booked', record });
}

function reportAnomalies({ anomaly, aboveHold }: Charge, state: SettlementState): void {
  const { emit, heldNanos, admitted } = state;
  const { requestId } = admitted.received.responseContext;
  if (anomaly !== undefined) emit({ type: 'usage_anomaly', requestId, reason: anomaly });
  if (aboveHold === undefined) return;
  const amounts = { heldNanos, usageNanos: aboveHold };
  emit({ type: 'usage_anomaly', requestId, reason: 'above_hold', ...amounts });
}

function holdEnd(reservation: Reservation, rule: ChargeRule, charge: Charge): HoldEnd {
  const { id, partition } = reservation;
  if (rule === 'pend') {
    return { operation: 'extend', input: { id, partition, ttlMs: inDoubtLeaseMs, idle: true } };
  }
  const lines = reservation.lines.map(({ subject, period, amount }) => ({
    subject,
    period,
    // A line that only counts calls holds no money and is charged nothing.
    amount: amount === reservation.nanos ? charge.nanos : 0n,
  }));
  return rule === 'release'
    ? { operation: 'release', input: { id, partition, lines } }
    : { operation: 'settle', input: { id, partition, lines, basis: charge.basis } };
}

/** How a call has ended, and what it is charged. */
interface Outcome {
  readonly callEnd: CallEnd;
  readonly rule: ChargeRule;
  readonly charge: Charge;
  readonly durationMs: number;
  readonly booked: boolean;
}

function recordOf(state: SettlementState, outcome: Outcome): UsageRecord {
  const { callEnd: end, rule, charge, durationMs, booked } = outcome;
  const { admitted, reservation, channel, heldNanos } = state;
  const { call, key, model, metadata, startedAtMs, received } = admitted;
  return {
    booked,
    revision: 1,
    requestId: received.responseContext.requestId,
    reservationId: reservation.id,
    partition: reservation.partition,
    lines: reservation.lines.map(({ subject, period, amount }) => ({
      subject,
      period,
      heldNanos: amount === reservation.nanos ? heldNanos : 0n,
    })),
    keyId: key.id,
    group: key.group,
    metadata,
    protocol: call.protocol,
    streamed: call.framing !== 'json',
    modelId: model.id,
    channelId: channel?.id,
    upstreamModel: channel === undefined ? undefined : (channel.upstreamModel ?? model.id),
    attempts: state.attempts,
    startedAtMs,
    durationMs,
    firstByteMs: state.firstByteMs,
    status: end.status,
    outcome: outcomeOf(end.ending, rule),
    reason: end.reason,
    usage: end.usage,
    basis: charge.basis,
    heldNanos,
    chargeNanos: charge.nanos,
    costNanos: costNanosOf(state, rule, charge),
    price: model.price,
  };
}

function outcomeOf(ending: CallEnding, rule: ChargeRule): CallOutcome {
  if (rule === 'pend') return 'unknown';
  switch (ending) {
    case 'failed':
      return 'unknown';
    case 'left_early':
      return rule === 'prompt' ? 'caller_left' : 'unknown';
    case 'left':
      return 'caller_left';
    default:
      return ending;
  }
}
