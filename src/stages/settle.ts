/**
 * Ends a call exactly once, whichever way it went: works out the charge by the policy, settles or
 * releases the hold, and writes the one line of the usage log.
 */
import type { Call } from '../call.ts';
import type { ChargeRule, Ending } from '../charge-policy.ts';
import { imageTokens } from '../dialects/content-count.ts';
import type { EventListener, HoldEnd } from '../events.ts';
import { costOf, type Nanos, type Usage } from '../money.ts';
import type { Channel } from '../ports/catalog.ts';
import type { ChargeBasis, QuotaStore } from '../ports/quota-store.ts';
import type { Attempt, CallOutcome, UsageRecord } from '../ports/usage-sink.ts';
import type { Admitted } from './call-record.ts';
import { estimatedPrompt } from './estimated-prompt.ts';
import { predictedTokens } from './hold.ts';
import type { Delivery, Outbox } from './outbox.ts';
import type { Reservation } from './reserve.ts';

/** What is known when a call is over. */
export interface CallEnd {
  readonly ending: Ending;
  /** What the caller was answered with; 499 where it had gone. */
  readonly status: number;
  readonly reason?: string | undefined;
  readonly usage?: Usage | undefined;
  /** What was forwarded, in tokens; left out where nothing was. */
  readonly countedTokens?: number | undefined;
}

/** The owner of a hold. */
export interface Settlement {
  readonly requestId: string;
  readonly reservation: Reservation;
  /** The store that has the hold. */
  readonly quota: QuotaStore;
  /** Not closed yet: its lease is to be kept alive. */
  isOpen(): boolean;
  /** Notes a try on a channel for the record. */
  tried(channel: Channel, attempt: Attempt): void;
  /** Notes the first byte for the caller. */
  answered(): void;
  /** The hold as it stands, with what it grew by. */
  heldNanos(): Nanos;
  /** What the reply so far would cost. */
  observedNanos(usage: Usage | undefined, countedTokens: number): Nanos;
  /** A hold that grew while its stream ran. */
  grown(nanos: Nanos): void;
  /** A renewal of the lease is under way; it never rejects. */
  renewing(renewal: Promise<void>): void;
  /**
   * Ends the call; every later call of this does nothing. Resolves when the record is written.
   * Never rejects.
   */
  close(end: CallEnd): Promise<void>;
}

/** Everything about a call that its end needs. */
export interface SettlementGround {
  readonly admitted: Admitted;
  readonly reservation: Reservation;
  readonly outbox: Outbox;
  readonly emit: EventListener;
}

interface Charge {
  readonly nanos: Nanos;
  readonly basis: ChargeBasis;
  readonly anomaly: 'missing' | 'above_maximum' | undefined;
  /** What the usage costs, where that is more than was held. */
  readonly aboveHold: Nanos | undefined;
}

/** No model's context is larger: more input than this is a mistake of the upstream. */
const mostContextTokens = 2_000_000;
/** One long lease for the host to find out what became of an image. */
const pendMs = 900_000;

/** What a call has come to so far. */
interface Course {
  readonly ground: SettlementGround;
  readonly startedMs: number;
  attempts: readonly Attempt[];
  channel: Channel | undefined;
  firstByteMs: number | undefined;
  heldNanos: Nanos;
  isClosed: boolean;
  renewed: Promise<void> | undefined;
}

/** The settlement of a hold that stands. */
export function settlementOf(ground: SettlementGround): Settlement {
  const { reservation, admitted } = ground;
  const { settings, answer } = admitted.received;
  const course: Course = {
    ground,
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
        ? countedNanos(course, countedTokens)
        : costFor(withCounted(usage, countedTokens, ground), ground),
    grown: (nanos) => {
      course.heldNanos += nanos;
    },
    renewing: (renewal) => {
      course.renewed = course.renewed?.then(() => renewal) ?? renewal;
    },
    close: (end) => closeOnce(course, end),
  };
}

/** A promise whatever happens: whoever ends a reply can't be thrown at. */
async function closeOnce(course: Course, callEnd: CallEnd): Promise<void> {
  if (course.isClosed) return;
  course.isClosed = true;
  const { ground, renewed } = course;
  const { outbox, emit, admitted } = ground;
  const { call, received } = admitted;
  const { settings, guard, answer } = received;
  const { requestId } = answer;
  const rule = settings.chargePolicy[callEnd.ending][call.operation.chargedAs(call.framing)];
  const charge = chargeFor(course, rule, callEnd);
  reportAnomalies(charge, course);
  const durationMs = settings.clock.monotonicMs() - course.startedMs;
  const recordOnce = (booked: boolean): UsageRecord =>
    recordOf(course, { callEnd, rule, charge, durationMs, booked });
  const end = holdEnd(ground.reservation, rule, charge);
  const delivery: Delivery = { requestId, end, quota: settings.quota, guard };
  if (rule === 'pend') {
    const record = recordOnce(false);
    // The record first: a process that dies between the two must not leave a long hold that no
    // record names.
    await outbox.log(record, settings.usage, guard);
    // A short lease that lands behind the long one would take its place.
    if (renewed !== undefined) await renewed;
    await outbox.deliver(delivery);
    return emit({ type: 'call_ended', record });
  }
  // The store is asked at once; the record waits for it, for a host's sink and listener must not
  // come before the end of a reply.
  const record = recordOnce(await outbox.deliver(delivery));
  if (!record.booked) delivery.landed = () => bookLate(ground, record);
  await outbox.log(record, settings.usage, guard);
  emit({ type: 'call_ended', record });
}

/** The store has taken a charge that it could not take at first: the log says so, too. */
async function bookLate(
  { outbox, emit, admitted: { received } }: SettlementGround,
  unbooked: UsageRecord,
): Promise<void> {
  const { settings, guard } = received;
  const record = { ...unbooked, booked: true, revision: unbooked.revision + 1 };
  await outbox.log(record, settings.usage, guard);
  emit({ type: 'call_booked', record });
}

function reportAnomalies({ anomaly, aboveHold }: Charge, { ground, heldNanos }: Course): void {
  const { emit, admitted } = ground;
  const { requestId } = admitted.received.answer;
  if (anomaly !== undefined) emit({ type: 'usage_anomaly', requestId, reason: anomaly });
  if (aboveHold === undefined) return;
  const figures = { heldNanos, usageNanos: aboveHold };
  emit({ type: 'usage_anomaly', requestId, reason: 'above_hold', ...figures });
}

function costFor(usage: Usage, { admitted: { model, hold } }: SettlementGround): Nanos {
  return costOf(usage, model.price, hold.unitNanos);
}

/** From what was forwarded: never more than the hold, which covers the whole call. */
function countedNanos({ ground, heldNanos }: Course, countedTokens: number): Nanos {
  const { call, model, hold } = ground.admitted;
  const usage = {
    inputTokens: estimatedPrompt(call, model, hold),
    cachedInputTokens: 0,
    outputTokens: countedTokens,
    images: call.demand.candidates,
  };
  const nanos = costFor(usage, ground);
  return nanos < heldNanos ? nanos : heldNanos;
}

function chargeFor(course: Course, rule: ChargeRule, callEnd: CallEnd): Charge {
  const { call, model } = course.ground.admitted;
  const { usage, countedTokens } = callEnd;
  if (call.operation.isFree || rule === 'release' || rule === 'nothing' || rule === 'pend') {
    return { nanos: 0n, basis: 'policy', anomaly: undefined, aboveHold: undefined };
  }
  if (rule === 'prompt') {
    // An image has no prompt that would be priced.
    const nanos = model.price.per === 'token' ? countedNanos(course, 0) : 0n;
    return { nanos, basis: 'estimate', anomaly: undefined, aboveHold: undefined };
  }
  if (usage === undefined) {
    return {
      nanos: countedNanos(course, countedTokens ?? 0),
      basis: countedTokens === undefined ? 'estimate' : 'counted',
      anomaly: rule === 'usage' ? 'missing' : undefined,
      aboveHold: undefined,
    };
  }
  const possible = possibleUsage(usage, course.ground);
  const filled = withCounted(possible, countedTokens ?? 0, course.ground);
  if (filled !== possible) return filledCharge(course, rule, possible, filled);
  const anomaly = possible === usage ? undefined : 'above_maximum';
  const nanos = costFor(withImagesMade(possible, callEnd, call), course.ground);
  const { heldNanos, channel } = course;
  if (nanos <= heldNanos) return { nanos, basis: 'usage', anomaly, aboveHold: undefined };
  const charged = channel?.usageTrust === 'held' ? heldNanos : nanos;
  return { nanos: charged, basis: 'usage', anomaly, aboveHold: nanos };
}

/**
 * Usage with what its upstream left out of it, or stated as 0 beside an answer that has content:
 * the output is counted, the prompt estimated. The same object where nothing is missing.
 */
function withCounted(usage: Usage, counted: number, ground: SettlementGround): Usage {
  const { call, model, hold } = ground.admitted;
  if (model.price.per !== 'token') return usage;
  const contentTokens = call.operation.makesImages ? usage.images * imageTokens : counted;
  const outputTokens = usage.outputTokens === 0 ? contentTokens : usage.outputTokens;
  // Without an answer nothing is missing: a blocked prompt costs nothing.
  if (outputTokens === 0 || (usage.inputTokens > 0 && usage.outputTokens > 0)) return usage;
  const inputTokens = usage.inputTokens || estimatedPrompt(call, model, hold);
  const isWhole = inputTokens === usage.inputTokens && outputTokens === usage.outputTokens;
  return isWhole ? usage : { ...usage, inputTokens, outputTokens };
}

/** What is counted or estimated in place of missing usage is charged up to the hold at most. */
function filledCharge(course: Course, rule: ChargeRule, stated: Usage, filled: Usage): Charge {
  const { ground, heldNanos, channel } = course;
  const statedNanos = costFor(stated, ground);
  const isAbove = statedNanos > heldNanos;
  const most = isAbove && channel?.usageTrust !== 'held' ? statedNanos : heldNanos;
  const nanos = costFor(filled, ground);
  return {
    nanos: nanos < most ? nanos : most,
    basis: filled.outputTokens === stated.outputTokens ? 'estimate' : 'counted',
    anomaly: rule === 'usage' ? 'missing' : undefined,
    aboveHold: isAbove ? statedNanos : undefined,
  };
}

/** What the model can use at most, where an upstream reports more. */
function possibleUsage(usage: Usage, { admitted: { call, model } }: SettlementGround): Usage {
  const mostInput = model.contextTokens ?? mostContextTokens;
  const mostOutput =
    call.demand.candidates * (model.maxOutputTokens ?? mostInput) + predictedTokens(call, model);
  if (usage.inputTokens <= mostInput && usage.outputTokens <= mostOutput) return usage;
  const inputTokens = Math.min(usage.inputTokens, mostInput);
  return {
    ...usage,
    inputTokens,
    cachedInputTokens: Math.min(usage.cachedInputTokens, inputTokens),
    outputTokens: Math.min(usage.outputTokens, mostOutput),
  };
}

function holdEnd(reservation: Reservation, rule: ChargeRule, charge: Charge): HoldEnd {
  const { id, partition } = reservation;
  if (rule === 'pend') {
    return { operation: 'extend', input: { id, partition, ttlMs: pendMs, idle: true } };
  }
  const lines = reservation.lines.map(({ subject, period, amount }) => ({
    subject,
    period,
    // A line that only counts calls holds no money and is charged none.
    amount: amount === reservation.nanos ? charge.nanos : 0n,
  }));
  return rule === 'release'
    ? { operation: 'release', input: { id, partition, lines } }
    : { operation: 'settle', input: { id, partition, lines, basis: charge.basis } };
}

/** How a call has ended, in money. */
interface Outcome {
  readonly callEnd: CallEnd;
  readonly rule: ChargeRule;
  readonly charge: Charge;
  readonly durationMs: number;
  readonly booked: boolean;
}

function recordOf(course: Course, outcome: Outcome): UsageRecord {
  const { callEnd: end, rule, charge, durationMs, booked } = outcome;
  const { ground, channel, heldNanos } = course;
  const { admitted, reservation } = ground;
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
    price: model.price,
  };
}

/**
 * A whole reply costs the images that came in it, none and more than were requested included. One
 * that ended before its first image counts those requested: they may have been made.
 */
function withImagesMade(usage: Usage, { ending }: CallEnd, { demand }: Call): Usage {
  if (ending === 'complete' || usage.images > 0) return usage;
  const { inputTokens, cachedInputTokens, outputTokens } = usage;
  return { inputTokens, cachedInputTokens, outputTokens, images: demand.candidates };
}

function outcomeOf(ending: Ending, rule: ChargeRule): CallOutcome {
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
