/**
 * Calls the channels of a model, one after the other, until one replies or no other may be tried.
 */
import type { Call } from '../call.ts';
import { GatewayError, isGatewayError } from '../errors.ts';
import type { Channel } from '../ports/catalog.ts';
import type { ChannelLease, HealthSignal } from '../upstream/channel-health.ts';
import { type Availability, type Choice, chooseChannel } from '../upstream/choose.ts';
import type { BudgetedCall } from '../upstream/retry-budget.ts';
import type { Admitted, Held } from './call-record.ts';
import { coverPrompt } from './cover-prompt.ts';
import { type CallFailure, type ErrorRedaction, refusedHere } from './failure.ts';
import { finalFailure } from './final-failure.ts';
import type { ChannelPlan } from './model-plan.ts';
import { noChannel } from './no-channel.ts';
import { type Preparation, type Prepared, preparation } from './prepare.ts';
import { type Answer, tryChannel, type UpstreamOutcome, type Upstreams } from './try-channel.ts';

const mostTries = 3;
/** Another channel is tried only if this share of the time for a first byte is left. */
const leastShareLeft = 1 / 3;

/** Sends the call upstream. Never rejects because of an upstream's failure. */
export async function callUpstream(held: Held, upstreams: Upstreams): Promise<UpstreamOutcome> {
  const { running, model } = held.admitted;
  if (running.caller.hasLeft) return { failure: callerLeft('not_run') };
  // An image is bought as soon as it is sent, and a call with an Idempotency-Key may be repeated.
  // From here on both continue even if the caller disconnects.
  if (held.continuesAfterDisconnect) running.caller.detach();
  const budget = upstreams.retries.begin(model.id);
  running.onDone(budget.end);
  return askInTurn(held, budget, upstreams);
}

async function askInTurn(
  held: Held,
  budget: BudgetedCall,
  upstreams: Upstreams,
): Promise<UpstreamOutcome> {
  const { admitted } = held;
  const { call, plan, received } = admitted;
  const { clock } = received.settings;
  const prepare = preparation(admitted);
  const startedMs = clock.monotonicMs();
  const passed: string[] = [];
  const failures: CallFailure[] = [];
  let refusal: GatewayError | undefined;
  while (mayTry(failures, held)) {
    const choice = choose(admitted, { passed, hasTried: failures.length > 0 }, upstreams);
    if (choice.kind === 'none') {
      if (failures.length > 0) break;
      // The refusal is final only if every channel refused the request (`protocol`). Otherwise a
      // channel that supports it may just be unavailable at the moment.
      const onlyRefusal = choice.reason === 'protocol' ? refusal : undefined;
      if (onlyRefusal !== undefined) return { failure: refusedHere(onlyRefusal) };
      return { failure: noChannel(admitted, choice, upstreams.emit) };
    }
    const { channel } = choice;
    passed.push(channel.id);
    const way = plan.channel(channel);
    const exchange = tryPrepare(prepare, way);
    if (exchange === undefined) continue;
    if (isGatewayError(exchange)) {
      refusal ??= exchange;
      continue;
    }
    if ('kind' in exchange) return answeredHere(exchange);
    const waitMs = firstByteMsOf(call, way);
    const leftMs = Math.ceil(waitMs - (clock.monotonicMs() - startedMs));
    if (failures.length > 0 && leftMs < waitMs * leastShareLeft) break;
    // Only a retry of a call that may have run adds load upstream, so only such a retry needs the
    // budget.
    if (mayHaveRun(failures) > 0 && !budget.mayRetry()) break;
    const attempt = failures.length + 1;
    const lease = begin(admitted, way, upstreams);
    const uncovered = await coverPrompt(exchange, held);
    if (uncovered !== undefined) {
      lease.end(nothing);
      refusal ??= uncovered;
      continue;
    }
    const { trialMs = leftMs } = lease;
    // A trial is cut short only if another channel is left to try.
    const isTrial =
      trialMs < leftMs &&
      choose(admitted, { passed, hasTried: true }, upstreams).kind === 'channel';
    const firstByteMs = isTrial ? trialMs : leftMs;
    const asked = { held, way, exchange, firstByteMs, lease, attempt };
    const outcome = afterTrial(await tryChannel(asked, upstreams), isTrial);
    if (!('failure' in outcome)) {
      budget.answered();
      return failures.length === 0 ? outcome : withEarlierFailures(outcome, failures);
    }
    failures.push(outcome.failure);
  }
  return { failure: failureOf(failures, passed, held, upstreams) };
}

const nothing: HealthSignal = { kind: 'neutral' };

/**
 * Takes the channel, in the same turn of the event loop in which it was chosen. Otherwise two calls
 * could both become the half-open trial of one channel.
 */
function begin(
  { call, model: { id: modelId }, running }: Admitted,
  { channel, upstreamModel }: ChannelPlan,
  { health }: Upstreams,
): ChannelLease {
  const { operation, framing } = call;
  const reply = operation.waitsAs(framing);
  const lease = health.begin(channel, upstreamModel, { modelId, reply });
  // The channel is freed when the call is done, whatever its outcome.
  running.onDone(() => lease.end(nothing));
  return lease;
}

function firstByteMsOf({ framing }: Call, { timeouts }: ChannelPlan): number {
  return framing === 'json' ? timeouts.firstByteMs : timeouts.firstByteStreamedMs;
}

/**
 * A call that timed out is not retried, with one exception: a half-open trial of a channel. Its
 * caller waited through no fault of its own, and there is one such call per cooldown.
 */
function afterTrial(outcome: UpstreamOutcome, isTrial: boolean): UpstreamOutcome {
  if (!isTrial || !('failure' in outcome)) return outcome;
  const { failure } = outcome;
  return failure.reason === 'headers_timeout'
    ? { failure: { ...failure, retry: 'once' } }
    : outcome;
}

/** A call that its last channel did not run may have run on an earlier one. */
function withEarlierFailures(answer: Answer, failures: readonly CallFailure[]): Answer {
  const { reply } = answer;
  const isOpen = reply.kind === 'whole' && reply.ending === 'not_run' && mayHaveRun(failures) > 0;
  return isOpen ? { ...answer, reply: { ...reply, ending: 'failed' } } : answer;
}

/** True if another channel may be tried after these failures. */
function mayTry(failures: readonly CallFailure[], held: Held): boolean {
  const last = failures.at(-1);
  if (last === undefined) return true;
  if (failures.length >= mostTries || hasNobodyToAnswer(held)) return false;
  return last.retry === 'elsewhere' || (last.retry === 'once' && mayHaveRun(failures) === 1);
}

function mayHaveRun(failures: readonly CallFailure[]): number {
  return failures.filter(({ ending }) => ending !== 'not_run').length;
}

/** Chooses the channel to try next. */
function choose(
  { call, key, plan, route, received: { settings } }: Admitted,
  { passed, hasTried }: { readonly passed: readonly string[]; readonly hasTried: boolean },
  { health }: Upstreams,
): Choice {
  const pool = plan.pool(route.protocol, key.group);
  if (typeof pool === 'string') return { kind: 'none', reason: pool };
  const kind = { isBoughtOnce: call.operation.isBoughtOnce, hasTried };
  const availability = (channel: Channel): Availability =>
    health.availability(channel, plan.channel(channel).upstreamModel, kind);
  const { promptCacheKey } = call;
  const asked = { keyId: key.id, promptCacheKey, excluded: passed, hasTried };
  return chooseChannel(pool, asked, { availability, inFlight: health.inFlight }, settings.random);
}

/**
 * Prepares the call for a channel. Returns an error if the channel's upstream does not support the
 * request, because the next channel's may; undefined if no dialect of that name exists.
 */
function tryPrepare(
  prepare: Preparation,
  { channel, dialect, upstreamModel }: ChannelPlan,
): Prepared | GatewayError | undefined {
  if (dialect === undefined) return undefined;
  try {
    return prepare(channel, dialect, upstreamModel);
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}

const nothingToHide: ErrorRedaction = { hideErrors: false, secrets: [], rejectsBeforeWork: false };

/** The outcome of a call that was answered without an upstream. */
function answeredHere(reply: Extract<Prepared, { readonly kind: string }>): UpstreamOutcome {
  return {
    reply,
    disclosure: nothingToHide,
    notes: reply.notes ?? {},
    lease: undefined,
    status: undefined,
  };
}

/** The failure of a call, from the failures of all its attempts. */
function failureOf(
  failures: readonly CallFailure[],
  passed: readonly string[],
  held: Held,
  { health, departures }: Upstreams,
): CallFailure {
  const { admitted } = held;
  const reported = reportedFailure(failures);
  // An earlier attempt may have run, although the reported one certainly did not.
  const isUnknown = reported.ending === 'not_run' && mayHaveRun(failures) > 0;
  const ending = isUnknown ? 'failed' : reported.ending;
  if (!hasNobodyToAnswer(held)) return finalFailure(reported, { admitted, ending, passed }, health);
  if (ending === 'not_run') return callerLeft(ending);
  // The attempt had failed before the caller disconnected.
  if (reported.reason !== 'caller_left') return callerLeft('failed');
  // A caller that disconnects pays nothing if the account kept it waiting.
  const { key, running, call } = admitted;
  if (departures.isFree(key.id, running)) return callerLeft('failed');
  const begun = reported.hasAnswered === true && call.framing !== 'json';
  return callerLeft(begun ? 'left' : 'left_early');
}

/**
 * The failure to report: the last one, unless another channel was only rate limited. Then a retry
 * is worthwhile, and the caller should know when.
 */
function reportedFailure(failures: readonly CallFailure[]): CallFailure {
  const last = failures.at(-1) ?? callerLeft('not_run');
  if (last.retry === 'never') return last;
  const limited = failures.filter(({ error }) => error.code === 'upstream_rate_limited');
  return limited.sort((a, b) => waitOf(a) - waitOf(b))[0] ?? last;
}

/** A call that continues without its caller keeps its real failure, for the usage record. */
function waitOf({ error }: CallFailure): number {
  return error.retryAfterMs ?? 0;
}

function hasNobodyToAnswer({ admitted, continuesAfterDisconnect: runsOn }: Held): boolean {
  return admitted.running.caller.hasLeft && !runsOn;
}

/** The failure of a call whose caller disconnected. Nobody reads its error text. */
function callerLeft(ending: 'not_run' | 'failed' | 'left_early' | 'left'): CallFailure {
  const reason = 'caller_left';
  return {
    error: new GatewayError('internal_error', 'The caller went away.', { reason }),
    ending,
    retry: 'never',
    verdict: { kind: 'neutral' },
    reason,
    status: undefined,
  };
}
