/**
 * Lets a repeatable call run only once: the first one claims its name, and the others wait for it
 * or get its outcome. Nothing here holds quota.
 */

import { createHash, hash } from 'node:crypto';
import { bodyBudget, fairShares } from '../../bytes/body/fair-shares.ts';
import type { Call } from '../../call.ts';
import type { Clock } from '../../clock.ts';
import { type ErrorCode, GatewayError, isGatewayError, isUpstreamError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import type { GatewayRequest, GatewayResponse } from '../../http.ts';
import type { Settings } from '../../options.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { ClaimRecord } from '../../ports/replies/idempotency-store.ts';
import type { StoredResult } from '../../ports/replies/result-store.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import type { Admitted, Read } from '../call-record.ts';
import { isClaimResult, isFoundResult } from '../ports/port-answers.ts';
import { type PortCalls, portCalls } from '../ports/port-calls.ts';
import type { PortTimer } from '../ports/port-times.ts';
import { shuttingDown } from '../refuse.ts';
import { type ResponseContext, replyHeaders } from '../respond.ts';
import type { RunningCall } from '../running.ts';
import {
  abandonClaim,
  CallInFlight,
  type Claim,
  CollectedReply,
  GrantedClaim,
  maxCopiedBytes,
  noClaim,
  type Outcome,
  type Repeatable,
  resultName,
} from './claim.ts';

/**
 * Either the call may run, under a claim if it is repeatable; or it has run before, and this is the
 * response.
 */
export type ClaimOrRepeat = { readonly claim: Claim } | { readonly repeat: GatewayResponse };

/** An outcome that answers a repetition. */
type FinalOutcome = Exclude<Outcome, { readonly kind: 'free' }>;

/** A repeatable call that wants to run. */
interface ClaimRequest {
  readonly admitted: Admitted;
  readonly repeatable: Repeatable;
  /** Port calls with a longer deadline, because a host's object storage may be slow. */
  readonly resultPorts: PortCalls;
}

/** How long a claim may last beyond the call's total time. */
const leaseMarginMs = 60_000;
/**
 * The pauses between two polls of a call that runs in another process: they double up to the
 * longest.
 */
const firstPollMs = 250;
const maxPollMs = 5_000;
/** Object storage is slower than a store of small records. */
const resultTimeoutMs = 10_000;
const unclaimed: ClaimOrRepeat = { claim: noClaim };

/** Gives the repeatable calls of one gateway permission to run, or their replies. */
export class Idempotency {
  /** By name and fingerprint. The limit of concurrent calls bounds their number. */
  readonly #inFlight = new Map<string, CallInFlight>();
  readonly #copies = fairShares(() => maxCopiedBytes);
  readonly #emit: EventListener;
  readonly #times: PortTimer;

  constructor(emit: EventListener, times: PortTimer) {
    this.#emit = emit;
    this.#times = times;
  }

  /**
   * @throws GatewayError `idempotency_mismatch`, `idempotency_in_progress`, `result_expired`,
   *   `store_unavailable`, `invalid_request` for a malformed key, or the first call's 5xx again
   */
  claimOrRepeat(admitted: Admitted): MaybePromise<ClaimOrRepeat> {
    const repeatable = repeatableOf(admitted);
    return repeatable === undefined ? unclaimed : this.#claimOrWait(admitted, repeatable);
  }

  async #claimOrWait(admitted: Admitted, repeatable: Repeatable): Promise<ClaimOrRepeat> {
    const { received, running } = admitted;
    const { settings, responseContext, secrets } = received;
    const resultSettings = { clock: settings.clock, storeTimeoutMs: resultTimeoutMs };
    const user = { requestId: responseContext.requestId, secrets };
    const resultPorts = portCalls(user, resultSettings, this.#emit, undefined, this.#times);
    const id = `${repeatable.name}.${repeatable.fingerprint}`;
    for (;;) {
      const first = repeatable.ifTaken === 'answer' ? this.#inFlight.get(id) : undefined;
      if (first === undefined) return this.#runAsLeader({ admitted, repeatable, resultPorts }, id);
      const outcome = await untilAborted(first.outcome, running);
      if (outcome.kind !== 'free') return { repeat: replayOutcome(outcome, responseContext) };
    }
  }

  /** Runs the call, also on behalf of the calls that wait for it. */
  async #runAsLeader(request: ClaimRequest, id: string): Promise<ClaimOrRepeat> {
    const { repeatable, resultPorts, admitted } = request;
    const { received } = admitted;
    const callInFlight = new CallInFlight(this.#inFlight, id);
    try {
      const claimId = received.settings.ids();
      const outcome = await claimName(request, claimId);
      if (outcome === undefined) {
        const copy = new CollectedReply(bodyBudget(this.#copies, repeatable.keyId, undefined));
        const use = { received, repeatable, resultPorts, claimId };
        return { claim: new GrantedClaim(use, callInFlight, copy) };
      }
      callInFlight.remove();
      callInFlight.resolve(outcome);
      return { repeat: replayOutcome(outcome, received.responseContext) };
    } catch (error) {
      callInFlight.remove();
      // If only the caller disconnected, nothing is known about the call itself, so one of the
      // waiting calls runs next.
      callInFlight.resolve(
        isCallerDisconnected(error) ? { kind: 'free' } : { kind: 'refused', error },
      );
      throw error;
    }
  }
}

/**
 * Claims the name. Returns undefined if it was granted, else the outcome of the call that has it.
 */
async function claimName(
  request: ClaimRequest,
  claimId: string,
): Promise<FinalOutcome | undefined> {
  const { admitted, repeatable } = request;
  const { model, running, received } = admitted;
  const { settings } = received;
  const { clock } = settings;
  const untilMs = clock.monotonicMs() + { ...settings.timeouts, ...model.timeouts }.firstByteMs;
  for (let waitMs = firstPollMs; ; waitMs = Math.min(2 * waitMs, maxPollMs)) {
    const record = await tryClaim(request, claimId);
    if (record === undefined) return undefined;
    if (record.fingerprint !== repeatable.fingerprint) throw mismatch();
    if (record.state !== 'running') return outcomeOf(record, request);
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0) throw inProgress();
    await untilAborted(pause(Math.min(waitMs, leftMs), clock), running);
  }
}

/**
 * Tries to claim the name. Returns the record of the call that has it, or undefined if it was
 * granted.
 */
async function tryClaim(request: ClaimRequest, claimId: string): Promise<ClaimRecord | undefined> {
  const { repeatable, admitted } = request;
  const { received, plan } = admitted;
  const { responseContext, settings, ports } = received;
  const { requestId } = responseContext;
  // No call takes longer.
  const leaseMs = plan.longestMs + leaseMarginMs;
  const input = { ...repeatable, claimId, requestId, leaseMs };
  try {
    const result = await ports.ask('idempotency', 'claim', isClaimResult, (options) =>
      settings.idempotency.claim(input, options),
    );
    return result.status === 'taken' ? result.record : undefined;
  } catch (error) {
    // The claim may exist although the store did not answer.
    void abandonClaim({ repeatable, claimId, received });
    throw error;
  }
}

async function outcomeOf(record: ClaimRecord, request: ClaimRequest): Promise<FinalOutcome> {
  const { requestId, status, claimId } = record;
  if (record.state !== 'done') return { kind: 'unknown', requestId, status };
  const { repeatable, resultPorts, admitted } = request;
  const { settings } = admitted.received;
  const result = await resultPorts.ask('results', 'get', isFoundResult, (options) =>
    settings.results.get(resultName(repeatable, claimId), options),
  );
  return { kind: 'done', requestId, result: result ?? undefined };
}

/** Waits for a promise, but rejects when the call is aborted. */
function untilAborted<T>(promise: Promise<T>, { caller }: RunningCall): Promise<T> {
  return new Promise((resolve, reject) => {
    caller.onAbort((reason) => reject(abortError(reason)));
    promise.then(resolve, reject);
  });
}

function abortError(reason: Error): GatewayError {
  if (isUpstreamError(reason) && reason.reason === 'draining') return shuttingDown();
  return new GatewayError('internal_error', 'The caller went away.', { reason: 'caller_left' });
}

function isCallerDisconnected(error: unknown): boolean {
  return isGatewayError(error) && error.reason === 'caller_left';
}

function pause(waitMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(waitMs, () => {
      stop();
      resolve();
    });
  });
}

function mismatch(): GatewayError {
  return new GatewayError(
    'idempotency_mismatch',
    'This Idempotency-Key was sent before with another body. Choose a new one for a new call.',
  );
}

function inProgress(): GatewayError {
  return new GatewayError(
    'idempotency_in_progress',
    'A call with this Idempotency-Key is still running. Send it again shortly, with the same key.',
    { retryAfterMs: maxPollMs },
  );
}

const keyHeader = 'idempotency-key';
const countHeader = 'x-stainless-retry-count';
const keptByKeyMs = 24 * 60 * 60 * 1000;
/** An SDK retries within seconds; the same body after this time is a new call. */
const keptForRetryMs = 5 * 60 * 1000;

/**
 * How the call may be repeated. Undefined for most calls: streams and some protocols ignore the
 * header.
 *
 * @throws GatewayError `invalid_request` for a key that is malformed or sent twice
 */
function repeatableOf({
  call,
  key,
  route,
  received: { request, settings },
}: Read): Repeatable | undefined {
  const { takesIdempotencyKey, name: operation } = route.protocol;
  if (!takesIdempotencyKey || call.framing !== 'json') return undefined;
  const owner = { keyId: key.id, operation } as const;
  const values = valuesOf(request, keyHeader);
  if (values.length > 0) {
    const name = nameOf('key', key, call, readKey(values));
    const fingerprint = fingerprintOf(call);
    return { ...owner, name, fingerprint, ifTaken: 'answer', keepMs: keptByKeyMs };
  }
  if (!settings.dedupeSdkRetries) return undefined;
  const fingerprint = fingerprintOf(call);
  return {
    ...owner,
    name: nameOf('retry', key, call, fingerprint),
    fingerprint,
    // Two equal calls are two calls, unless the second says that it is a retry.
    ifTaken: isRetry(request) ? 'answer' : 'replace',
    keepMs: keptForRetryMs,
  };
}

/** True if the call may be answered without running, as far as its headers tell. */
export function mayBeRepeat(
  request: GatewayRequest,
  { takesIdempotencyKey }: Protocol,
  { dedupeSdkRetries }: Pick<Settings, 'dedupeSdkRetries'>,
): boolean {
  if (!takesIdempotencyKey) return false;
  return request.headers[keyHeader] !== undefined || (dedupeSdkRetries && isRetry(request));
}

/**
 * The values of a header. Only the raw list shows that a header was sent twice, because Node joins
 * them.
 */
function valuesOf({ headers, rawHeaders }: GatewayRequest, name: string): readonly string[] {
  if (headers[name] === undefined) return [];
  return rawHeaders.filter(
    (_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1,
  );
}

const bareKey = /^[\x21\x23-\x7e][\x21-\x7e]{0,254}$/;
/** The strings of RFC 8941 §3.3.3, without spaces. */
const quotedKey = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"$/;

/**
 * Reads the key. The quoted string of the IETF draft and the bare text that most clients send name
 * the same key.
 */
function readKey(values: readonly string[]): string {
  const [value = '', second] = values;
  const quoted = quotedKey.exec(value)?.[1];
  const key = quoted === undefined ? value : quoted.replace(/\\(.)/g, '$1');
  const isKey = quoted === undefined ? bareKey.test(key) : key.length <= 255;
  if (second === undefined && isKey) return key;
  throw new GatewayError(
    'invalid_request',
    'The header Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters.',
    { param: keyHeader },
  );
}

function isRetry(request: GatewayRequest): boolean {
  const [count = '', second] = valuesOf(request, countHeader);
  return second === undefined && /^[1-9]\d{0,3}$/.test(count);
}

/** JSON keeps the parts apart, whatever characters they contain. */
function nameOf(
  kind: 'key' | 'retry',
  { id }: ApiKey,
  { protocol, operation }: Call,
  value: string,
): string {
  return hash('sha256', JSON.stringify([kind, id, protocol, operation.name, value]), 'hex');
}

/** Hashes all bytes, including those that the scanned text leaves out. */
function fingerprintOf({ body: { chunks }, modelId, isModelInPath }: Call): string {
  const sum = createHash('sha256');
  if (isModelInPath) sum.update(`${modelId}\n`);
  for (const piece of chunks) sum.update(piece);
  return sum.digest('hex');
}

/**
 * The response to a repeated call, with the request id of the repetition.
 *
 * @throws GatewayError the first call's 5xx again, or `result_expired`
 */
function replayOutcome(outcome: FinalOutcome, context: ResponseContext): GatewayResponse {
  switch (outcome.kind) {
    case 'refused':
      throw outcome.error;
    case 'unknown':
      throw mayHaveRun(outcome);
    case 'done':
      if (outcome.result === undefined) throw notKept(outcome);
      return replayed(outcome.result, outcome.requestId, context);
  }
}

function replayed(
  { headers, body }: StoredResult,
  requestId: string,
  context: ResponseContext,
): GatewayResponse {
  return {
    status: 200,
    headers: {
      ...headers,
      ...replyHeaders(context, 'json'),
      'content-length': String(body.byteLength),
      'idempotent-replayed': 'true',
      'original-request': requestId,
    },
    body,
  };
}

/**
 * The error code for the first call's status. A call whose gateway crashed has none, and one whose
 * stream broke off had sent 200.
 */
const codeOfStatus: ReadonlyMap<number | undefined, ErrorCode> = new Map([
  [500, 'internal_error'],
  [503, 'no_channel'],
  [504, 'upstream_timeout'],
] as const);

function mayHaveRun({
  requestId,
  status,
}: Extract<Outcome, { readonly kind: 'unknown' }>): GatewayError {
  return new GatewayError(
    codeOfStatus.get(status) ?? 'upstream_failed',
    'This call failed before, but may have run. Look for the request named in ' +
      'Original-Request in the usage log. To buy it again, choose a new Idempotency-Key.',
    { reason: 'repeated_unknown', originalRequestId: requestId },
  );
}

function notKept({ requestId }: Extract<Outcome, { readonly kind: 'done' }>): GatewayError {
  return new GatewayError(
    'result_expired',
    'This call has run and was charged, but its reply is no longer kept. ' +
      'To buy it again, choose a new Idempotency-Key.',
    { originalRequestId: requestId },
  );
}
