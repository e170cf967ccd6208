/**
 * Ends a call exactly once, whichever way it went: works out the charge by the policy, settles or
 * releases the hold, and writes the one line of the usage log.
 */
import type { Call } from '../call.ts';
import type { ChargeRule, Ending, ReplyKind } from '../charge-policy.ts';
import type { EventListener, HoldEnd } from '../events.ts';
import { costOf, type Nanos, type Usage } from '../money.ts';
import type { Settings } from '../options.ts';
import type { Channel, Model } from '../ports/catalog.ts';
import type { ApiKey } from '../ports/key-store.ts';
import type { ChargeBasis, QuotaStore } from '../ports/quota-store.ts';
import type { Attempt, CallOutcome, UsageRecord } from '../ports/usage-sink.ts';
import type { Hold } from './hold.ts';
import type { Outbox } from './outbox.ts';
import type { PortGuard } from './port-guard.ts';
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
  readonly requestId: string;
  readonly call: Call;
  readonly key: ApiKey;
  readonly model: Model;
  readonly hold: Hold;
  readonly reservation: Reservation;
  readonly startedAtMs: number;
  readonly settings: Settings;
  readonly guard: PortGuard;
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

/** The settlement of a hold that stands. */
export function settlementOf(ground: SettlementGround): Settlement {
  const { call, model, hold, reservation, settings, requestId } = ground;
  const attempts: Attempt[] = [];
  const startedMs = settings.clock.monotonicMs();
  let channel: Channel | undefined;
  let firstByteMs: number | undefined;
  let heldNanos = reservation.nanos;
  let closed = false;
  let renewed: Promise<void> = Promise.resolve();

  const cost = (usage: Usage): Nanos => costOf(priced(usage, call), model.price, hold.unitNanos);

  /** From what was forwarded: never more than the hold, which covers the whole call. */
  const counted = (countedTokens: number): Nanos => {
    const nanos = cost({
      inputTokens: hold.inputTokens,
      cachedInputTokens: 0,
      outputTokens: countedTokens,
      images: call.demand.candidates,
    });
    return nanos < heldNanos ? nanos : heldNanos;
  };

  const chargeFor = (rule: ChargeRule, end: CallEnd): Charge => {
    const free = call.operation === 'count_tokens';
    if (free || rule === 'release' || rule === 'nothing' || rule === 'pend') {
      return { nanos: 0n, basis: 'policy' };
    }
    if (end.usage === undefined) {
      const { countedTokens } = end;
      return {
        nanos: counted(countedTokens ?? 0),
        basis: countedTokens === undefined ? 'estimate' : 'counted',
        ...(rule === 'usage' ? { anomaly: 'missing' } : {}),
      };
    }
    const nanos = cost(end.usage);
    const ceiling = heldNanos * maxOverrun;
    return nanos > ceiling && model.price.per === 'token'
      ? { nanos: ceiling, basis: 'usage', anomaly: 'overrun' }
      : { nanos, basis: 'usage' };
  };

  const holdEnd = (rule: ChargeRule, charge: Charge): HoldEnd => {
    const { id, partition } = reservation;
    const lines = reservation.lines.map((line) => ({
      subject: line.subject,
      period: line.period,
      // A line that only counts calls holds no money and is charged none.
      amount: line.amount === reservation.nanos ? charge.nanos : 0n,
    }));
    switch (rule) {
      case 'release':
        return { operation: 'release', input: { id, partition, lines } };
      case 'pend':
        return { operation: 'extend', input: { id, partition, ttlMs: pendMs } };
      default:
        return { operation: 'settle', input: { id, partition, lines, basis: charge.basis } };
    }
  };

  const recordOf = (end: CallEnd, rule: ChargeRule, charge: Charge): UsageRecord => ({
    requestId,
    reservationId: reservation.id,
    partition: reservation.partition,
    lines: reservation.lines.map(({ subject, period, amount }) => ({
      subject,
      period,
      heldNanos: amount === reservation.nanos ? heldNanos : 0n,
    })),
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
    requestId,
    reservation,
    quota: settings.quota,
    isOpen: () => !closed,
    tried: (tried, attempt) => {
      channel = tried;
      attempts.push(attempt);
    },
    answered: () => {
      firstByteMs ??= settings.clock.monotonicMs() - startedMs;
    },
    heldNanos: () => heldNanos,
    observedNanos: (usage, countedTokens) =>
      usage === undefined ? counted(countedTokens) : cost(usage),
    grown: (nanos) => {
      heldNanos += nanos;
    },
    renewing: (renewal) => {
      renewed = renewed.then(() => renewal);
    },
    close: async (callEnd) => {
      if (closed) return;
      closed = true;
      const rule = settings.chargePolicy[callEnd.ending][replyKind(call)];
      const charge = chargeFor(rule, callEnd);
      if (charge.anomaly !== undefined) {
        ground.emit({ type: 'usage_anomaly', requestId, reason: charge.anomaly });
      }
      const record = recordOf(callEnd, rule, charge);
      const { guard } = ground;
      const end = holdEnd(rule, charge);
      // A short lease that lands behind the long one would take its place.
      if (rule === 'pend') await renewed;
      await ground.outbox.deliver({ requestId, end, quota: settings.quota, guard });
      await ground.outbox.log(record, settings.usage, guard);
      ground.emit({ type: 'call_ended', record });
    },
  };
}

/**
 * The usage as it is charged. An upstream that sends more images than were asked for gives them
 * away; a chat or native reply of a model priced by the image says nothing of images, and counts
 * one for each candidate.
 */
function priced(usage: Usage, { operation, demand }: Call): Usage {
  const images =
    operation === 'images' ? Math.min(usage.images, demand.candidates) : demand.candidates;
  return { ...usage, images };
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
