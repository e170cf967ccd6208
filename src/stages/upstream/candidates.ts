/**
 * The channels that one call may use: chosen, prepared for and leased, one after the other. If none
 * is left: 503; 429 if the only one is rate limited and another call is trying it; 404 if the
 * upstreams do not know the model.
 */
import type { PromptSize } from '../../call.ts';
import { GatewayError, isGatewayError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import type { Choice } from '../../upstream/choose.ts';
import { noSignal } from '../../upstream/record-health.ts';
import type { BudgetedCall } from '../../upstream/retry-budget.ts';
import type { Admitted, Held } from '../call-record.ts';
import type { ChannelPlan } from '../models/model-plan.ts';
import { Preparer } from '../prepare/prepare.ts';
import type { Prepared, PreparedCall, WholeReply } from '../prepare/prepared-call.ts';
import { coverPrompt } from '../settle/cover-prompt.ts';
import type { Chosen, Leased, UpstreamReply, Upstreams } from './attempt.ts';
import { choose, chooseByReferences } from './choose-channel.ts';
import {
  accountFor,
  askCredential,
  type CallCredentials,
  type CredentialFunction,
} from './credential.ts';
import {
  type CallFailure,
  type ErrorRedaction,
  errorText,
  possibleRuns,
  refusedByGateway,
} from './failure.ts';
import { unknownModelMessage } from './failure-table.ts';

/** The next channel, leased; the reply of a call that needs none; or the end of the attempts. */
export type Candidate = Leased | UpstreamReply | 'give_up';

/** Another channel is tried only if this share of the time for a first byte is left. */
const minShareLeft = 1 / 3;

export class Candidates {
  readonly #held: Held;
  readonly #upstreams: Upstreams;
  readonly #budget: BudgetedCall;
  readonly #startedMs: number;
  readonly #preparer: Preparer;
  /** The ids of channels that were tried, or can't serve the call. */
  readonly #passed: string[] = [];
  /** Undefined while no chosen channel has a function as its credential. */
  #credentials: CallCredentials | undefined;
  /** The first reason for which a channel can't serve the call. */
  #refusal: GatewayError | undefined;
  /** Why no channel was left at the last choice. */
  #none: Extract<Choice, { readonly kind: 'none' }> = { kind: 'none', reason: 'protocol' };

  constructor(held: Held, upstreams: Upstreams, budget: BudgetedCall, startedMs: number) {
    this.#held = held;
    this.#upstreams = upstreams;
    this.#budget = budget;
    this.#startedMs = startedMs;
    this.#preparer = new Preparer(held.admitted, upstreams);
  }

  /**
   * Gives up if no channel is left, if it is too late for another attempt, or if the budget for
   * retries is used up.
   *
   * A channel is leased in the same turn of the event loop in which it was chosen: otherwise two
   * calls could both become the half-open trial of one channel. So after each wait a channel is
   * chosen again.
   */
  next(failures: readonly CallFailure[]): MaybePromise<Candidate> {
    const hasTried = failures.length > 0;
    for (;;) {
      const choice = this.#choose(hasTried);
      if (choice.kind === 'none') {
        this.#none = choice;
        return 'give_up';
      }
      const channelPlan = this.#held.admitted.plan.channel(choice.channel);
      const wait =
        this.#preparer.readAhead(channelPlan) ?? this.#askIfNeeded(channelPlan, hasTried);
      if (wait !== undefined) return this.#useAfter(wait, channelPlan, failures);
      const candidate = this.#use(channelPlan, failures);
      if (candidate !== undefined) return candidate;
    }
  }

  async #useAfter(
    wait: Promise<unknown>,
    channelPlan: ChannelPlan,
    failures: readonly CallFailure[],
  ): Promise<Candidate> {
    const mayUse = (await wait) === true;
    return (mayUse ? this.#use(channelPlan, failures) : undefined) ?? this.next(failures);
  }

  /** Undefined if the channel can't serve the call after all. */
  #use(
    channelPlan: ChannelPlan,
    failures: readonly CallFailure[],
  ): MaybePromise<Candidate> | undefined {
    const { id } = channelPlan.channel;
    this.#passed.push(id);
    const chosen = { held: this.#held, channelPlan, credential: this.#credentials?.get(id) };
    const prepared = this.#prepare(chosen);
    if (prepared === undefined) return undefined;
    if ('kind' in prepared) return answeredLocally(prepared);
    const leftMs = this.#timeLeft(chosen, failures);
    if (leftMs === undefined) return 'give_up';
    const leased = this.#lease(chosen, prepared, leftMs);
    const { prompt } = prepared;
    return prompt === undefined ? leased : this.#covered(leased, prompt, failures);
  }

  async #covered(
    leased: Leased,
    prompt: PromptSize,
    failures: readonly CallFailure[],
  ): Promise<Candidate> {
    const uncovered = await coverPrompt(prompt, this.#held);
    if (uncovered === undefined) return leased;
    leased.lease.end(noSignal);
    this.#refusal ??= uncovered;
    return this.next(failures);
  }

  /** Allows the channel again that was tried last. */
  readmit(): void {
    this.#passed.pop();
  }

  #choose(hasTried: boolean): Choice {
    const { admitted } = this.#held;
    const considered = { passed: this.#passed, hasTried, credentials: this.#credentials };
    return admitted.references === undefined
      ? choose(admitted, considered, this.#upstreams)
      : chooseByReferences(admitted, considered, this.#upstreams);
  }

  /** Undefined if the channel has a secret, or its function was asked. */
  #askIfNeeded(channelPlan: ChannelPlan, hasTried: boolean): Promise<boolean> | undefined {
    const { credential, id } = channelPlan.channel;
    if (typeof credential === 'string' || this.#credentials?.has(id) === true) return undefined;
    return this.#ask(credential, channelPlan, hasTried);
  }

  /**
   * Asks the function of the channel for the account to use. True if the channel can be used in
   * this turn of the event loop; otherwise one is chosen again, now that the health of this account
   * is known.
   */
  async #ask(
    credential: CredentialFunction,
    { channel, timeouts, upstreamModel }: ChannelPlan,
    hasTried: boolean,
  ): Promise<boolean> {
    const { admitted } = this.#held;
    const { health, credentialFunctions } = this.#upstreams;
    const { connectMs } = timeouts;
    this.#credentials ??= new Map();
    const answer = await askCredential(
      channel,
      credential,
      connectMs,
      admitted,
      credentialFunctions,
    );
    this.#credentials.set(channel.id, answer);
    if (answer.kind === 'none') this.#passed.push(channel.id);
    // A channel whose function failed is tried, so that the failure is recorded; nothing is sent.
    if (answer.kind !== 'secret') return answer.kind === 'failed';
    if (admitted.references !== undefined) return false;
    const kind = { isBoughtOnce: admitted.call.operation.isBoughtOnce, hasTried };
    return health.availability(channel, upstreamModel, kind, answer.account).kind === 'available';
  }

  /** Undefined if the channel's upstream does not support the request: the next one's may. */
  #prepare(chosen: Chosen): Prepared | undefined {
    try {
      return this.#preparer.prepare(chosen);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      this.#refusal ??= error;
      return undefined;
    }
  }

  /** The time for the first byte, in ms; undefined if there should be no other attempt. */
  #timeLeft(
    { channelPlan: { timeouts } }: Chosen,
    failures: readonly CallFailure[],
  ): number | undefined {
    const { call, received } = this.#held.admitted;
    const waitMs = call.framing === 'json' ? timeouts.firstByteMs : timeouts.firstByteStreamedMs;
    const leftMs = Math.ceil(waitMs - (received.settings.clock.monotonicMs() - this.#startedMs));
    if (failures.length === 0) return leftMs;
    if (leftMs < waitMs * minShareLeft) return undefined;
    // Only a retry of a call that may have run adds load to the remaining channels, so only such a
    // retry needs the budget.
    return possibleRuns(failures) > 0 && !this.#budget.mayRetry() ? undefined : leftMs;
  }

  #lease(chosen: Chosen, prepared: PreparedCall, leftMs: number): Leased {
    const { held, channelPlan, credential } = chosen;
    const { channel, upstreamModel } = channelPlan;
    const { call, key, model, running } = held.admitted;
    const { health, credentialFunctions } = this.#upstreams;
    // Only a call that has asked a function may use another account than the channel's own.
    const account =
      this.#credentials === undefined
        ? undefined
        : accountFor(channel, key, this.#credentials, credentialFunctions);
    const modelId = model.exactId ?? model.id;
    const requested = { modelId, reply: call.operation.waitsAs[call.framing] };
    const lease = health.begin(channel, upstreamModel, requested, account);
    // The channel is freed when the call is done, whatever its outcome.
    running.onDone(() => lease.end(noSignal));
    const { trialMs = leftMs } = lease;
    // A trial is cut short only if another channel is left to try.
    const isTrial = trialMs < leftMs && this.#choose(true).kind === 'channel';
    const firstByteMs = isTrial ? trialMs : leftMs;
    const budget = this.#budget;
    // Listed, because V8 copies a spread with new members slowly.
    const isRenewed = false;
    return {
      held,
      channelPlan,
      credential,
      prepared,
      lease,
      firstByteMs,
      isTrial,
      isRenewed,
      budget,
    };
  }

  /**
   * The failure of a call that was not sent at all. A refusal is final only if every channel
   * refused the request (`protocol`). Otherwise a channel that supports it may just be unavailable
   * at the moment.
   */
  noneChosen(): CallFailure {
    const { admitted } = this.#held;
    const { emit } = this.#upstreams;
    if (this.#none.reason !== 'protocol') return noChannel(admitted, this.#none, emit);
    if (this.#refusal !== undefined) return refusedByGateway(this.#refusal);
    const hasNoCredential = this.#passed.some((id) => this.#credentials?.get(id)?.kind === 'none');
    const none = hasNoCredential
      ? ({ kind: 'none', reason: 'no_credential' } as const)
      : this.#none;
    return noChannel(admitted, none, emit);
  }

  /** How long until the first channel that may serve the call is available, in ms, if known. */
  soonestAvailableMs(): number | undefined {
    const { call, key, plan, route, received } = this.#held.admitted;
    const { health, credentialFunctions } = this.#upstreams;
    const pool = plan.pool(route.protocol, key.group);
    if (typeof pool === 'string') return undefined;
    const nowMs = received.settings.clock.monotonicMs();
    const kind = { isBoughtOnce: call.operation.isBoughtOnce };
    const availableInMs = (channel: Channel): number => {
      if (this.#credentials?.get(channel.id)?.kind === 'none') return Number.POSITIVE_INFINITY;
      const account = accountFor(channel, key, this.#credentials, credentialFunctions);
      const { upstreamModel } = plan.channel(channel);
      const availability = health.availability(channel, upstreamModel, kind, account);
      const isUsable = availability.kind !== 'unavailable' || availability.reason === 'busy';
      // A channel that was tried and is not cooling down has failed. Nothing says when it will
      // recover.
      if (isUsable) return this.#passed.includes(channel.id) ? Number.POSITIVE_INFINITY : 0;
      return (availability.untilMs ?? Number.POSITIVE_INFINITY) - nowMs;
    };
    const soonest = Math.min(...pool.channels.map(availableInMs));
    return Number.isFinite(soonest) ? soonest : undefined;
  }
}

/** No upstream has a part in such a call, so that no text of one is shown. */
const noRedaction: ErrorRedaction = {
  hideErrors: true,
  secrets: [],
  host: '',
  rejectsBeforeWork: false,
};

function answeredLocally(reply: WholeReply): UpstreamReply {
  const notes = reply.notes ?? {};
  return { reply, redaction: noRedaction, notes, lease: undefined, status: undefined };
}

/** Used if all channels are busy: a call may end at any moment. */
const busyWaitMs = 1_000;

export function noChannel(
  { model, received }: Pick<Admitted, 'model' | 'received'>,
  { reason, untilMs, isRateLimit }: Extract<Choice, { readonly kind: 'none' }>,
  emit: EventListener,
): CallFailure {
  const { settings, responseContext } = received;
  const { requestId } = responseContext;
  const nowMs = settings.clock.monotonicMs();
  const helpsAtMs = reason === 'busy' ? nowMs : untilMs;
  const wait =
    helpsAtMs === undefined ? {} : { retryAfterMs: Math.max(busyWaitMs, helpsAtMs - nowMs) };
  emit({ type: 'no_channel', requestId, modelId: model.id, reason, ...wait });
  const details = { reason, ...(helpsAtMs === undefined ? { shouldRetry: false } : wait) };
  const code = isRateLimit === true ? 'upstream_rate_limited' : 'no_channel';
  return {
    error:
      reason === 'upstream_model_not_found'
        ? new GatewayError('model_not_found', unknownModelMessage, { ...details, param: 'model' })
        : new GatewayError(code, errorText(code, model), details),
    ending: 'not_run',
    retry: 'never',
    healthSignal: { kind: 'neutral' },
    reason,
  };
}
