/**
 * Reads and deletes replies that a provider has stored, for the key that got them: asks the account
 * that has the reply. Nothing is held or charged.
 */

import { operations } from '../../apis.ts';
import { parseBounded } from '../../bounded-json.ts';
import { concatBytes } from '../../bytes/sse.ts';
import type { AccountSecret } from '../../dialects/hosting.ts';
import { GatewayError, isGatewayError, isUpstreamError } from '../../errors.ts';
import type { GatewayResponse } from '../../http.ts';
import { isJsonObject, items } from '../../json.ts';
import type { Channel, Model } from '../../ports/models/catalog.ts';
import type { IndexEntry } from '../../ports/replies/response-index.ts';
import type { StoredReplyRoute } from '../../protocols/protocol.ts';
import { readHead } from '../../upstream/body/head.ts';
import { beginningCall } from '../begin.ts';
import type { Authenticated } from '../call-record.ts';
import type { ModelLookup } from '../models/model-errors.ts';
import type { Access, ChannelPlan, ModelPlans } from '../models/model-plan.ts';
import { areEntries, areItems, isAnything } from '../ports/port-answers.ts';
import { limit } from '../rates/limit.ts';
import { jsonReply, paced, wholeReply } from '../respond.ts';
import { type RunningCall, type RunningCalls, sendWhole } from '../running.ts';
import type { Upstreams } from '../upstream/attempt.ts';
import { noChannel } from '../upstream/candidates.ts';
import { askCredential, secretIn, servingAccount } from '../upstream/credential.ts';
import { errorText, failedTransport, refusedByUpstream } from '../upstream/failure.ts';
import { readErrorBody } from '../upstream/open-response.ts';
import { sendHosted } from '../upstream/send-hosted.ts';
import { type OpenedResponse, sendUpstream } from '../upstream/send-upstream.ts';
import { idSyntax, onlyItemsKept, storedReplyNotFound } from './reference-errors.ts';
import { responseOwnerOf } from './references.ts';

export interface StoredReplyDeps extends ModelLookup {
  readonly intake: { readonly calls: RunningCalls };
  readonly plans: ModelPlans;
  readonly upstreams: Upstreams;
}

interface StoredReplyRequest extends Authenticated {
  readonly route: StoredReplyRoute;
  readonly running: RunningCall;
}

const maxReplyBytes = 32 * 1024 * 1024;

/** Answers a request for a stored reply. */
export async function storedReply(
  authenticated: Authenticated,
  route: StoredReplyRoute,
  deps: StoredReplyDeps,
): Promise<GatewayResponse> {
  const { received } = authenticated;
  const running = deps.intake.calls.begin(beginningCall(authenticated, route.protocol));
  try {
    await limit(authenticated, route.caller);
    const request = { ...authenticated, route, running };
    if (!idSyntax.test(route.id)) throw storedReplyNotFound(route.id);
    const isDelete = received.request.method === 'DELETE';
    if (!isDelete) {
      route.replies.checkQuery(new URLSearchParams(received.request.search), route.part);
    }
    if (route.replies.isOwn(route.id)) {
      if (!isDelete) throw onlyItemsKept(route.id);
      return await forgetItems(request);
    }
    const bytes = await askProvider(request, await entryOf(request), deps);
    if (isDelete) await forgetReply(request);
    const response = wholeReply(received.responseContext, bytes, 'json', {});
    return paced(response, (pieces) => sendWhole(running, pieces));
  } finally {
    running.done();
  }
}

async function entryOf({ key, route, received }: StoredReplyRequest): Promise<IndexEntry> {
  const { index } = received.settings.responses;
  const owner = responseOwnerOf(key);
  const [entry] = await received.ports.ask('response_index', 'find', areEntries(1), (options) =>
    index.find(owner, [route.id], options),
  );
  if (!entry || entry.owner !== owner || entry.kind !== 'response') {
    throw storedReplyNotFound(route.id);
  }
  return entry;
}

async function forgetItems(request: StoredReplyRequest): Promise<GatewayResponse> {
  const { key, route, received } = request;
  const { items: store } = received.settings.responses;
  const owner = responseOwnerOf(key);
  if (store === undefined) throw storedReplyNotFound(route.id);
  const [list] = await received.ports.ask('items', 'get', areItems(1), (options) =>
    store.get(owner, [route.id], options),
  );
  if (!list) throw storedReplyNotFound(route.id);
  const parsed = items(parseBounded(Buffer.from(list).toString('utf8')));
  const ids = parsed.filter((id) => typeof id === 'string');
  await received.ports.ask('items', 'forget', isAnything, (options) =>
    store.forget(owner, [route.id, ...ids], options),
  );
  return jsonReply(received.responseContext, route.replies.deleted(route.id));
}

/** The provider has deleted the reply. The index forgets it at the latest when it expires. */
async function forgetReply({ key, route, received }: StoredReplyRequest): Promise<void> {
  const { index } = received.settings.responses;
  try {
    await received.ports.ask('response_index', 'forget', isAnything, (options) =>
      index.forget(responseOwnerOf(key), [route.id], options),
    );
  } catch {
    // `ports.ask` has reported it. A later request gets the provider's own 404.
  }
}

async function askProvider(
  request: StoredReplyRequest,
  entry: IndexEntry,
  deps: StoredReplyDeps,
): Promise<Uint8Array> {
  const { route, received } = request;
  const { ports, settings } = received;
  const model = await ports.ask('catalog', 'find', deps.records.isModelOrMissing, () =>
    settings.catalog.find(entry.modelId),
  );
  if (!model) throw storedReplyNotFound(route.id);
  received.progress.modelId = model.id;
  const plan = await deps.plans.of(model, settings);
  const { protocol } = route;
  const plans = model.channels.map(plan.channel);
  const channels = plans.filter((one) => one.isRelayed(protocol, protocol.operation));
  for (const channelPlan of channels) {
    const secret = await secretFor(channelPlan, request, { model, entry }, deps.upstreams);
    if (secret === undefined) continue;
    const read = (): Promise<Uint8Array> => send(channelPlan, secret, request, { model, deps });
    if (received.request.method === 'DELETE' || route.part !== undefined) return await read();
    return await reportRead(request, { model, channel: channelPlan.channel }, read);
  }
  const choice = { kind: 'none', reason: 'other_account' } as const;
  throw noChannel({ model, received }, choice, deps.upstreams.emit).error;
}

/** The secret of the channel, if it is one of the account that has the reply, and may be used. */
async function secretFor(
  { channel, timeouts, upstreamModel }: ChannelPlan,
  { key, running, received }: StoredReplyRequest,
  { model, entry }: { readonly model: Model; readonly entry: IndexEntry },
  { health, credentialFunctions }: Upstreams,
): Promise<AccountSecret | undefined> {
  const isOff = (): boolean => {
    const kind = { isBoughtOnce: false, hasTried: false };
    const found = health.availability(channel, upstreamModel, kind, undefined);
    return found.kind === 'unavailable' && found.reason === 'switched_off';
  };
  if (isOff()) return undefined;
  const { credential } = channel;
  if (typeof credential === 'string') {
    return servingAccount(channel, undefined) === entry.account
      ? { secret: credential, form: 'secret' }
      : undefined;
  }
  const asking = { key, model, running, received };
  const { connectMs } = timeouts;
  const answer = await askCredential(channel, credential, connectMs, asking, credentialFunctions);
  if (answer.kind === 'none' || servingAccount(channel, answer) !== entry.account) return undefined;
  try {
    return secretIn(answer);
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    throw failedTransport(error, asCall, model).error;
  }
}

/** How failures are judged: as those of a free call with a whole reply. */
const asCall = { operation: operations.count_tokens, framing: 'json' } as const;

async function send(
  channelPlan: ChannelPlan,
  { secret, form }: AccountSecret,
  request: StoredReplyRequest,
  { model, deps }: { readonly model: Model; readonly deps: StoredReplyDeps },
): Promise<Uint8Array> {
  const {
    route,
    running,
    received: { settings },
  } = request;
  const { freeDisconnects } = deps.upstreams;
  const { timeouts, activityName } = channelPlan;
  running.hold.limitTime(settings.clock.monotonicMs(), timeouts.totalMs);
  running.startAttempt(timeouts, freeDisconnects.lastActivity(activityName));
  try {
    const access = channelPlan.access(secret, form);
    const response = await sendRequest(channelPlan, access, request, deps.upstreams);
    if (response.status >= 200 && response.status < 300) return await documentOf(response, model);
    if (response.status === 404) {
      response.body.abort();
      throw storedReplyNotFound(route.id);
    }
    const body = await readErrorBody(response.body);
    const report = channelPlan.dialect?.readFailure(response.status, body, response.headers);
    if (report === undefined) throw storedReplyNotFound(route.id);
    throw refusedByUpstream(report, asCall, model, access).error;
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    throw failedTransport(error, asCall, model).error;
  }
}

function sendRequest(
  channelPlan: ChannelPlan,
  access: Access,
  { received, route, running }: StoredReplyRequest,
  { client, endOfReplyTurn }: Upstreams,
): Promise<OpenedResponse> {
  const { origin, basePath, timeouts, dialect, upstreamModel } = channelPlan;
  const { 'content-type': _none, ...headers } = access.headers.json;
  const ownPath = pathOf(route, received.request.search);
  const hosted = { operation: 'content', framing: 'json', upstreamModel } as const;
  const hosting = dialect?.hosting;
  const request = {
    method: received.request.method === 'DELETE' ? 'DELETE' : 'GET',
    origin,
    path: basePath + (hosting?.path(ownPath, hosted) ?? ownPath),
    headers,
    body: [],
    connectTimeoutMs: timeouts.connectMs,
    freshConnection: false,
  } as const;
  const sending = { client, endOfReplyTurn, running, latest: { status: undefined } };
  if (hosting === undefined) return sendUpstream(request, sending);
  const nowMs = received.settings.clock.now();
  return sendHosted(request, { ...sending, hosting, hosted, access, nowMs });
}

/** The path below the base URL, with the parameters of the query that are known. */
function pathOf({ id, part, replies }: StoredReplyRoute, search: string): string {
  const known = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(search)) {
    const plain = name.replace(/\[\d*\]$/, '');
    if (replies.parameters.includes(plain)) known.append(name, value);
  }
  const query = known.size === 0 ? '' : `?${known}`;
  return `${replies.upstreamFolder}/${id}${part === undefined ? '' : `/${part}`}${query}`;
}

/** A reply that is no JSON object, such as the page of a proxy, is not passed on. */
async function documentOf(response: OpenedResponse, model: Model): Promise<Uint8Array> {
  const bytes = await wholeBody(response);
  const document = parseBounded(Buffer.from(bytes).toString('utf8'));
  if (isJsonObject(document)) return bytes;
  const reason = 'upstream_protocol_error';
  throw new GatewayError('upstream_failed', errorText('upstream_failed', model), { reason });
}

async function wholeBody({ body }: OpenedResponse): Promise<Uint8Array> {
  let length = 0;
  const head = await readHead(body, (chunk) => {
    length += chunk.length;
    return length > maxReplyBytes;
  });
  if (head.ended && length <= maxReplyBytes) return concatBytes([head.bytes]);
  body.abort();
  throw new GatewayError('upstream_failed', 'The stored response is too large.', {
    reason: 'upstream_reply_too_large',
  });
}

interface ReplyRequest extends Authenticated {
  readonly route: StoredReplyRoute;
}

interface AskedChannel {
  readonly model: Model;
  readonly channel: Channel;
}

/** Reads, and emits one event at the end. Rejects as `read` does. */
async function reportRead<T>(
  { received, key, route }: ReplyRequest,
  { model, channel }: AskedChannel,
  read: () => Promise<T>,
): Promise<T> {
  const { emit, settings, responseContext } = received;
  const type = 'stored_reply_read';
  if (!emit.wants({ type })) return await read();
  const { clock } = settings;
  const [startedAtMs, startedMs] = [clock.now(), clock.monotonicMs()];
  const report = (error: unknown): void =>
    emit({
      type,
      requestId: responseContext.requestId,
      keyId: key.id,
      group: key.group,
      protocol: route.protocol.name,
      modelId: model.id,
      channelId: channel.id,
      dialect: channel.dialect,
      responseId: route.id,
      startedAtMs,
      durationMs: clock.monotonicMs() - startedMs,
      ...failureOf(error),
    });
  try {
    const reply = await read();
    report(undefined);
    return reply;
  } catch (error) {
    report(error);
    throw error;
  }
}

function failureOf(error: unknown) {
  if (error === undefined) return { code: undefined, reason: undefined };
  if (!isGatewayError(error)) return { code: 'internal_error', reason: undefined } as const;
  return { code: error.code, reason: error.reason };
}
