/** Tries one channel: sends the call, opens the response, and records the result. */

import { findElidedFault } from '../../bytes/json/scan/body.ts';
import type { Call } from '../../call.ts';
import { type AccountSecret, secretParts } from '../../dialects/hosting.ts';
import { isUpstreamError, type UpstreamError } from '../../errors.ts';
import { nameOf } from '../../upstream/accounts.ts';
import type { Access, ChannelPlan } from '../models/model-plan.ts';
import { isPending } from '../ports/port-calls.ts';
import type { PreparedSeries, RequestSeries } from '../prepare/prepared-call.ts';
import {
  type Attempt,
  type AttemptEnd,
  AttemptReport,
  type Chosen,
  type Leased,
  type OpenedReply,
  type UpstreamOutcome,
  type Upstreams,
} from './attempt.ts';
import { askCredential, namedAccount, secretIn, servingAccount } from './credential.ts';
import {
  badReply,
  type CallFailure,
  failedSeries,
  failedTransport,
  refusedByGateway,
  refusedByUpstream,
} from './failure.ts';
import { openErrorResponse, openResponse } from './open-response.ts';
import { type Opened, openSeries, type SeriesDeps } from './open-series.ts';
import { sendHosted } from './send-hosted.ts';
import { type OpenedResponse, sendUpstream } from './send-upstream.ts';
import { safeError, shownError } from './shown-error.ts';

/** Tries the channel. Never rejects because of an upstream's failure. */
export async function tryChannel(leased: Leased, upstreams: Upstreams): Promise<UpstreamOutcome> {
  const { prepared, channelPlan, held } = leased;
  const { admitted } = held;
  const report = new AttemptReport(leased);
  const attempt = { leased, latestResponse: { status: undefined }, report };
  let series: RequestSeries | undefined;
  try {
    const { credential } = channelPlan.channel;
    const access =
      typeof credential === 'string'
        ? channelPlan.access(credential)
        : accessIn(channelPlan, secretIn(leased.credential));
    let opened: Opened;
    if (prepared.series === undefined) {
      const response = await send(attempt, access, upstreams);
      noteFirstByte(attempt);
      const opening = openResponse(response, prepared, admitted);
      opened = isPending(opening) ? await opening : opening;
    } else {
      series = prepared.series();
      opened = await openSeries(series, seriesDeps(prepared, access, attempt, upstreams));
    }
    const outcome = outcomeOf(opened, access, attempt);
    const ended = series === undefined ? outcome : endedSeries(outcome, series);
    const renewed = mayBeStale(ended, leased) ? await renewedSecret(leased, upstreams) : undefined;
    if (renewed === undefined) return recordAttempt(ended, attempt);
    const { status } = attempt.latestResponse;
    const end = { status, reason: 'credential_renewed', mayHaveRun: false } as const;
    report.ended(end);
    addToRecord(leased, end);
    return await tryChannel(renewed, upstreams);
  } catch (error) {
    return failedAttempt(error, attempt, series);
  }
}

/** Whether the upstream refused the secret of a function that may have another one by now. */
function mayBeStale(outcome: UpstreamOutcome, { credential, isRenewed }: Leased): boolean {
  return (
    credential !== undefined &&
    !isRenewed &&
    'failure' in outcome &&
    outcome.failure.reason === 'upstream_auth_error'
  );
}

/** Asks the function once more. Undefined if it returns the same secret, or none. */
async function renewedSecret(
  leased: Leased,
  { credentialFunctions }: Upstreams,
): Promise<Leased | undefined> {
  const { channelPlan, credential: known, held } = leased;
  const { channel, timeouts } = channelPlan;
  if (typeof channel.credential === 'string' || known?.kind !== 'secret') return undefined;
  credentialFunctions.refused(channel.credential, known.secret);
  const credential = await askCredential(
    channel,
    channel.credential,
    timeouts.connectMs,
    held.admitted,
    credentialFunctions,
  );
  if (credential.kind !== 'secret') return undefined;
  // Its lease is on the account that was refused.
  if (credential.account?.name !== known.account?.name) return undefined;
  if (credential.secret === known.secret) return undefined;
  return { ...leased, credential, isRenewed: true };
}

function accessIn({ access }: ChannelPlan, { secret, form }: AccountSecret): Access {
  return access(secret, form);
}

/** @throws what was thrown, if it is a bug: the attempt has ended all the same, and is recorded */
function failedAttempt(
  error: unknown,
  attempt: Attempt,
  series: RequestSeries | undefined,
): UpstreamOutcome {
  const { leased, latestResponse, report } = attempt;
  const { call, model, running } = leased.held.admitted;
  try {
    if (!isUpstreamError(error)) throw error;
    const failure = blameLongSilence(failedTransport(error, call, model), error, leased);
    const ended = series === undefined ? { failure } : endedSeries({ failure }, series);
    return recordAttempt(ended, attempt);
  } catch (bug) {
    const mayHaveRun = running.attemptCount > 0;
    const { status } = latestResponse;
    const end = { status, reason: 'internal_error', mayHaveRun } as const;
    addToRecord(leased, end);
    report.ended(end);
    throw bug;
  }
}

function endedSeries(outcome: UpstreamOutcome, series: RequestSeries): UpstreamOutcome {
  if (!('failure' in outcome)) return outcome;
  return { failure: failedSeries(outcome.failure, series) };
}

/**
 * A call that waited this long for a first byte counts against the channel, even if something else
 * ended it.
 */
const longSilenceMs = 20_000;

/**
 * Adapts the health signal of a call that got nothing for a long time before its caller
 * disconnected or its total time was up. The upstream did not cause the end, but may be the reason
 * for it.
 */
function blameLongSilence(
  failure: CallFailure,
  { stage, reason }: UpstreamError,
  { lease, held: { admitted } }: Leased,
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

/** What the further requests of a series need. */
function seriesDeps(
  prepared: PreparedSeries,
  access: Access,
  attempt: Attempt,
  upstreams: Upstreams,
): SeriesDeps {
  const { leased, latestResponse, report } = attempt;
  const { held, channelPlan, budget } = leased;
  const { call, model, received } = held.admitted;
  const { firstByteMs } = channelPlan.timeouts;
  return {
    sendFirst: async (isRepeated) => {
      const response = await send(attempt, access, upstreams, isRepeated);
      noteFirstByte(attempt);
      return response;
    },
    send: (body) =>
      send(
        { ...attempt, leased: { ...leased, firstByteMs, prepared: { ...prepared, body } } },
        access,
        upstreams,
        true,
      ),
    openError: (response) => openErrorResponse(response, prepared, received.settings),
    failureOf: (failed) =>
      failed.kind === 'failure'
        ? refusedByUpstream(failed.report, call, model, access)
        : badReply(failed, call, model),
    failureOfBreak: (error) => failedTransport(error, call, model),
    report: ({ reason }) => report.partFailed(latestResponse.status, reason),
    mayRetry: () => budget.mayRetry(),
  };
}

/** The response to the first request of the attempt has begun. */
function noteFirstByte({ leased: { held, lease } }: Attempt): void {
  const { watch } = held.admitted.running;
  if (watch !== undefined) lease.firstByte(watch.lastReceivedMs);
}

function send(
  { leased: { held, channelPlan, prepared, credential, firstByteMs }, latestResponse }: Attempt,
  access: Access,
  { client, endOfReplyTurn, freeDisconnects }: Upstreams,
  isContinued = false,
): Promise<OpenedResponse> {
  const { call, running, received } = held.admitted;
  const account = credential === undefined ? undefined : namedAccount(credential);
  const lastActivity = freeDisconnects.lastActivity(
    account === undefined
      ? channelPlan.activityName
      : nameOf(nameOf(channelPlan.channel.id, account), channelPlan.upstreamModel),
  );
  const { connectMs, idleMs, firstTokenMs, quietMs, totalMs } = channelPlan.timeouts;
  const timeouts = { firstByteMs, idleMs, firstTokenMs, quietMs, totalMs };
  running.startAttempt(timeouts, lastActivity, isContinued);
  const { origin, basePath, dialect } = channelPlan;
  const path = basePath + prepared.path;
  const { body } = prepared;
  // A copy, because a host's client may modify the headers.
  const headers = { ...access.headers[prepared.framing], ...prepared.headers };
  const request = {
    method: 'POST',
    origin,
    path,
    headers,
    body,
    connectTimeoutMs: connectMs,
    freshConnection: call.operation.isBoughtOnce,
  } as const;
  const sending = { client, endOfReplyTurn, running, latest: latestResponse };
  const hosting = dialect?.hosting;
  if (hosting === undefined) return sendUpstream(request, sending);
  const { upstreamModel } = channelPlan;
  const { framing } = prepared;
  const hosted = { operation: call.operation.name, framing, upstreamModel };
  const nowMs = received.settings.clock.now();
  return sendHosted(request, { ...sending, hosting, hosted, access, nowMs });
}

function outcomeOf(opening: Opened, access: Access, attempt: Attempt): UpstreamOutcome {
  const { leased, report, latestResponse } = attempt;
  const { prepared, held, lease, channelPlan, credential } = leased;
  const { notes, callerParam } = prepared;
  const { redaction } = access;
  const { call, model } = held.admitted;
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
      const account = opening.referable && servingAccount(channelPlan.channel, credential);
      return { reply: opening, redaction, notes: opening.notes ?? notes, lease, status, account };
    }
    case 'streamed': {
      const account = opening.tap.referable && servingAccount(channelPlan.channel, credential);
      return { reply: opening, redaction, callerParam, notes, lease, report, status, account };
    }
  }
}

/** Records the outcome for the usage record and the channel's health. */
function recordAttempt(tried: UpstreamOutcome, attempt: Attempt): UpstreamOutcome {
  const { leased, latestResponse, report } = attempt;
  const { status } = latestResponse;
  if ('failure' in tried) return { failure: recordFailure(tried.failure, status, attempt) };
  const { reply } = tried;
  const mayHaveRun = reply.kind !== 'whole' || reply.ending !== 'not_run';
  const end = { status, reason: undefined, mayHaveRun };
  leased.lease.answered();
  reportReply(reply, end, report);
  // Last, so that an attempt is not added twice if something above throws.
  addToRecord(leased, end);
  return tried;
}

function recordFailure(
  reported: CallFailure,
  status: number | undefined,
  { leased, report }: Attempt,
): CallFailure {
  const { call } = leased.held.admitted;
  const failure = blameCallerIfInvalidJson(reported, call);
  const { reason, ending, healthSignal } = failure;
  const end = { status, reason, mayHaveRun: ending !== 'not_run' };
  // Providers answer counts apart from their models, so a count tells nothing about the channel.
  leased.lease.end(call.operation.isFree ? { kind: 'neutral' } : healthSignal);
  report.ended(end, thrownBy(failure, leased));
  addToRecord(leased, end);
  return failure;
}

function addToRecord({ held, channelPlan, lease }: Leased, end: AttemptEnd): void {
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

/**
 * What a function of the host threw: `credential`, or a client whose error has no known code. The
 * other reasons say what happened.
 */
function thrownBy(
  { error, reason }: CallFailure,
  { channelPlan, credential, held }: Chosen,
): unknown {
  const { cause } = isUpstreamError(error.cause) ? error.cause : {};
  if (cause === undefined) return undefined;
  const own = credential?.kind === 'secret' ? secretParts(credential) : [];
  const secrets = [...own, ...channelPlan.secrets(), ...held.admitted.received.secrets()];
  if (reason === 'credential_unavailable') return shownError(cause, secrets);
  const isUnknown = reason === 'failed' || reason === 'client_failed' || reason === 'other';
  return isUnknown ? safeError(cause, secrets) : undefined;
}
