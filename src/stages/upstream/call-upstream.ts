/**
 * Calls the channels of a model, one after the other, until one replies or no other may be tried.
 */
import { GatewayError, isGatewayError } from '../../errors.ts';
import { noSignal } from '../../upstream/health-signal.ts';
import type { BudgetedCall } from '../../upstream/retry-budget.ts';
import type { Held } from '../call-record.ts';
import type { ChannelPlan } from '../models/model-plan.ts';
import { type PrepareForChannel, preparer } from '../prepare/prepare.ts';
import type { Prepared } from '../prepare/prepared-call.ts';
import { coverPrompt } from '../settle/cover-prompt.ts';
import {
  type Considered,
  choose,
  chooseByReferences,
  noneChosen,
  resolveCredential,
  takeChannel,
} from './choose-channel.ts';
import { type CallCredentials, servingAccount } from './credential.ts';
import { type CallFailure, type ErrorRedaction, isPaidRefusal } from './failure.ts';
import { finalFailure } from './final-failure.ts';
import {
  reportIfObserved,
  tryChannel,
  type UpstreamOutcome,
  type UpstreamReply,
  type Upstreams,
} from './try-channel.ts';

const maxAttempts = 3;
/** Another channel is tried only if this share of the time for a first byte is left. */
const minShareLeft = 1 / 3;

/** Never rejects for an upstream's failure. The time for a first byte is from `startedMs`. */
export async function callUpstream(
  held: Held,
  upstreams: Upstreams,
  startedMs: number = held.settlement.startedMs,
): Promise<UpstreamOutcome> {
  const { running, model } = held.admitted;
  if (running.caller.isDisconnected) return { failure: callerDisconnected('not_run') };
  // An image is bought as soon as it is sent, and a call with an Idempotency-Key may be repeated.
  // From here on both continue even if the caller disconnects.
  if (held.continuesAfterDisconnect) running.caller.detach();
  const budget = upstreams.retries.begin(model.id);
  running.onDone(budget.end);
  return tryChannels(held, budget, upstreams, startedMs);
}

async function tryChannels(
  held: Held,
  budget: BudgetedCall,
  upstreams: Upstreams,
  startedMs: number,
): Promise<UpstreamOutcome> {
  const { admitted } = held;
  const { call, plan, received, references } = admitted;
  const { clock } = received.settings;
  const { prepare, readAhead } = preparer(admitted, upstreams);
  const chooseNext = references === undefined ? choose : chooseByReferences;
  const passed: string[] = [];
  const failures: CallFailure[] = [];
  let credentials: CallCredentials | undefined;
  let refusal: GatewayError | undefined;
  while (mayTry(failures, held)) {
    const tried = { passed, hasTried: failures.length > 0, credentials };
    const choice = chooseNext(admitted, tried, upstreams);
    if (choice.kind === 'none') {
      if (failures.length > 0) break;
      return { failure: noneChosen(choice, refusal, tried, admitted, upstreams) };
    }
    const { channel } = choice;
    const channelPlan = plan.channel(channel);
    const { dialect, upstreamModel } = channelPlan;
    const reading = dialect && readAhead(channel, dialect, upstreamModel);
    if (reading !== undefined) {
      await reading;
      // Chosen again, because the health of channels may have changed meanwhile.
      continue;
    }
    if (typeof channel.credential !== 'string' && credentials?.has(channel.id) !== true) {
      credentials ??= new Map();
      if (!(await resolveCredential(channelPlan, tried, credentials, held, upstreams))) continue;
    }
    passed.push(channel.id);
    const account =
      references === undefined ? undefined : servingAccount(channel, credentials?.get(channel.id));
    const prepared = tryPrepare(prepare, channelPlan, account);
    if (prepared === undefined) continue;
    if (isGatewayError(prepared)) {
      refusal ??= prepared;
      continue;
    }
    if ('kind' in prepared) return answeredLocally(prepared);
    const { firstByteMs: wholeMs, firstByteStreamedMs } = channelPlan.timeouts;
    const waitMs = call.framing === 'json' ? wholeMs : firstByteStreamedMs;
    const leftMs = Math.ceil(waitMs - (clock.monotonicMs() - startedMs));
    if (failures.length > 0) {
      if (leftMs < waitMs * minShareLeft) break;
      // Only a retry of a call that may have run adds load to the remaining channels, so only such
      // a retry needs the budget.
      if (mayHaveRun(failures) > 0 && !budget.mayRetry()) break;
    }
    const lease = takeChannel(admitted, channelPlan, credentials, upstreams);
    const { prompt } = prepared;
    const coverError = prompt === undefined ? undefined : await coverPrompt(prompt, held);
    if (coverError !== undefined) {
      lease.end(noSignal);
      refusal ??= coverError;
      continue;
    }
    const { trialMs = leftMs } = lease;
    // A trial is cut short only if another channel is left to try.
    const isTrial =
      trialMs < leftMs &&
      chooseNext(admitted, { passed, hasTried: true, credentials }, upstreams).kind === 'channel';
    const firstByteMs = isTrial ? trialMs : leftMs;
    const credential = credentials?.get(channel.id);
    const { mayRetry } = budget;
    const report = reportIfObserved({ held, channelPlan, credential, lease });
    const attempt = {
      held,
      channelPlan,
      prepared,
      credential,
      firstByteMs,
      lease,
      mayRetry,
      latestResponse: { status: undefined },
      report,
    };
    const ended = await tryChannel(attempt, upstreams);
    const outcome = isTrial ? allowRetryAfterTrial(ended) : ended;
    if (!('failure' in outcome)) {
      if (failures.length === 0) return outcome;
      budget.answered();
      return withEarlierFailures(outcome, failures);
    }
    if (references?.mustResend === true) {
      // Sent once more without what the account could not read, to any channel.
      references.mustResend = false;
      passed.pop();
      failures.push({ ...outcome.failure, retry: 'elsewhere' });
    } else failures.push(outcome.failure);
  }
  return { failure: overallFailure(failures, { passed, credentials }, held, upstreams) };
}

/**
 * A call that timed out is not retried, with one exception: a half-open trial of a channel. Its
 * caller waited through no fault of its own, and there is one such call per cooldown.
 */
function allowRetryAfterTrial(outcome: UpstreamOutcome): UpstreamOutcome {
  if (!('failure' in outcome)) return outcome;
  const { failure } = outcome;
  return failure.reason === 'headers_timeout'
    ? { failure: { ...failure, retry: 'once' } }
    : outcome;
}

/** A call that its last channel did not run may have run on an earlier one. */
function withEarlierFailures(
  upstreamReply: UpstreamReply,
  failures: readonly CallFailure[],
): UpstreamReply {
  const { reply } = upstreamReply;
  const isOpen = reply.kind === 'whole' && reply.ending === 'not_run' && mayHaveRun(failures) > 0;
  return isOpen ? { ...upstreamReply, reply: { ...reply, ending: 'failed' } } : upstreamReply;
}

function mayTry(failures: readonly CallFailure[], held: Held): boolean {
  const last = failures.at(-1);
  if (last === undefined) return true;
  if (failures.length >= maxAttempts || isAbandoned(held)) return false;
  return last.retry === 'elsewhere' || (last.retry === 'once' && mayHaveRun(failures) === 1);
}

function mayHaveRun(failures: readonly CallFailure[]): number {
  return failures.filter(({ ending }) => ending !== 'not_run').length;
}

/**
 * Prepares the call for a channel. Returns an error if the channel's upstream does not support the
 * request, because the next channel's may; undefined if no dialect of that name exists.
 */
function tryPrepare(
  prepare: PrepareForChannel,
  { channel, dialect, upstreamModel }: ChannelPlan,
  account: string | undefined,
): Prepared | GatewayError | undefined {
  if (dialect === undefined) return undefined;
  try {
    return prepare(channel, dialect, upstreamModel, account);
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}

/** No upstream has a part in such a call, so that no text of one is shown. */
const noRedaction: ErrorRedaction = {
  hideErrors: true,
  secrets: [],
  host: '',
  rejectsBeforeWork: false,
};

function answeredLocally(reply: Extract<Prepared, { readonly kind: string }>): UpstreamOutcome {
  return {
    reply,
    redaction: noRedaction,
    notes: reply.notes ?? {},
    lease: undefined,
    status: undefined,
  };
}

function overallFailure(
  failures: readonly CallFailure[],
  considered: Pick<Considered, 'passed' | 'credentials'>,
  held: Held,
  { health, freeDisconnects, perKeyCredentials }: Upstreams,
): CallFailure {
  const { admitted } = held;
  const reported = reportedFailure(failures);
  // An earlier attempt may have run, although the reported one certainly did not.
  const isUnknown = reported.ending === 'not_run' && mayHaveRun(failures) > 0;
  const ending = isUnknown ? 'failed' : reported.ending;
  if (!isAbandoned(held)) {
    const failed = { admitted, ending, ...considered, perKey: perKeyCredentials };
    return finalFailure(reported, failed, health);
  }
  if (ending === 'not_run') return callerDisconnected(ending);
  // A caller pays for what it made fail itself, whether or not it waited for the error.
  if (isPaidRefusal(reported)) return { ...reported, ...callerDisconnected('left') };
  // The attempt had failed before the caller disconnected.
  if (reported.reason !== 'caller_left') return callerDisconnected('failed');
  // A caller that disconnects pays nothing if the account kept it waiting.
  const { key, running, call } = admitted;
  if (freeDisconnects.isFree(key.id, running)) return callerDisconnected('failed');
  const hasReplyStarted = reported.hasResponse === true && call.framing !== 'json';
  const { usage } = reported;
  return { ...callerDisconnected(hasReplyStarted ? 'left' : 'left_early'), usage };
}

/**
 * The failure to report: the last one, unless another channel was only rate limited, or the last
 * one lasts and another does not. Then a retry is worthwhile; `finalFailure` says when, from the
 * waits of all channels.
 */
function reportedFailure(failures: readonly CallFailure[]): CallFailure {
  const last = failures.at(-1) ?? callerDisconnected('not_run');
  if (last.retry === 'never') return last;
  return (
    failures.find(({ error }) => error.code === 'upstream_rate_limited') ??
    failures.findLast(({ error }) => error.shouldRetry !== false) ??
    last
  );
}

/** A call that continues keeps its real failure, for the usage record. */
function isAbandoned({ admitted, continuesAfterDisconnect }: Held): boolean {
  return admitted.running.caller.isDisconnected && !continuesAfterDisconnect;
}

/** The failure of a call whose caller disconnected. Nobody reads its error text. */
function callerDisconnected(ending: 'not_run' | 'failed' | 'left_early' | 'left'): CallFailure {
  const reason = 'caller_left';
  return {
    error: new GatewayError('internal_error', 'The caller went away.', { reason }),
    ending,
    retry: 'never',
    healthSignal: { kind: 'neutral' },
    reason,
  };
}
