/**
 * Calls the channels of a model, one after the other, until one answers or no other may be tried.
 */

import { readHead } from '../bytes/read-head.ts';
import { joined } from '../bytes/sse.ts';
import type { Call } from '../call.ts';
import { type DialectTable, serves } from '../dialects/table.ts';
import type { FailureReport } from '../dialects/tap.ts';
import { GatewayError, isGatewayError, isUpstreamError, UpstreamError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { HeaderMap } from '../http.ts';
import type { Settings } from '../options.ts';
import type { Channel, Model, Timeouts } from '../ports/catalog.ts';
import type {
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../ports/upstream-client.ts';
import { channelOrder } from '../upstream/choose.ts';
import { transportError } from '../upstream/transport-error.ts';
import type { Exchange, WholeReply } from './exchange.ts';
import {
  badReply,
  type CallFailure,
  type Disclosure,
  failedTransport,
  refusedByUpstream,
  sentence,
} from './failure.ts';
import { type Opening, openReply, type StreamedReply } from './open-reply.ts';
import { type Prepared, preparation } from './prepare.ts';
import type { RunningCall } from './running.ts';
import { sendUpstream } from './send-upstream.ts';
import type { Settlement } from './settle.ts';
import { within } from './within.ts';

/** A reply that may go to the caller. */
export type OpenedReply = WholeReply | StreamedReply;

/** Either a reply, or why there is none. */
export type UpstreamOutcome =
  | {
      readonly reply: OpenedReply;
      readonly disclosure: Disclosure;
      /** Headers that tell the caller about a translated call. */
      readonly notes: HeaderMap;
    }
  | { readonly failure: CallFailure };

/** What calling upstream takes beside the call. */
export interface UpstreamContext {
  readonly requestId: string;
  readonly settings: Settings;
  readonly upstream: UpstreamClient;
  readonly running: RunningCall;
  readonly settlement: Settlement;
  readonly emit: EventListener;
  readonly dialects: DialectTable;
}

const mostChannels = 3;
/**
 * Another channel is asked only if this share of the wait for a first byte is left (FAULTS §4.2).
 */
const leastShareLeft = 1 / 3;
/** Nothing says when a channel will be there: long enough not to be hammered. */
const noChannelWaitMs = 10_000;
const errorBodyBytes = 64 * 1024;
const leastSecretChars = 6;

/** Never rejects for what an upstream does. */
export async function callUpstream(
  call: Call,
  model: Model,
  context: UpstreamContext,
): Promise<UpstreamOutcome> {
  if (context.running.hasLeft) return { failure: callerLeft('not_run') };
  // An image is bought once it is sent: from here on its caller may go, the call runs on.
  if (call.operation === 'images') context.running.detach();
  return askInTurn(call, model, context);
}

async function askInTurn(
  call: Call,
  model: Model,
  context: UpstreamContext,
): Promise<UpstreamOutcome> {
  const { clock, random } = context.settings;
  const able = model.channels.filter(({ dialect }) =>
    serves(context.dialects[dialect], call.protocol),
  );
  const prepare = preparation(call, model, context);
  const startedMs = clock.monotonicMs();
  let last: CallFailure | undefined;
  let unsaid: GatewayError | undefined;
  let tries = 0;
  let mayHaveRun = 0;
  for (const channel of channelOrder(able, model.price, random)) {
    const dialect = context.dialects[channel.dialect];
    if (dialect === undefined) continue;
    const prepared = sayable(() => prepare(channel, dialect));
    if (isGatewayError(prepared)) {
      unsaid ??= prepared;
      continue;
    }
    if ('kind' in prepared) {
      return { reply: prepared, disclosure: nothingToHide, notes: prepared.notes ?? {} };
    }
    if (tries === mostChannels) break;
    tries += 1;
    const waitMs = firstByteWaitMs(call, timeoutsOf(model, channel, context));
    const leftMs = Math.ceil(waitMs - (clock.monotonicMs() - startedMs));
    if (last !== undefined && leftMs < waitMs * leastShareLeft) break;
    const outcome = await tryChannel(prepared, call, model, channel, context, leftMs);
    if ('reply' in outcome) return outcome;
    last = outcome.failure;
    if (last.ending !== 'not_run') mayHaveRun += 1;
    if (hasNobodyToAnswer(call, context)) break;
    if (last.retry === 'never' || (last.retry === 'once' && mayHaveRun > 1)) break;
  }
  if (last === undefined) {
    return { failure: unsaid === undefined ? noChannel(model, able, context) : notSent(unsaid) };
  }
  // An earlier try may have run although the last one surely did not.
  const ending = last.ending === 'not_run' && mayHaveRun > 0 ? 'failed' : last.ending;
  if (!hasNobodyToAnswer(call, context)) return { failure: { ...last, ending } };
  if (ending === 'not_run') return { failure: callerLeft(ending) };
  // A stream whose head had come was being made: it has its prompt's price.
  const begun = last.hasAnswered === true && call.framing !== 'json';
  return { failure: callerLeft(begun ? 'left' : 'left_early') };
}

/** What the caller asked for may be beyond one upstream's words and not beyond the next one's. */
function sayable(prepare: () => Prepared): Prepared | GatewayError {
  try {
    return prepare();
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}

const nothingToHide: Disclosure = { hideErrors: false, secrets: [] };

/** An image runs on for the record; nothing else does. */
function hasNobodyToAnswer({ operation }: Call, { running }: UpstreamContext): boolean {
  return running.hasLeft && operation !== 'images';
}

async function tryChannel(
  exchange: Exchange,
  call: Call,
  model: Model,
  channel: Channel,
  context: UpstreamContext,
  firstByteTimeoutMs: number,
): Promise<UpstreamOutcome> {
  const { clock } = context.settings;
  const startedMs = clock.monotonicMs();
  const outcome = await attempt(exchange, call, model, channel, context, firstByteTimeoutMs);
  const failure = 'failure' in outcome ? outcome.failure : undefined;
  context.settlement.tried(channel, {
    channelId: channel.id,
    status: failure === undefined ? 200 : failure.status,
    reason: failure?.reason,
    durationMs: clock.monotonicMs() - startedMs,
  });
  if (failure !== undefined && failure.reason !== 'caller_left') {
    context.emit({
      type: 'upstream_failed',
      requestId: context.requestId,
      modelId: model.id,
      channelId: channel.id,
      status: failure.status,
      reason: failure.reason,
    });
  }
  return outcome;
}

async function attempt(
  exchange: Exchange,
  call: Call,
  model: Model,
  channel: Channel,
  context: UpstreamContext,
  firstByteTimeoutMs: number,
): Promise<UpstreamOutcome> {
  const { upstream } = exchange;
  try {
    const { connectMs, idleMs, totalMs } = timeoutsOf(model, channel, context);
    const secret = await credentialOf(channel, connectMs, context);
    const disclosure = {
      hideErrors: channel.hideErrors === true,
      secrets: secretsOf(channel, secret),
    };
    const request = requestOf(exchange, channel, secret);
    context.running.send(totalMs);
    const response = await sendUpstream(
      context.upstream,
      {
        ...request,
        connectTimeoutMs: connectMs,
        firstByteTimeoutMs,
        idleTimeoutMs: idleMs,
        freshConnection: call.operation === 'images',
      },
      context.running,
    );
    const { status } = response;
    const opening: Opening =
      status >= 200 && status < 300
        ? await openReply(response, exchange)
        : { kind: 'failure', report: await readRefusal(response, upstream) };
    const { notes } = exchange;
    switch (opening.kind) {
      case 'failure': {
        const reply = exchange.answerTo(opening.report);
        if (reply !== undefined) return { reply, disclosure, notes };
        return { failure: refusedByUpstream(opening.report, call, model, disclosure) };
      }
      case 'bad':
        return { failure: badReply(opening, call, model, status) };
      case 'whole':
        return { reply: opening, disclosure, notes: opening.notes ?? notes };
      default:
        return { reply: opening, disclosure, notes };
    }
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    return { failure: failedTransport(error, call, model) };
  }
}

/**
 * What an upstream may echo and no caller may read. A header's value may be a tenant's token; one
 * that is shorter than any secret would only tear holes into words.
 */
function secretsOf({ baseUrl, headers = {} }: Channel, secret: string): readonly string[] {
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)]);
  const told = values.filter(({ length }) => length >= leastSecretChars);
  // The longest first: one may be part of another.
  return [secret, baseUrl, ...told].sort((a, b) => b.length - a.length);
}

/** A function of the host may fail or hang like any store; nothing has been sent then. */
async function credentialOf(
  { credential }: Channel,
  timeoutMs: number,
  { running, settings }: UpstreamContext,
): Promise<string> {
  if (typeof credential === 'string') return credential;
  try {
    const secret: unknown = await new Promise((resolve, reject) => {
      running.onAbort(reject);
      within(credential(), timeoutMs, settings.clock).then(resolve, reject);
    });
    if (typeof secret === 'string') return secret;
  } catch (cause) {
    if (isUpstreamError(cause)) throw transportError(cause, 'connect');
    throw new UpstreamError('connect', 'credential_unavailable', { cause });
  }
  throw new UpstreamError('connect', 'credential_unavailable');
}

/** Everything of the request that goes out; headers from an allow-list. */
function requestOf(
  exchange: Exchange,
  channel: Channel,
  secret: string,
): Pick<UpstreamRequest, 'method' | 'origin' | 'path' | 'headers' | 'body'> {
  const { origin, base } = splitBaseUrl(channel.baseUrl);
  return {
    method: 'POST',
    origin,
    path: base + exchange.path,
    headers: {
      'content-type': 'application/json',
      accept: exchange.framing === 'sse' ? 'text/event-stream' : 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
      ...lowerCased(channel.headers),
      ...exchange.upstream.credential(secret),
    },
    body: exchange.body,
  };
}

/** A host may write `X-Goog-Api-Key`: two spellings of one name would go out as two headers. */
function lowerCased(headers: Channel['headers'] = {}): HeaderMap {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function timeoutsOf(model: Model, channel: Channel, { settings }: UpstreamContext): Timeouts {
  return { ...settings.timeouts, ...model.timeouts, ...channel.timeouts };
}

function firstByteWaitMs({ framing }: Call, timeouts: Timeouts): number {
  return framing === 'json' ? timeouts.firstByteMs : timeouts.firstByteStreamedMs;
}

/** `https://host:port` and `/v1`, from a base URL that was checked when the catalog was made. */
function splitBaseUrl(baseUrl: string): { readonly origin: string; readonly base: string } {
  const slash = baseUrl.indexOf('/', baseUrl.indexOf('://') + 3);
  if (slash === -1) return { origin: baseUrl, base: '' };
  return { origin: baseUrl.slice(0, slash), base: baseUrl.slice(slash).replace(/\/+$/, '') };
}

/** Error documents are small; of a larger one the beginning is enough. */
async function readRefusal(
  response: UpstreamResponse,
  upstream: Exchange['upstream'],
): Promise<FailureReport> {
  let length = 0;
  let body: Uint8Array;
  try {
    const head = await readHead(response.body, (chunk) => {
      length += chunk.length;
      return length > errorBodyBytes;
    });
    if (!head.ended) head.rest.abort();
    body = joined(head.chunks);
  } catch {
    // The status is known; what the body would have said is lost.
    body = new Uint8Array(0);
  }
  return upstream.readFailure(response.status, response.headers, body);
}

function noChannelReason(
  { channels }: Model,
  able: readonly Channel[],
): 'none_configured' | 'protocol' | 'price_restriction' {
  if (able.some(({ weight }) => weight > 0)) return 'price_restriction';
  return channels.length > 0 && able.length === 0 ? 'protocol' : 'none_configured';
}

function noChannel(
  model: Model,
  able: readonly Channel[],
  { requestId, emit }: UpstreamContext,
): CallFailure {
  const reason = noChannelReason(model, able);
  emit({ type: 'no_channel', requestId, modelId: model.id, reason });
  return {
    error: new GatewayError('no_channel', sentence('no_channel', model), {
      reason,
      retryAfterMs: noChannelWaitMs,
    }),
    ending: 'not_run',
    retry: 'never',
    reason,
    status: undefined,
  };
}

/** No upstream has the words for this call. */
function notSent(error: GatewayError): CallFailure {
  return { error, ending: 'not_run', retry: 'never', reason: error.code, status: undefined };
}

/** Nobody reads this answer; it exists so that every path has one. */
function callerLeft(ending: 'not_run' | 'left_early' | 'left'): CallFailure {
  const reason = 'caller_left';
  return {
    error: new GatewayError('internal_error', 'The caller went away.', { reason }),
    ending,
    retry: 'never',
    reason,
    status: undefined,
  };
}
