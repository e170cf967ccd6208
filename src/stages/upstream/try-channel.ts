/** Tries one channel: sends the call, opens the response, and records the result. */

import { findElidedFault } from '../../bytes/json/scan/body.ts';
import type { Call } from '../../call.ts';
import type { CallEnding } from '../../charge-policy.ts';
import { isUpstreamError, type UpstreamError } from '../../errors.ts';
import type { EventListener } from '../../events.ts';
import { isHostFailure } from '../../host-failures.ts';
import type { HeaderMap } from '../../http.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { UpstreamClient, UpstreamRequest } from '../../ports/upstream-client.ts';
import { nameOf } from '../../upstream/accounts.ts';
import type { ChannelHealth, ChannelLease } from '../../upstream/channel-health.ts';
import type { RetryBudget } from '../../upstream/retry-budget.ts';
import type { Held } from '../call-record.ts';
import type { LoopTurn } from '../loop-turn.ts';
import type { Access, ChannelPlan } from '../models/model-plan.ts';
import type {
  CallerParam,
  MadeReply,
  PreparedCall,
  PreparedSeries,
  RequestSeries,
  WholeReply,
} from '../prepare/prepared-call.ts';
import type { Translations } from '../prepare/translations.ts';
import type { FreeDisconnects } from '../relay/free-disconnects.ts';
import { type AttemptEnd, type AttemptReport, reportAttempt } from './attempt-events.ts';
import { type Credential, type PerKeyFunctions, secretIn, servingAccount } from './credential.ts';
import {
  badReply,
  type CallFailure,
  type ErrorRedaction,
  failedSeries,
  failedTransport,
  refusedByGateway,
  refusedByUpstream,
} from './failure.ts';
import type { StreamedReply } from './open-reply.ts';
import { openErrorResponse, openResponse } from './open-response.ts';
import { type Opened, openSeries, type SeriesDeps } from './open-series.ts';
import { type LatestResponse, type OpenedResponse, sendUpstream } from './send-upstream.ts';
import { thrownBy } from './thrown-by.ts';

export type OpenedReply = WholeReply | MadeReply | StreamedReply;

export interface UpstreamReply {
  readonly reply: OpenedReply;
  readonly redaction: ErrorRedaction;
  readonly callerParam?: CallerParam | undefined;
  readonly notes: HeaderMap;
  /** The channel, in use until the reply is over; undefined if no upstream was called. */
  readonly lease: ChannelLease | undefined;
  /** The HTTP status of the upstream; undefined if no upstream was called. */
  readonly status: number | undefined;
  /** Reports the end of the attempt that gave the reply; undefined if nobody listens. */
  readonly report?: AttemptReport | undefined;
  /** The account that served it; only set if later requests may refer to the reply. */
  readonly account?: string;
}

export type UpstreamOutcome = UpstreamReply | { readonly failure: CallFailure };

export interface Upstreams {
  readonly client: UpstreamClient;
  readonly health: ChannelHealth;
  readonly retries: RetryBudget;
  readonly freeDisconnects: FreeDisconnects;
  readonly perKeyCredentials: PerKeyFunctions;
  readonly endOfReplyTurn: LoopTurn;
  readonly emit: EventListener;
  /** Reports, once for each channel, that it answers in another format than requested. */
  readonly reportRepair: (channelId: string) => void;
  readonly translations: Pick<Translations, 'load' | 'loaded'>;
}

export interface Attempt {
  readonly held: Held;
  readonly channelPlan: ChannelPlan;
  readonly prepared: PreparedCall;
  /** What the channel's function returned; undefined for a channel with a secret. */
  readonly credential: Credential | undefined;
  /** The time left until the first byte must arrive, in ms. */
  readonly firstByteMs: number;
  /** The channel, in use by this attempt from the moment it was chosen. */
  readonly lease: ChannelLease;
  /** Takes from the budget for retries of what may have run; false if the budget is used up. */
  readonly mayRetry: () => boolean;
  readonly latestResponse: LatestResponse;
  /** Undefined if nobody listens to events. */
  readonly report: AttemptReport | undefined;
}

type StartingAttempt = Pick<Attempt, 'held' | 'channelPlan' | 'credential' | 'lease'>;

export function reportIfObserved(starting: StartingAttempt): AttemptReport | undefined {
  return starting.held.admitted.received.emit.isObserved ? reportOf(starting) : undefined;
}

function reportOf({ held, channelPlan, credential, lease }: StartingAttempt): AttemptReport {
  const { startedMs } = lease;
  const account = shownAccount(credential, channelPlan.channel);
  return reportAttempt({ held, channelPlan, account, startedMs });
}

/** Tries the channel. Never rejects because of an upstream's failure. */
export async function tryChannel(attempt: Attempt, upstreams: Upstreams): Promise<UpstreamOutcome> {
  const { admitted } = attempt.held;
  const { prepared, channelPlan } = attempt;
  let series: RequestSeries | undefined;
  try {
    const { credential } = channelPlan.channel;
    const secret = typeof credential === 'string' ? credential : secretIn(attempt.credential);
    const access = channelPlan.access(secret);
    let opened: Opened;
    if (prepared.series === undefined) {
      const response = await sendFirst(attempt, access, upstreams);
      opened = await openResponse(response, prepared, admitted);
    } else {
      series = prepared.series();
      opened = await openSeries(series, seriesDeps(prepared, access, attempt, upstreams));
    }
    const outcome = outcomeOf(opened, access, attempt);
    const ended = series === undefined ? outcome : endedSeries(outcome, series);
    return recordAttempt(ended, attempt);
  } catch (error) {
    return failedAttempt(error, attempt, series);
  }
}

/** @throws what was thrown, if it is a bug: the attempt has ended all the same, and is recorded */
function failedAttempt(
  error: unknown,
  attempt: Attempt,
  series: RequestSeries | undefined,
): UpstreamOutcome {
  const { call, model, running } = attempt.held.admitted;
  try {
    if (!isUpstreamError(error)) throw error;
    const failure = blameLongSilence(failedTransport(error, call, model), error, attempt);
    const ended = series === undefined ? { failure } : endedSeries({ failure }, series);
    return recordAttempt(ended, attempt);
  } catch (bug) {
    const mayHaveRun = running.attemptCount > 0;
    const { status } = attempt.latestResponse;
    const end = { status, reason: 'internal_error', mayHaveRun } as const;
    addToRecord(attempt, end);
    attempt.report?.ended(end);
    throw bug;
  }
}

function endedSeries(outcome: UpstreamOutcome, series: RequestSeries): UpstreamOutcome {
  if (!('failure' in outcome)) return outcome;
  return { failure: failedSeries(outcome.failure, series) };
}

/** Such a wait counts against the channel, even if something else ended the call. */
const longSilenceMs = 20_000;

/** The upstream did not cause the end of such a call, but may be the reason for it. */
function blameLongSilence(
  failure: CallFailure,
  { stage, reason }: UpstreamError,
  { lease, held: { admitted } }: Attempt,
): CallFailure {
  const { key, received } = admitted;
  const waitedMs = received.settings.clock.monotonicMs() - lease.startedMs;
  if (stage !== 'sent' || waitedMs < longSilenceMs) return failure;
  if (reason === 'caller_left') {
    return { ...failure, healthSignal: { kind: 'disconnected_waiting', reason, keyId: key.id } };
  }
  if (reason !== 'total_timeout') return failure;
  return { ...failure, healthSignal: { kind: 'failed', reason, where: 'model', timedOut: true } };
}

function seriesDeps(
  prepared: PreparedSeries,
  access: Access,
  attempt: Attempt,
  upstreams: Upstreams,
): SeriesDeps {
  const { held, channelPlan, mayRetry, latestResponse } = attempt;
  const { call, model, received } = held.admitted;
  const { firstByteMs } = channelPlan.timeouts;
  return {
    sendFirst: (isRepeated) => sendFirst(attempt, access, upstreams, isRepeated),
    send: (body) =>
      send({ ...attempt, firstByteMs, prepared: { ...prepared, body } }, access, upstreams, true),
    openError: (response) => openErrorResponse(response, prepared, received.settings),
    failureOf: (failed) =>
      failed.kind === 'failure'
        ? refusedByUpstream(failed.report, call, model, access)
        : badReply(failed, call, model),
    failureOfBreak: (error) => failedTransport(error, call, model),
    report: ({ reason }) => attempt.report?.partFailed(latestResponse.status, reason),
    mayRetry,
  };
}

async function sendFirst(
  attempt: Attempt,
  access: Access,
  upstreams: Upstreams,
  isRepeated = false,
): Promise<OpenedResponse> {
  const response = await send(attempt, access, upstreams, isRepeated);
  const { watch } = attempt.held.admitted.running;
  if (watch !== undefined) attempt.lease.firstByte(watch.lastReceivedMs);
  await upstreams.endOfReplyTurn();
  return response;
}

function send(
  { held: { admitted }, channelPlan, prepared, credential, firstByteMs, latestResponse }: Attempt,
  access: Access,
  { client, freeDisconnects }: Upstreams,
  isContinued = false,
): Promise<OpenedResponse> {
  const { call, running, received } = admitted;
  const { id } = channelPlan.channel;
  const account = credential === undefined ? undefined : accountName(credential);
  const lastActivity = freeDisconnects.lastActivity(
    account === undefined ? id : nameOf(id, account),
    channelPlan.upstreamModel,
  );
  const { connectMs, idleMs, firstTokenMs, quietMs, totalMs } = channelPlan.timeouts;
  const timeouts = { firstByteMs, idleMs, firstTokenMs, quietMs, totalMs };
  running.startAttempt(timeouts, lastActivity, isContinued);
  const { origin, basePath, dialect } = channelPlan;
  const path = basePath + prepared.path;
  const { body } = prepared;
  // A copy, because a host's client may modify the headers.
  const headers = { ...access.headers[prepared.framing], ...prepared.headers };
  if (dialect?.sign !== undefined) {
    const { secret } = access;
    const nowMs = received.settings.clock.now();
    const asSent = { method: 'POST', origin, path, headers, body, secret, nowMs };
    Object.assign(headers, dialect.sign(asSent));
  }
  const requestFor = (onAbort: UpstreamRequest['onAbort']): UpstreamRequest => ({
    method: 'POST',
    origin,
    path,
    headers,
    body,
    connectTimeoutMs: connectMs,
    freshConnection: call.operation.isBoughtOnce,
    onAbort,
  });
  return sendUpstream(client, requestFor, running, latestResponse);
}

function outcomeOf(opening: Opened, access: Access, attempt: Attempt): UpstreamOutcome {
  const { prepared, held } = attempt;
  const { notes, callerParam } = prepared;
  const { redaction } = access;
  const { call, model } = held.admitted;
  const { lease, report, latestResponse } = attempt;
  const { status } = latestResponse;
  switch (opening.kind) {
    case 'failure': {
      const { report } = opening;
      const reply = prepared.replyToRefusal(report);
      if (reply !== undefined) return { reply, redaction, notes, lease, status };
      return { failure: refusedByUpstream(report, call, model, { redaction, callerParam }) };
    }
    case 'bad':
      return { failure: badReply(opening, call, model) };
    case 'made':
      return { reply: opening, redaction, notes: opening.notes, lease, status };
    case 'whole': {
      const outcome = { reply: opening, redaction, notes: opening.notes ?? notes, lease, status };
      return opening.referable === undefined ? outcome : withAccount(outcome, attempt);
    }
    case 'streamed': {
      const reply = { reply: opening, redaction, callerParam, notes };
      const outcome = { ...reply, lease, report, status };
      return opening.tap.referable === undefined ? outcome : withAccount(outcome, attempt);
    }
  }
}

function withAccount(reply: UpstreamReply, { channelPlan, credential }: Attempt): UpstreamReply {
  return { ...reply, account: servingAccount(channelPlan.channel, credential) };
}

function recordAttempt(tried: UpstreamOutcome, attempt: Attempt): UpstreamOutcome {
  const { lease, held } = attempt;
  const { call } = held.admitted;
  const outcome =
    'failure' in tried ? { failure: blameCallerIfInvalidJson(tried.failure, call) } : tried;
  const failure = 'failure' in outcome ? outcome.failure : undefined;
  const end = {
    status: attempt.latestResponse.status,
    reason: failure?.reason,
    mayHaveRun: endingOfOutcome(outcome) !== 'not_run',
  };
  // Without a listener, what only the host can fix becomes a process warning.
  const { credential } = attempt;
  // An account that `credential` named may be one of a user, whose mistake is not the host's.
  const isNamed = credential !== undefined && accountName(credential) !== undefined;
  const isHosts = isHostFailure(failure?.reason) && !isNamed;
  const report = attempt.report ?? (isHosts ? reportOf(attempt) : undefined);
  if (failure === undefined) {
    lease.answered();
    if (report !== undefined && 'reply' in outcome) reportReply(outcome.reply, end, report);
  } else {
    // Providers answer counts apart from their models, so a count tells nothing about the channel.
    lease.end(call.operation.isFree ? { kind: 'neutral' } : failure.healthSignal);
    if (report !== undefined) report.ended(end, thrownBy(failure, attempt));
  }
  // Last, so that an attempt is not added twice if something above throws.
  addToRecord(attempt, end);
  return outcome;
}

function addToRecord({ held, channelPlan, lease }: Attempt, end: AttemptEnd): void {
  const { channel } = channelPlan;
  held.settlement.addAttempt(channel, {
    channelId: channel.id,
    status: end.status,
    reason: end.reason,
    mayHaveRun: end.mayHaveRun,
    durationMs: held.admitted.received.settings.clock.monotonicMs() - lease.startedMs,
  });
}

/** A stream's attempt ends with the stream. */
function reportReply(reply: OpenedReply, end: AttemptEnd, report: AttemptReport): void {
  const isStreamed = reply.kind === 'streamed';
  // A stream that was quiet for too long is passed on before it has content.
  if (!isStreamed || reply.tap.hasBegun()) report.firstByte();
  if (!isStreamed) report.ended(end);
}

/**
 * Blames the caller if its body turns out to be invalid JSON: some upstreams answer that with 500,
 * or break off. (The scan of a large body skips control characters inside long strings.)
 */
function blameCallerIfInvalidJson(failure: CallFailure, { body }: Call): CallFailure {
  const { healthSignal, ending, reason } = failure;
  const isHeldAgainst = healthSignal.kind !== 'neutral' || ending !== 'not_run';
  const fault = isHeldAgainst && reason !== 'caller_left' ? findElidedFault(body) : undefined;
  return fault === undefined ? failure : refusedByGateway(fault);
}

function endingOfOutcome(outcome: UpstreamOutcome): CallEnding | undefined {
  if ('failure' in outcome) return outcome.failure.ending;
  return outcome.reply.kind === 'whole' ? outcome.reply.ending : undefined;
}

function accountName(credential: Credential): string | undefined {
  return credential.kind === 'secret' ? credential.account?.name : undefined;
}

/** Undefined if the channel's function failed, because it may have meant any account. */
function shownAccount(credential: Credential | undefined, channel: Channel): string | undefined {
  if (credential === undefined) return channel.account;
  return credential.kind === 'secret' ? (accountName(credential) ?? channel.account) : undefined;
}
