/**
 * Ends a call exactly once, on every path: computes the charge by the policy, settles or releases
 * the hold, and writes one record to the usage log.
 */
import type { CallEnding, ChargeRule } from '../charge-policy.ts';
import type { EventListener, HoldEnd } from '../events.ts';
import type { Nanos } from '../money.ts';
import type { Channel } from '../ports/catalog.ts';
import type { CallAttempt, CallOutcome, UsageRecord } from '../ports/usage-sink.ts';
import type { Admitted } from './call-record.ts';
import { type Charge, chargeFor, costFor, costNanosOf, mostNanos, withCounted } from './charge.ts';
import type { Delivery, Outbox } from './outbox.ts';
import type { CallEnd, Reservation, Settlement } from './settlement.ts';

/** Dependencies of a settlement. */
export interface SettlementDeps {
  readonly admitted: Admitted;
  readonly reservation: Reservation;
  readonly outbox: Outbox;
  readonly emit: EventListener;
}

/** The lease of a call in doubt, during which the host may find out what became of an image. */
const pendMs = 900_000;

/** The state of a call's settlement. */
interface SettlementState extends SettlementDeps {
  readonly startedMs: number;
  attempts: readonly CallAttempt[];
  channel: Channel | undefined;
  firstByteMs: number | undefined;
  heldNanos: Nanos;
  isClosed: boolean;
  renewed: Promise<void> | undefined;
}

/** Makes the settlement of a hold. */
export function settlementOf(ground: SettlementDeps): Settlement {
  const { reservation, admitted, outbox, emit } = ground;
  const { settings, answer } = admitted.received;
  const course: SettlementState = {
    admitted,
    reservation,
    outbox,
    emit,
    startedMs: settings.clock.monotonicMs(),
    attempts: [],
    channel: undefined,
    firstByteMs: undefined,
    heldNanos: reservation.nanos,
    isClosed: false,
    renewed: undefined,
  };
  return {
    requestId: answer.requestId,
    reservation,
    quota: settings.quota,
    isOpen: () => !course.isClosed,
    tried: (tried, attempt) => {
      course.channel = tried;
      course.attempts = course.attempts.length === 0 ? [attempt] : [...course.attempts, attempt];
    },
    answered: () => {
      course.firstByteMs ??= settings.clock.monotonicMs() - course.startedMs;
    },
    heldNanos: () => course.heldNanos,
    observedNanos: (usage, countedTokens) =>
      usage === undefined
        ? mostNanos(course, countedTokens)
        : costFor(withCounted(usage, countedTokens, course), course),
    grown: (nanos) => {
      course.heldNanos += nanos;
    },
    renewing: (renewal) => {
      course.renewed = course.renewed?.then(() => renewal) ?? renewal;
    },
    close: (end) => closeOnce(course, end),
  };
}

/** Never rejects, because the code that ends a reply can't handle an error. */
async function closeOnce(course: SettlementState, callEnd: CallEnd): Promise<void> {
  if (course.isClosed) return;
  course.isClosed = true;
  const { renewed, reservation, outbox, emit, admitted } = course;
  const { call, received } = admitted;
  const { settings, guard, answer } = received;
  const { requestId } = answer;
  const rule = settings.chargePolicy[callEnd.ending][call.operation.chargedAs(call.framing)];
  const charge = chargeFor(course, rule, callEnd);
  reportAnomalies(charge, course);
  const durationMs = settings.clock.monotonicMs() - course.startedMs;
  const recordOnce = (booked: boolean): UsageRecord =>
    recordOf(course, { callEnd, rule, charge, durationMs, booked });
  const end = holdEnd(reservation, rule, charge);
  const delivery: Delivery = { requestId, end, quota: settings.quota, guard };
  if (rule === 'pend') {
    const record = recordOnce(false);
    // The record is written first. If the process died between the two steps, a long hold would be
    // left that no record names.
    await outbox.log(record, settings.usage, guard);
    // A renewal that arrives after the long lease would replace it with a short one.
    if (renewed !== undefined) await renewed;
    await outbox.deliver(delivery);
    return emit({ type: 'call_ended', record });
  }
  // The store is asked first, and the record waits for it: a host's sink and listener must not run
  // before the end of a reply.
  const record = recordOnce(await outbox.deliver(delivery));
  if (!record.booked) delivery.landed = () => bookLate(course, record);
  await outbox.log(record, settings.usage, guard);
  emit({ type: 'call_ended', record });
}

/**
 * The store has taken a charge that it could not take at first; a second revision of the record
 * says so.
 */
async function bookLate(
  { outbox, emit, admitted: { received } }: SettlementDeps,
  unbooked: UsageRecord,
): Promise<void> {
  const { settings, guard } = received;
  const record = { ...unbooked, booked: true, revision: unbooked.revision + 1 };
  await outbox.log(record, settings.usage, guard);
  emit({ type: 'call_booked', record });
}

function reportAnomalies({ anomaly, aboveHold }: Charge, course: SettlementState): void {
  const { emit, heldNanos, admitted } = course;
  const { requestId } = admitted.received.answer;
  if (anomaly !== undefined) emit({ type: 'usage_anomaly', requestId, reason: anomaly });
  if (aboveHold === undefined) return;
  const figures = { heldNanos, usageNanos: aboveHold };
  emit({ type: 'usage_anomaly', requestId, reason: 'above_hold', ...figures });
}

function holdEnd(reservation: Reservation, rule: ChargeRule, charge: Charge): HoldEnd {
  const { id, partition } = reservation;
  if (rule === 'pend') {
    return { operation: 'extend', input: { id, partition, ttlMs: pendMs, idle: true } };
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

function recordOf(course: SettlementState, outcome: Outcome): UsageRecord {
  const { callEnd: end, rule, charge, durationMs, booked } = outcome;
  const { admitted, reservation, channel, heldNanos } = course;
  const { call, key, model, startedAtMs, received } = admitted;
  return {
    booked,
    revision: 1,
    requestId: received.answer.requestId,
    reservationId: reservation.id,
    partition: reservation.partition,
    lines: reservation.lines.map(({ subject, period, amount }) => ({
      subject,
      period,
      heldNanos: amount === reservation.nanos ? heldNanos : 0n,
    })),
    keyId: key.id,
    group: key.group,
    metadata: key.metadata,
    protocol: call.protocol,
    streamed: call.framing !== 'json',
    modelId: model.id,
    channelId: channel?.id,
    upstreamModel: channel === undefined ? undefined : (channel.upstreamModel ?? model.id),
    attempts: course.attempts,
    startedAtMs,
    durationMs,
    firstByteMs: course.firstByteMs,
    status: end.status,
    outcome: outcomeOf(end.ending, rule),
    reason: end.reason,
    usage: end.usage,
    basis: charge.basis,
    heldNanos,
    chargeNanos: charge.nanos,
    costNanos: costNanosOf(course, rule, charge),
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
