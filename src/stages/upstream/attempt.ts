/**
 * The record of an attempt on one channel, which grows from stage to stage as the call record does:
 * the channel is chosen, then prepared for and leased, then tried.
 */
import type { EventListener } from '../../events/events.ts';
import { withThrown } from '../../events/thrown.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { HeaderMap } from '../../http.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import type { UpstreamClient } from '../../ports/upstream-client.ts';
import type { ChannelHealth, ChannelLease } from '../../upstream/channel-health.ts';
import type { BudgetedCall, RetryBudget } from '../../upstream/retry-budget.ts';
import type { Held } from '../call-record.ts';
import type { LoopTurn } from '../loop-turn.ts';
import type { ChannelPlan } from '../models/model-plan.ts';
import type { CallerParam, MadeReply, PreparedCall, WholeReply } from '../prepare/prepared-call.ts';
import type { Translations } from '../prepare/translations.ts';
import type { FreeDisconnects } from '../relay/free-disconnects.ts';
import { type Credential, type CredentialFunctions, namedAccount } from './credential.ts';
import type { CallFailure, ErrorRedaction } from './failure.ts';
import type { StreamedReply } from './open-reply.ts';
import type { LatestResponse } from './send-upstream.ts';

/** The objects that all calls of a gateway share on the upstream side. */
export interface Upstreams {
  readonly client: UpstreamClient;
  readonly health: ChannelHealth;
  readonly retries: RetryBudget;
  readonly freeDisconnects: FreeDisconnects;
  /** What is known of the functions that return the secrets of channels. */
  readonly credentialFunctions: CredentialFunctions;
  readonly endOfReplyTurn: LoopTurn;
  /** What arrived of all streams in one turn is written together. */
  readonly endOfStreamTurn: LoopTurn;
  readonly emit: EventListener;
  /** Reports, once for each channel, that it answers in another format than requested. */
  readonly reportRepair: (channelId: string) => void;
  readonly translations: Pick<Translations, 'load' | 'loaded'>;
}

/** A channel that was chosen for a call, and the account on it. */
export interface Chosen {
  readonly held: Held;
  readonly channelPlan: ChannelPlan;
  /** What the channel's function returned; undefined for a channel with a secret. */
  readonly credential: Credential | undefined;
}

/** The channel is in use by the attempt, for which the call was prepared. */
export interface Leased extends Chosen {
  readonly prepared: PreparedCall;
  readonly lease: ChannelLease;
  /** The time left until the first byte must arrive, in ms. */
  readonly firstByteMs: number;
  /** A trial after a timeout that is cut short, because another channel is left to try. */
  readonly isTrial: boolean;
  /** The secret is a new one, after the upstream refused another. */
  readonly isRenewed: boolean;
  readonly budget: BudgetedCall;
}

/** An attempt that has started. */
export interface Attempt {
  readonly leased: Leased;
  readonly latestResponse: LatestResponse;
  readonly report: AttemptReport;
}

/** How an attempt ended. */
export interface AttemptEnd {
  /** The HTTP status that the upstream sent; undefined if none arrived. */
  readonly status: number | undefined;
  /** Undefined if it gave the reply. */
  readonly reason: FailureReason | undefined;
  readonly mayHaveRun: boolean;
}

/** Reports the progress of an attempt, each event at most once and only if somebody wants it. */
export class AttemptReport {
  readonly #leased: Leased;
  /** As they were at the beginning: a host may change the record of a model. */
  readonly #members: ReturnType<typeof membersOf>;
  #hasFirstByte = false;
  #isOver = false;

  /** Emits `attempt_started`. */
  constructor(leased: Leased) {
    const { held, channelPlan, lease } = leased;
    this.#leased = leased;
    this.#members = membersOf(leased);
    const type = 'attempt_started';
    const { emit } = held.admitted.received;
    if (!emit.wants({ type })) return;
    const { dialect } = channelPlan.channel;
    const afterMs = lease.startedMs - held.settlement.startedMs;
    emit({ type, ...this.#members, dialect, afterMs });
  }

  /** Whether somebody is waiting for the first part of the reply with content. */
  awaitsContent(): boolean {
    return !this.#hasFirstByte && this.#leased.held.admitted.received.emit.wants(firstByte);
  }

  firstByte(): void {
    if (this.#isOver || !this.awaitsContent()) return;
    this.#hasFirstByte = true;
    const { emit } = this.#leased.held.admitted.received;
    emit({ ...firstByte, ...this.#members, afterMs: this.#afterMs() });
  }

  /** The attempt is over, perhaps because `thrown`. */
  ended(end: AttemptEnd, thrown?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { held, lease, credential } = this.#leased;
    const { emit, settings } = held.admitted.received;
    const type = 'attempt_ended';
    const { reason } = end;
    const isOfUser = reason !== undefined && namedAccount(credential) !== undefined;
    if (!emit.wants({ type, reason, isOfUser })) return;
    const durationMs = settings.clock.monotonicMs() - lease.startedMs;
    emit(withThrown({ type, ...this.#members, ...end, durationMs }, thrown));
  }

  /** One of several requests failed, and is sent again. */
  partFailed(status: number | undefined, reason: FailureReason): void {
    const type = 'part_failed';
    const { emit } = this.#leased.held.admitted.received;
    if (this.#isOver || !emit.wants({ type, reason })) return;
    emit({ type, ...this.#members, afterMs: this.#afterMs(), status, reason });
  }

  #afterMs(): number {
    const { settlement, admitted } = this.#leased.held;
    return admitted.received.settings.clock.monotonicMs() - settlement.startedMs;
  }
}

/** The members that all events of the attempt have. */
function membersOf({ held, channelPlan, credential }: Leased) {
  const { admitted, settlement } = held;
  return {
    requestId: admitted.received.responseContext.requestId,
    reservationId: settlement.reservation.id,
    attempt: settlement.attempts.length + 1,
    modelId: admitted.model.id,
    channelId: channelPlan.channel.id,
    upstreamModel: channelPlan.upstreamModel,
    account: shownAccount(channelPlan.channel, credential),
  };
}

const firstByte = { type: 'first_byte' } as const;

/** Undefined if the channel's function failed, because it may have meant any account. */
function shownAccount({ account }: Channel, credential: Credential | undefined) {
  if (credential === undefined) return account;
  return credential.kind === 'secret' ? (namedAccount(credential) ?? account) : undefined;
}

/** A reply that may go to the caller. */
export type OpenedReply = WholeReply | MadeReply | StreamedReply;

/** A reply of an upstream, and what the relay needs to know about its origin. */
export interface UpstreamReply {
  readonly reply: OpenedReply;
  readonly redaction: ErrorRedaction;
  readonly callerParam?: CallerParam | undefined;
  /** Headers with notes for the caller about a translated call. */
  readonly notes: HeaderMap;
  /** The channel, in use until the reply is over; undefined if no upstream was called. */
  readonly lease: ChannelLease | undefined;
  /** The HTTP status of the upstream; undefined if no upstream was called. */
  readonly status: number | undefined;
  /** Of the attempt that gave the reply; undefined if no upstream was called. */
  readonly report?: AttemptReport | undefined;
  /** The account that served it; only set if later requests may refer to the reply. */
  readonly account?: string | undefined;
}

/** A reply, or the reason why there is none. */
export type UpstreamOutcome = UpstreamReply | { readonly failure: CallFailure };
