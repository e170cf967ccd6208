/**
 * Ends a call exactly once, whichever way it went: works out the charge by the policy, settles or
 * releases the hold, and writes the one line of the usage log.
 */
import type { Call } from '../call.ts';
import type { ChargeRule, Ending, ReplyKind } from '../charge-policy.ts';
import type { EventListener } from '../events.ts';
import { costOf, type Nanos, type Usage } from '../money.ts';
import type { Settings } from '../options.ts';
import type { Channel, Model } from '../ports/catalog.ts';
import type { ApiKey } from '../ports/key-store.ts';
import type { ChargeBasis } from '../ports/quota-store.ts';
import type { Attempt, CallOutcome, UsageRecord } from '../ports/usage-sink.ts';
import type { Hold } from './hold.ts';
import type { Outbox } from './outbox.ts';
import type { Reservation } from './reserve.ts';

/** What is known when a call is over. */
export interface CallEnd {
  readonly ending: Ending;
  /** What the caller was answered with; 499 where it had gone. */
  readonly status: number;
  readonly reason?: string | undefined;
  readonly usage?: Usage | undefined;
  /** What was forwarded, in tokens, where the upstream gave no figures. */
  readonly countedTokens?: number;
}

/** The owner of a hold. */
export interface Settlement {
  readonly reservation: Reservation;
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
  /**
   * Ends the call; every later call of this does nothing. Resolves when the record is written.
   * Never rejects.
   */
  close(end: CallEnd): Promise<void>;
}

/** Everything about a call that its end needs. */
export interface SettlementGround {
  readonly requestId: string;
  readonly call: Call;
  readonly key: ApiKey;
  readonly model: Model;
  readonly hold: Hold;
  readonly reservation: Reservation;
  readonly startedAtMs: number;
  readonly settings: Settings;
  readonly outbox: Outbox;
  readonly emit: EventListener;
}

interface Charge {
  readonly nanos: Nanos;
  readonly basis: ChargeBasis;
  readonly anomaly?: string;
}

/** A charge above this many holds is a mistake of somebody: it is cut, and reported. */
const maxOverrun = 2n;
/** One long lease for the host to find out what became of an image. */
const pendMs = 900_000;

export function settlementOf(ground: SettlementGround): Settlement {
  const { call, model, hold, reservation, settings, requestId } = ground;
  const attempts: Attempt[] = [];
  const startedMs = settings.clock.monotonicMs();
  let channel: Channel | undefined;
  let firstByteMs: number | undefined;
  let heldNanos = reservation.nanos;
  let closed = false;

  const cost = (usage: Usage): Nanos => costOf(limited(usage, call), model.price, hold.unitNanos);

  /** From what was forwarded: never more than the hold, which covers the whole call. */
  const counted = (countedTokens: number): Charge => {
    const images = call.operation === 'images' ? call.demand.candidates : 0;
    const nanos = cost({
      inputTokens: hold.inputTokens,
      cachedInputTokens: 0,
      outputTokens: countedTokens,
      images,
    });
    return { nanos: nanos < heldNanos ? nanos : heldNanos, basis: 'counted' };
  };

  const chargeFor = (rule: ChargeRule, end: CallEnd): Charge => {
    const free = call.operation === 'count_tokens';
    if (free || rule === 'release' || rule === 'nothing' || rule === 'pend') {
      return { nanos: 0n, basis: 'policy' };
    }
    if (end.usage === undefined) {
      const anomaly = rule === 'usage' ? { anomaly: 'missing' } : {};
      return { ...counted(end.countedTokens ?? 0), ...anomaly };
    }
    const nanos = cost(end.usage);
    const ceiling = heldNanos * maxOverrun;
    return nanos > ceiling && model.price.per === 'token'
      ? { nanos: ceiling, basis: 'usage', anomaly: 'overrun' }
      : { nanos, basis: 'usage' };
  };

  const resolveHold = async (rule: ChargeRule, charge: Charge): Promise<void> => {
    const { id, partition } = reservation;
    const lines = reservation.lines.map((line) => ({
      subject: line.subject,
      period: line.period,
      // A line that only counts calls holds no money and is charged none.
      amount: line.amount === reservation.nanos ? charge.nanos : 0n,
    }));
    if (rule === 'release') {
      return ground.outbox.deliver('release', () =>
        settings.quota.release({ id, partition, lines }),
      );
    }
    if (rule === 'pend') {
      return ground.outbox.deliver('extend', () =>
        settings.quota.extend([{ id, partition, ttlMs: pendMs }]),
      );
    }
    return ground.outbox.deliver('settle', () =>
      settings.quota.settle({ id, partition, lines, basis: charge.basis }),
    );
  };

  const recordOf = (end: CallEnd, rule: ChargeRule, charge: Charge): UsageRecord => ({
    requestId,
    reservationId: reservation.id,
    keyId: ground.key.id,
    group: ground.key.group,
    metadata: ground.key.metadata,
    protocol: call.protocol,
    streamed: call.framing !== 'json',
    modelId: model.id,
    channelId: channel?.id,
    upstreamModel: channel === undefined ? undefined : (channel.upstreamModel ?? model.id),
    attempts,
    startedAtMs: ground.startedAtMs,
    durationMs: settings.clock.monotonicMs() - startedMs,
    firstByteMs,
    status: end.status,
    outcome: outcomeOf(end.ending, rule),
    reason: end.reason,
    usage: end.usage,
    basis: charge.basis,
    heldNanos,
    chargeNanos: charge.nanos,
    price: model.price,
  });

  return {
    reservation,
    tried: (tried, attempt) => {
      channel = tried;
      attempts.push(attempt);
    },
    answered: () => {
      firstByteMs ??= settings.clock.monotonicMs() - startedMs;
    },
    heldNanos: () => heldNanos,
    observedNanos: (usage, countedTokens) =>
      usage === undefined ? counted(countedTokens).nanos : cost(usage),
    grown: (nanos) => {
      heldNanos += nanos;
    },
    close: async (end) => {
      if (closed) return;
      closed = true;
      const rule = settings.chargePolicy[end.ending][replyKind(call)];
      const charge = chargeFor(rule, end);
      if (charge.anomaly !== undefined) {
        ground.emit({ type: 'usage_anomaly', requestId, reason: charge.anomaly });
      }
      const record = recordOf(end, rule, charge);
      await resolveHold(rule, charge);
      await ground.outbox.log(record, settings.usage);
      ground.emit({ type: 'call_ended', record });
    },
  };
}

/** An upstream that sends more images than were asked for gives them away. */
function limited(usage: Usage, call: Call): Usage {
  return call.operation === 'images' && usage.images > call.demand.candidates
    ? { ...usage, images: call.demand.candidates }
    : usage;
}

function replyKind(call: Call): ReplyKind {
  if (call.operation === 'images') return 'image';
  return call.framing === 'json' ? 'whole' : 'streamed';
}

function outcomeOf(ending: Ending, rule: ChargeRule): CallOutcome {
  if (rule === 'pend') return 'unknown';
  switch (ending) {
    case 'failed':
    case 'left_early':
      return 'unknown';
    case 'left':
      return 'caller_left';
    default:
      return ending;
  }
}
