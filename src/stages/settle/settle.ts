/**
 * Ends a call exactly once, on every path: computes the charge by the policy, settles or releases
 * the hold, and writes one record to the usage log.
 */
import type { CallEnding, ChargeRule } from '../../charge-policy.ts';
import type { EventListener, HoldEnd } from '../../events.ts';
import type { Nanos, Price, Usage } from '../../money.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { QuotaLine } from '../../ports/quota-store.ts';
import type { CallAttempt, CallOutcome, UsageRecord } from '../../ports/usage-sink.ts';
import type { Admitted } from '../call-record.ts';
import { onceForEach } from '../ports/once-for-each.ts';
import type { TakenRates } from '../rates/applied-limits.ts';
import { reportBug } from '../refuse.ts';
import { reportEnd } from '../request-events.ts';
import { type Charge, observedNanos } from './charge.ts';
import type { Delivery, Outbox } from './outbox.ts';
import {
  type ChargedEnd,
  correctRates,
  reportedCharge,
  reportedCost,
  type SettledCall,
} from './reported-charge.ts';
import type { CallEnd, Reservation, Settlement } from './settlement.ts';

export interface SettlementDeps {
  readonly admitted: Admitted;
  readonly reservation: Reservation;
  /** What the call took from rate limits; undefined if none depends on its tokens or its model. */
  readonly rates: TakenRates | undefined;
  readonly outbox: Outbox;
  readonly emit: EventListener;
  readonly reportUnknown: SettledCall['reportUnknown'];
  readonly onClose: () => void;
}

/** The lease of a call in doubt, during which the host may find out what became of an image. */
const inDoubtLeaseMs = 900_000;

interface SettlementState extends SettlementDeps {
  /** The call, with the model that serves it now. */
  admitted: Admitted;
  /** The id and the price that the model had when it was chosen: a host may change its record. */
  modelId: string;
  price: Price;
  readonly startedMs: number;
  /** As they were when the call began, because a host may change the record of its key. */
  readonly keyId: string;
  readonly group: string;
  attempts: readonly CallAttempt[];
  channel: Channel | undefined;
  /** The name of the model at that channel when it was tried. */
  upstreamModel: string | undefined;
  firstByteMs: number | undefined;
  heldNanos: Nanos;
  isClosed: boolean;
  renewed: Promise<void> | undefined;
}

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
  return {
    settle: (admitted, reservation, rates) => {
      open += 1;
      const { emit } = admitted.received;
      return settlementOf({ admitted, reservation, rates, outbox, emit, reportUnknown, onClose });
    },
    openCount: () => open,
  };
}

function settlementOf(deps: SettlementDeps): Settlement {
  const { reservation } = deps;
  const { settings, responseContext } = deps.admitted.received;
  const state = newState(deps);
  return {
    requestId: responseContext.requestId,
    emit: deps.emit,
    startedMs: state.startedMs,
    reservation,
    quota: settings.quota,
    isOpen: () => !state.isClosed,
    serveWith: (model, hold, metadata) => {
      state.admitted = { ...state.admitted, model, hold, metadata };
      state.modelId = model.id;
      state.price = model.price;
    },
    addAttempt: (channel, attempt) => {
      state.channel = channel;
      state.upstreamModel = channel.upstreamModel ?? state.modelId;
      state.attempts = state.attempts.length === 0 ? [attempt] : [...state.attempts, attempt];
    },
    attemptCount: () => state.attempts.length,
    mayHaveRun: () => state.attempts.some(({ mayHaveRun }) => mayHaveRun),
    recordFirstByte: () => {
      state.firstByteMs ??= settings.clock.monotonicMs() - state.startedMs;
    },
    heldNanos: () => state.heldNanos,
    observedNanos: (usage, countedTokens) => observedOrNone(state, usage, countedTokens),
    addHeld: (nanos) => {
      state.heldNanos += nanos;
    },
    trackRenewal: (renewal) => {
      state.renewed = state.renewed?.then(() => renewal) ?? renewal;
    },
    close: (end) => closeOnce(state, end),
  };
}

function observedOrNone(
  state: SettlementState,
  usage: Usage | undefined,
  countedTokens: number,
): Nanos {
  try {
    return observedNanos(state, usage, countedTokens);
  } catch {
    // The end of the call reports it, and charges the hold, which must not grow until then.
    return 0n;
  }
}

function newState(deps: SettlementDeps): SettlementState {
  const { admitted, reservation, rates, outbox, emit, reportUnknown, onClose } = deps;
  return {
    onClose,
    reportUnknown,
    admitted,
    modelId: admitted.model.id,
    price: admitted.model.price,
    reservation,
    rates,
    outbox,
    emit,
    startedMs: admitted.received.settings.clock.monotonicMs(),
    keyId: admitted.key.id,
    group: admitted.key.group,
    attempts: [],
    channel: undefined,
    upstreamModel: undefined,
    firstByteMs: undefined,
    heldNanos: reservation.nanos,
    isClosed: false,
    renewed: undefined,
  };
}

/** Never rejects. A call whose record can't be made still has its hold ended, and an event. */
async function closeOnce(state: SettlementState, callEnd: CallEnd): Promise<void> {
  if (state.isClosed) return;
  state.isClosed = true;
  state.onClose();
  const { renewed, reservation, outbox, admitted } = state;
  const { call, received } = admitted;
  const { settings, ports, responseContext, emit } = received;
  const { requestId } = responseContext;
  try {
    const rule = settings.chargePolicy[callEnd.ending][call.operation.chargedAs[call.framing]];
    const charge = reportedCharge(state, rule, callEnd);
    const durationMs = settings.clock.monotonicMs() - state.startedMs;
    const outcome = { callEnd, rule, charge, durationMs };
    if (state.rates !== undefined) correctRates(state.rates, state, outcome);
    const end = holdEnd(reservation, rule, charge);
    const delivery: Delivery = { requestId, end, quota: settings.quota, ports, emit };
    if (rule === 'pend') {
      const record = recordOf(state, outcome, false);
      // The record is written first. If the process died between the two steps, a long hold would
      // be left that no record names.
      await outbox.log(record, settings.usage, ports);
      // A renewal that arrives after the long lease would replace it with a short one.
      if (renewed !== undefined) await renewed;
      await outbox.deliver(delivery);
      return reportEnd(record, callEnd, received);
    }
    // The store is asked first, and the record waits for it: a host's sink and listener must not
    // run before the end of a reply.
    const record = recordOf(state, outcome, await outbox.deliver(delivery));
    if (!record.booked) delivery.onLateDelivery = () => recordLateBooking(state, record);
    await outbox.log(record, settings.usage, ports);
    reportEnd(record, callEnd, received);
  } catch (error) {
    reportBug(error, requestId, emit);
  }
}

/** The store has taken a charge late: a second revision of the record says so. */
async function recordLateBooking(
  { outbox, emit, admitted: { received } }: SettlementDeps,
  unbooked: UsageRecord,
): Promise<void> {
  const { settings, ports } = received;
  const record = { ...unbooked, booked: true, revision: unbooked.revision + 1 };
  await outbox.log(record, settings.usage, ports);
  emit({ type: 'call_booked', record });
}

function holdEnd(reservation: Reservation, rule: ChargeRule, charge: Charge): HoldEnd {
  const { id, partition } = reservation;
  if (rule === 'pend') {
    return { operation: 'extend', input: { id, partition, ttlMs: inDoubtLeaseMs, idle: true } };
  }
  const lines: QuotaLine[] = [];
  for (const { subject, period, amount } of reservation.lines) {
    // A line that only counts calls holds no money and is charged nothing.
    lines.push({ subject, period, amount: amount === reservation.nanos ? charge.nanos : 0n });
  }
  return rule === 'release'
    ? { operation: 'release', input: { id, partition, lines } }
    : { operation: 'settle', input: { id, partition, lines, basis: charge.basis } };
}

interface Outcome extends ChargedEnd {
  readonly durationMs: number;
}

function recordOf(state: SettlementState, outcome: Outcome, booked: boolean): UsageRecord {
  const { callEnd: end, rule, charge, durationMs } = outcome;
  const { admitted, reservation, channel, heldNanos } = state;
  const { call, metadata, startedAtMs, received } = admitted;
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
