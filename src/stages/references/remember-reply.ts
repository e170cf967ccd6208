/**
 * Remembers what later calls may refer to in a reply, before its caller has the end of it. A store
 * that is slow or down delays a reply only briefly.
 */

import type { ReferableItem, ReferableReply } from '../../dialects/taps/tap.ts';
import { errorClass } from '../../errors.ts';
import { failedPort } from '../../events/thrown.ts';
import type { Usage } from '../../money.ts';
import { isPromiseLike, type MaybePromise } from '../../ports/call-options.ts';
import { exactIdOf } from '../../ports/models/model-defaults.ts';
import type { PortName } from '../../ports/port-failure.ts';
import type { StoredItem } from '../../ports/replies/item-store.ts';
import type { IndexEntry } from '../../ports/replies/response-index.ts';
import { within } from '../../ports/within.ts';
import type { Held } from '../call-record.ts';
import { areTexts } from '../ports/port-answers.ts';
import type { WholeReply } from '../prepare/prepared-call.ts';
import type { UpstreamReply } from '../upstream/attempt.ts';
import { safeError } from '../upstream/shown-error.ts';
import { idSyntax } from './reference-errors.ts';
import { responseOwnerOf } from './references.ts';

/** The maximum time that a reply waits for a store. */
const maxWaitMs = 250;
/** The most entries of one reply; see `ResponseIndex`. */
const maxEntries = 1_024;

export interface ServedReply {
  readonly referable: ReferableReply;
  readonly usage: Usage | undefined;
  /** The account that has it, if it was relayed. */
  readonly account: string;
}

/**
 * Remembers a reply. Returns undefined if that is done already, else a promise that resolves when
 * it is done or has failed. Never throws or rejects: failures are events.
 */
export function rememberReply(reply: ServedReply, held: Held): Promise<unknown> | undefined {
  const remembering = remember(reply, held);
  const keeping = keepItems(reply, held);
  if (remembering === undefined || keeping === undefined) return remembering ?? keeping;
  return Promise.all([remembering, keeping]);
}

/** Remembers a whole reply before it is written. */
export function rememberWhole(
  { referable, usage }: WholeReply,
  { account }: UpstreamReply,
  held: Held,
): Promise<unknown> | undefined {
  if (referable === undefined || account === undefined) return undefined;
  return rememberReply({ referable, usage, account }, held);
}

/**
 * Records in the index what the provider of a relayed reply may have stored, and whose encrypted
 * content is in the rest.
 */
function remember(
  { referable, usage, account }: ServedReply,
  held: Held,
): Promise<void> | undefined {
  const { model, key, received, route, call } = held.admitted;
  const { clock, responses } = received.settings;
  const { replyId, items } = referable;
  if (items.some(isWritten)) return undefined;
  const common = {
    owner: responseOwnerOf(key),
    account,
    modelId: exactIdOf(model),
    expiresAtMs: clock.now() + responses.indexTtlMs,
  };
  const made = usage?.outputTokens;
  const isStored = route.protocol.relay.mayBeStored?.(call) ?? true;
  const entries: IndexEntry[] = [];
  if (replyId !== undefined && isStored && idSyntax.test(replyId)) {
    const all = usage === undefined ? undefined : usage.inputTokens + usage.outputTokens;
    entries.push(entryOf(replyId, 'response', common, all));
  }
  for (const { id } of items) {
    if (entries.length === maxEntries) break;
    if (idSyntax.test(id)) entries.push(entryOf(id, isStored ? 'item' : 'sealed', common, made));
  }
  if (entries.length === 0) return undefined;
  const lost = (): void =>
    received.emit({ type: 'index_lost', requestId: received.responseContext.requestId });
  return callStore(held, {
    port: 'response_index',
    operation: 'remember',
    request: (options) => responses.index.remember(entries, options),
    done: () => {},
    failed: lost,
  });
}

function entryOf(
  id: string,
  kind: IndexEntry['kind'],
  common: Pick<IndexEntry, 'owner' | 'account' | 'modelId' | 'expiresAtMs'>,
  maxTokens: number | undefined,
): IndexEntry {
  const { owner, account, modelId, expiresAtMs } = common;
  // Listed, because V8 copies a spread with new members slowly.
  const entry = { id, kind, owner, account, modelId, expiresAtMs };
  return maxTokens === undefined ? entry : Object.assign(entry, { maxTokens });
}

function isWritten(item: ReferableItem): item is Required<ReferableItem> {
  return item.json !== undefined;
}

/** Keeps the items of a translated reply, and their ids under the id of the reply. */
function keepItems(
  { referable: { replyId, items } }: ServedReply,
  held: Held,
): Promise<void> | undefined {
  const { key, received } = held.admitted;
  const { items: store, itemTtlMs } = received.settings.responses;
  const written = items.filter(isWritten);
  if (store === undefined || written.length === 0) return undefined;
  const kept: readonly StoredItem[] = [
    ...written.map(({ id, json }) => ({ id, json: Buffer.from(json) })),
    ...(replyId === undefined ? [] : [listOf(replyId, written)]),
  ];
  const notKept = (reason: 'too_large' | 'failed', count: number): void => {
    const { requestId } = received.responseContext;
    received.emit({ type: 'items_not_kept', requestId, reason, count });
  };
  return callStore(held, {
    port: 'items',
    operation: 'put',
    request: (options) => store.put(responseOwnerOf(key), kept, itemTtlMs, options),
    done: (tooLarge) => {
      if (areTexts(tooLarge) && tooLarge.length > 0) notKept('too_large', tooLarge.length);
    },
    failed: () => notKept('failed', written.length),
  });
}

/** The ids of the items of a reply, for the deletion of the reply. */
function listOf(id: string, written: readonly ReferableItem[]): StoredItem {
  return { id, json: Buffer.from(JSON.stringify(written.map((item) => item.id))) };
}

interface StoreCall<T> {
  readonly port: PortName;
  readonly operation: string;
  request(options: { readonly timeoutMs: number }): MaybePromise<T>;
  done(answer: T): void;
  failed(): void;
}

/** Calls a store; synchronously if it answers directly, so that the reply does not wait. */
function callStore<T>(
  { admitted: { received } }: Held,
  { port, operation, request, done, failed }: StoreCall<T>,
): Promise<void> | undefined {
  const { emit, responseContext, secrets } = received;
  const { requestId } = responseContext;
  const fail = (error: unknown): void => {
    const thrown = safeError(error, secrets());
    emit(failedPort({ requestId, port, operation }, errorClass(error), thrown));
    failed();
  };
  try {
    const answer = request({ timeoutMs: maxWaitMs });
    if (isPromiseLike(answer)) {
      const { clock } = received.settings;
      return within(Promise.resolve(answer), maxWaitMs, clock).then(done).catch(fail);
    }
    done(answer);
  } catch (error) {
    fail(error);
  }
  return undefined;
}
