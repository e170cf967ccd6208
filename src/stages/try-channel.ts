/** Tries one channel: sends the call, opens the answer, and notes what came of it. */
import { readHead } from '../bytes/read-head.ts';
import { joined } from '../bytes/sse.ts';
import type { Call } from '../call.ts';
import type { Ending } from '../charge-policy.ts';
import { retryAfterMs } from '../dialects/retry-after.ts';
import type { DialectTable } from '../dialects/table.ts';
import type { FailureReport } from '../dialects/tap.ts';
import { isUpstreamError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { HeaderMap } from '../http.ts';
import type { Settings } from '../options.ts';
import type { Channel, Model, Timeouts } from '../ports/catalog.ts';
import type { ApiKey } from '../ports/key-store.ts';
import type { UpstreamClient, UpstreamResponse } from '../ports/upstream-client.ts';
import type { ChannelHealth, ChannelLease } from '../upstream/channel-health.ts';
import type { RetryBudget } from '../upstream/retry-budget.ts';
import type { Exchange, WholeReply } from './exchange.ts';
import {
  badReply,
  type CallFailure,
  type Disclosure,
  failedTransport,
  refusedByUpstream,
} from './failure.ts';
import { type Opening, openReply, type StreamedReply } from './open-reply.ts';
import type { RunningCall } from './running.ts';
import { sendUpstream } from './send-upstream.ts';
import type { Settlement } from './settle.ts';
import { credentialOf, secretsOf, upstreamRequest } from './upstream-request.ts';

/** A reply that may go to the caller. */
export type OpenedReply = WholeReply | StreamedReply;

/** A reply, and what handing it on needs to know of where it comes from. */
export interface Answer {
  readonly reply: OpenedReply;
  readonly disclosure: Disclosure;
  /** Headers that tell the caller about a translated call. */
  readonly notes: HeaderMap;
  /** The channel is in use until the reply is over; none where nobody was asked. */
  readonly lease: ChannelLease | undefined;
  /** What the upstream answered with; none where nobody was asked. */
  readonly status: number | undefined;
}

/** Either a reply, or why there is none. */
export type UpstreamOutcome = Answer | { readonly failure: CallFailure };

/** What calling upstream takes beside the call. */
export interface UpstreamContext {
  readonly requestId: string;
  readonly key: ApiKey;
  readonly settings: Settings;
  readonly upstream: UpstreamClient;
  readonly health: ChannelHealth;
  readonly retries: RetryBudget;
  readonly running: RunningCall;
  readonly settlement: Settlement;
  readonly emit: EventListener;
  readonly dialects: DialectTable;
  /** The call runs to its end, whether or not its caller is there. */
  readonly runsOn: boolean;
}

/** A call on its way to one channel. */
export interface Try {
  readonly call: Call;
  readonly model: Model;
  readonly channel: Channel;
  readonly exchange: Exchange;
  /** What is left of the wait for a first byte. */
  readonly firstByteMs: number;
  /** Counted from 1: with the request's id, the name of this try in events and records. */
  readonly attempt: number;
}

const errorBodyBytes = 64 * 1024;

/** Never rejects for what an upstream does. */
export async function tryChannel(asked: Try, context: UpstreamContext): Promise<UpstreamOutcome> {
  const { channel, model } = asked;
  const { clock } = context.settings;
  const startedMs = clock.monotonicMs();
  const lease = context.health.begin(channel, upstreamModelOf(channel, model));
  // Whatever becomes of the call, the channel is free when it is done.
  context.running.onDone(() => lease.end({ kind: 'nothing' }));
  const outcome = await attempt(asked, telling(lease, asked, context), context);
  const failure = 'failure' in outcome ? outcome.failure : undefined;
  context.settlement.tried(channel, {
    channelId: channel.id,
    status: 'failure' in outcome ? outcome.failure.status : outcome.status,
    reason: failure?.reason,
    mayHaveRun: endingOf(outcome) !== 'not_run',
    durationMs: clock.monotonicMs() - startedMs,
  });
  if (failure === undefined) {
    lease.answered();
    return outcome;
  }
  lease.end(failure.verdict);
  if (failure.reason !== 'caller_left') tellFailure(failure, asked, context);
  return outcome;
}

/** A reply that breaks off later is a failed try too. */
function telling(lease: ChannelLease, asked: Try, context: UpstreamContext): ChannelLease {
  return {
    answered: lease.answered,
    end: (verdict) => {
      lease.end(verdict);
      if ('reason' in verdict) tellFailure({ status: 200, reason: verdict.reason }, asked, context);
    },
  };
}

function endingOf(outcome: UpstreamOutcome): Ending | undefined {
  if ('failure' in outcome) return outcome.failure.ending;
  return outcome.reply.kind === 'whole' ? outcome.reply.ending : undefined;
}

/** How a channel names the model to its upstream. */
export function upstreamModelOf({ upstreamModel }: Channel, { id }: Model): string {
  return upstreamModel ?? id;
}

/** The channel's own waits, then the model's, then the gateway's. */
export function timeoutsOf(model: Model, channel: Channel, { timeouts }: Settings): Timeouts {
  return { ...timeouts, ...model.timeouts, ...channel.timeouts };
}

async function attempt(
  { call, model, channel, exchange, firstByteMs }: Try,
  lease: ChannelLease,
  context: UpstreamContext,
): Promise<UpstreamOutcome> {
  const { upstream, running, settings } = context;
  try {
    const waits = timeoutsOf(model, channel, settings);
    const { connectMs } = waits;
    const secret = await credentialOf(channel, connectMs, context);
    const disclosure = disclosureOf(channel, secret);
    const request = {
      ...upstreamRequest(exchange, channel, secret),
      connectTimeoutMs: connectMs,
      freshConnection: call.operation === 'images',
    };
    running.send({ ...waits, firstByteMs });
    const response = await sendUpstream(upstream, request, running);
    const opening = await opened(response, exchange, context);
    const { notes } = exchange;
    const { status } = response;
    switch (opening.kind) {
      case 'failure': {
        const reply = exchange.answerTo(opening.report);
        if (reply !== undefined)
          return { reply, disclosure, notes, lease, status: opening.report.status };
        return { failure: refusedByUpstream(opening.report, call, model, disclosure) };
      }
      case 'bad':
        return { failure: badReply(opening, call, model, status) };
      case 'whole':
        return { reply: opening, disclosure, notes: opening.notes ?? notes, lease, status };
      default:
        return { reply: opening, disclosure, notes, lease, status };
    }
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    return { failure: failedTransport(error, call, model) };
  }
}

function disclosureOf(channel: Channel, secret: string): Disclosure {
  return {
    hideErrors: channel.hideErrors === true,
    secrets: secretsOf(channel, secret),
    rejectsBeforeWork: channel.rejectsBeforeWork === true,
  };
}

async function opened(
  response: UpstreamResponse,
  exchange: Exchange,
  { running, settings }: UpstreamContext,
): Promise<Opening> {
  const { status } = response;
  if (status >= 200 && status < 300) return openReply(response, exchange, running);
  return { kind: 'failure', report: await readRefusal(response, exchange, settings) };
}

/** Error documents are small; of a larger one the beginning is enough. */
async function readRefusal(
  { status, headers, body }: UpstreamResponse,
  { upstream }: Exchange,
  { clock }: Settings,
): Promise<FailureReport> {
  const report = upstream.readFailure(status, await readSome(body));
  return { ...report, retryAfterMs: report.retryAfterMs ?? retryAfterMs(headers, clock.now()) };
}

async function readSome(body: UpstreamResponse['body']): Promise<Uint8Array> {
  let length = 0;
  try {
    const head = await readHead(body, (chunk) => {
      length += chunk.length;
      return length > errorBodyBytes;
    });
    if (!head.ended) head.rest.abort();
    return joined(head.chunks);
  } catch {
    // The status is known; what the body would have said is lost.
    return new Uint8Array(0);
  }
}

function tellFailure(
  { status, reason }: Pick<CallFailure, 'status' | 'reason'>,
  { model, channel, attempt: number }: Try,
  { emit, requestId }: UpstreamContext,
): void {
  emit({
    type: 'upstream_failed',
    requestId,
    attempt: number,
    modelId: model.id,
    channelId: channel.id,
    status,
    reason,
  });
}
