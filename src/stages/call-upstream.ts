/**
 * Calls the channels of a model, one after the other, until one answers or no other may be tried.
 */

import { readHead } from '../bytes/read-head.ts';
import { spliceMembers } from '../bytes/splice.ts';
import { joined } from '../bytes/sse.ts';
import type { Call } from '../call.ts';
import type { Dialect, FailureReport } from '../dialects/dialect.ts';
import { dialects } from '../dialects/table.ts';
import { GatewayError, isUpstreamError, UpstreamError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { Settings } from '../options.ts';
import type { Channel, DialectName, Model, ProtocolName, Timeouts } from '../ports/catalog.ts';
import type {
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../ports/upstream-client.ts';
import { channelOrder } from '../upstream/choose.ts';
import {
  badReply,
  type CallFailure,
  failedTransport,
  refusedByUpstream,
  sentence,
} from './failure.ts';
import { type Opening, openReply } from './open-reply.ts';
import type { RunningCall } from './running.ts';
import type { Settlement } from './settle.ts';

/** A reply that may go to the caller. */
export type OpenedReply = Extract<Opening, { readonly kind: 'whole' | 'streamed' }>;

/** Either a reply, or why there is none. */
export type UpstreamOutcome =
  | { readonly reply: OpenedReply; readonly channel: Channel }
  | { readonly failure: CallFailure };

export interface UpstreamContext {
  readonly requestId: string;
  readonly settings: Settings;
  readonly upstream: UpstreamClient;
  readonly running: RunningCall;
  readonly settlement: Settlement;
  readonly emit: EventListener;
}

/** The dialect a protocol is relayed in. */
const dialectOf: Readonly<Record<ProtocolName, DialectName>> = {
  chat: 'openai',
  images: 'openai',
  native: 'gemini',
};

const mostChannels = 3;
const errorBodyBytes = 64 * 1024;

/** Never rejects for what an upstream does. */
export async function callUpstream(
  call: Call,
  model: Model,
  context: UpstreamContext,
): Promise<UpstreamOutcome> {
  const able = model.channels.filter(({ dialect }) => dialect === dialectOf[call.protocol]);
  const order = channelOrder(able, model.price, context.settings.random);
  if (order.length === 0) return { failure: noChannel(model, able, context) };
  if (context.running.hasLeft) return { failure: callerLeft('not_run') };
  // An image is bought once it is sent: from here on its caller may go, the call runs on.
  if (call.operation === 'images') context.running.detach();

  let failure: CallFailure | undefined;
  let mayHaveRun = 0;
  for (const channel of order.slice(0, mostChannels)) {
    const outcome = await tryChannel(call, model, channel, context);
    if ('reply' in outcome) return outcome;
    if (context.running.hasLeft && call.operation !== 'images') {
      return {
        failure: callerLeft(outcome.failure.ending === 'not_run' ? 'not_run' : 'left_early'),
      };
    }
    failure = outcome.failure;
    if (failure.retry === 'never') break;
    if (failure.retry === 'once') mayHaveRun += 1;
    if (mayHaveRun > 1) break;
  }
  return { failure: failure ?? noChannel(model, able, context) };
}

async function tryChannel(
  call: Call,
  model: Model,
  channel: Channel,
  context: UpstreamContext,
): Promise<UpstreamOutcome> {
  const { clock } = context.settings;
  const startedMs = clock.monotonicMs();
  const outcome = await attempt(call, model, channel, context);
  const failure = 'failure' in outcome ? outcome.failure : undefined;
  context.settlement.tried(channel, {
    channelId: channel.id,
    status: failure === undefined ? 200 : failure.status,
    reason: failure?.reason,
    durationMs: clock.monotonicMs() - startedMs,
  });
  if (failure !== undefined) {
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
  call: Call,
  model: Model,
  channel: Channel,
  context: UpstreamContext,
): Promise<UpstreamOutcome> {
  const dialect = dialects[channel.dialect];
  let secret = '';
  try {
    secret = await credentialOf(channel);
    const request = prepare(call, model, channel, dialect, secret, context);
    const response = await context.upstream.send(request);
    if (response.status >= 200 && response.status < 300) {
      const opening = await openReply(response, call, dialect);
      if (opening.kind === 'whole' || opening.kind === 'streamed')
        return { reply: opening, channel };
      if (opening.kind === 'failure') return { failure: refused(opening.report) };
      const ending = opening.reason === 'upstream_truncated' ? 'truncated' : 'failed';
      return { failure: badReply(opening.reason, ending, call, model, response.status) };
    }
    return { failure: refused(await readRefusal(response, dialect)) };
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    return { failure: failedTransport(error, call, model) };
  }

  function refused(report: FailureReport): CallFailure {
    const secrets = [secret, channel.baseUrl];
    return refusedByUpstream(report, call, model, {
      hideErrors: channel.hideErrors === true,
      secrets,
    });
  }
}

async function credentialOf({ credential }: Channel): Promise<string> {
  if (typeof credential === 'string') return credential;
  try {
    return await credential();
  } catch (cause) {
    throw new UpstreamError('connect', 'credential_unavailable', { cause });
  }
}

/**
 * Everything of the request that goes out: the caller's bytes with the edits, headers from an
 * allow-list.
 */
function prepare(
  call: Call,
  model: Model,
  channel: Channel,
  dialect: Dialect,
  secret: string,
  context: UpstreamContext,
): UpstreamRequest {
  const upstreamModel = channel.upstreamModel ?? model.id;
  const { origin, base } = splitBaseUrl(channel.baseUrl);
  const timeouts: Timeouts = {
    ...context.settings.timeouts,
    ...model.timeouts,
    ...channel.timeouts,
  };
  const streamed = call.framing !== 'json';
  return {
    method: 'POST',
    origin,
    path: base + dialect.path(call, upstreamModel),
    headers: {
      'content-type': 'application/json',
      accept: call.framing === 'sse' ? 'text/event-stream' : 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
      ...channel.headers,
      ...dialect.credential(secret),
    },
    body: spliceMembers(call.body, call.members, dialect.edits(call, upstreamModel, channel)),
    connectTimeoutMs: timeouts.connectMs,
    firstByteTimeoutMs: streamed ? timeouts.firstByteStreamedMs : timeouts.firstByteMs,
    idleTimeoutMs: timeouts.idleMs,
    freshConnection: call.operation === 'images',
    onAbort: context.running.onAbort,
  };
}

/** `https://host:port` and `/v1`, from a base URL that was checked when the catalog was made. */
function splitBaseUrl(baseUrl: string): { readonly origin: string; readonly base: string } {
  const slash = baseUrl.indexOf('/', baseUrl.indexOf('://') + 3);
  if (slash === -1) return { origin: baseUrl, base: '' };
  return { origin: baseUrl.slice(0, slash), base: baseUrl.slice(slash).replace(/\/+$/, '') };
}

/** Error documents are small; of a larger one the beginning is enough. */
async function readRefusal(response: UpstreamResponse, dialect: Dialect): Promise<FailureReport> {
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
  return dialect.readFailure(response.status, response.headers, body);
}

function noChannel(
  model: Model,
  able: readonly Channel[],
  { requestId, settings, emit }: UpstreamContext,
): CallFailure {
  const restricted = able.some(({ weight }) => weight > 0);
  const reason =
    model.channels.length === 0 ? 'none_configured' : restricted ? 'price_restriction' : 'protocol';
  emit({ type: 'no_channel', requestId, modelId: model.id, reason });
  return {
    error: new GatewayError('no_channel', sentence('no_channel', model), {
      reason,
      retryAfterMs: settings.storeTimeoutMs,
    }),
    ending: 'not_run',
    retry: 'never',
    reason,
    status: undefined,
  };
}

/** Nobody reads this answer; it exists so that every path has one. */
function callerLeft(ending: 'not_run' | 'left_early'): CallFailure {
  const reason = 'caller_left';
  return {
    error: new GatewayError('internal_error', 'The caller went away.', { reason }),
    ending,
    retry: 'never',
    reason,
    status: undefined,
  };
}
