/**
 * Finds out what a call's references refer to: whether the key may use them, which account has
 * them, and how large they are. It runs before anything is held or sent.
 */
import type { FairShares } from '../../bytes/body/fair-shares.ts';
import type { Call, Reference } from '../../call.ts';
import { withKnownContent } from '../../dialects/measure/prompt-size.ts';
import { isGatewayError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import type { IndexEntry } from '../../ports/replies/response-index.ts';
import type { ResponseSettings } from '../../ports/replies/response-options.ts';
import type { Admitted, Read } from '../call-record.ts';
import type { ModelPlan } from '../models/model-plan.ts';
import { onceForEach } from '../ports/once-for-each.ts';
import { areEntries, areItems } from '../ports/port-answers.ts';
import { reserveAdded } from '../read-call.ts';
import { servingAccount } from '../upstream/credential.ts';
import type { ResolvedReferences } from './reference-edits.ts';
import {
  idSyntax,
  itemsTooLarge,
  keepsNoReplies,
  notFound,
  storedApart,
  tooManyReferences,
} from './reference-errors.ts';

export function responseOwnerOf({ id, responseOwner }: ApiKey): string {
  return responseOwner ?? id;
}

/**
 * Resolves the references of a call. Returns them with the call, in whose demand the size of what
 * was found replaces the bound for what is unknown.
 */
export async function resolveReferences(
  read: Read,
  references: readonly Reference[],
  plan: ModelPlan,
  bodies: FairShares,
): Promise<{ readonly call: Call; readonly references: ResolvedReferences }> {
  const { call, received, key, route } = read;
  const { responses } = received.settings;
  const stored = references.filter(isStored);
  const [first] = stored;
  if (first !== undefined && stored.length > responses.maxReferences) {
    throw tooManyReferences(responses.maxReferences, first);
  }
  const found = await lookUp(read, references, responses, bodies);
  const isKeptByProvider = relayedChannels({ key, plan, route }).length > 0;
  for (const reference of stored) {
    if (reference.kind === 'reply' && (reference.isOwn || !isKeptByProvider)) {
      throw keepsNoReplies(reference);
    }
    // Another provider reads the item without what is stored, or refuses it by name.
    if (reference.kind === 'incomplete' && !isKeptByProvider) continue;
    if (found.items.has(reference) || (found.entries.has(reference) && isKeptByProvider)) continue;
    const mayBeRelayed = responses.unknownReferences === 'relay' && !reference.isOwn;
    if (!mayBeRelayed || !isKeptByProvider) throw notFound(reference);
  }
  const unread = isKeptByProvider ? [] : references.filter(isIncomplete);
  const resolved = {
    ...accountsOf(isKeptByProvider ? references : references.filter(isWhole), found.entries),
    keptItems: [...found.items].map(([reference, json]) => ({ reference, json })),
    keptBytes: found.itemBytes,
    sealed: references
      .filter(({ kind }) => kind === 'sealed')
      .map((reference) => ({ reference, account: found.entries.get(reference)?.account })),
    local: references.filter(({ kind }) => kind === 'local'),
    unverified: responses.unknownReferences === 'relay' ? [] : unread,
    leavesOutUnknown: false,
    mustResend: false,
  };
  return { call: withFoundSizes(call, found, unread), references: resolved };
}

/** True if the call can't be served unless the reference is found. */
function isStored({ kind }: Reference): boolean {
  return kind === 'reply' || kind === 'item' || kind === 'incomplete';
}

function isIncomplete({ kind }: Reference): boolean {
  return kind === 'incomplete';
}

function isWhole(reference: Reference): boolean {
  return !isIncomplete(reference);
}

interface Found {
  readonly entries: ReadonlyMap<Reference, IndexEntry>;
  readonly items: ReadonlyMap<Reference, Uint8Array>;
  /** The bytes of the items, each as often as it is referred to. */
  readonly itemBytes: number;
}

async function lookUp(
  read: Read,
  references: readonly Reference[],
  settings: ResponseSettings,
  bodies: FairShares,
): Promise<Found> {
  const [entries, items] = await Promise.all([
    findInIndex(read, references, settings),
    findItems(read, references, settings, bodies),
  ]);
  return { entries, items, itemBytes: bytesOf(items) };
}

async function findInIndex(
  { key, received: { ports } }: Read,
  references: readonly Reference[],
  { index, maxReferences }: ResponseSettings,
): Promise<Found['entries']> {
  const owner = responseOwnerOf(key);
  const required = references.filter((reference) => isStored(reference) && !reference.isOwn);
  // Only the latest ones of a long conversation are looked up; the others count as unknown.
  const sealed = references.filter(({ kind, id }) => kind === 'sealed' && id !== undefined);
  const latest = sealed.slice(-Math.max(0, maxReferences - required.length));
  const { references: asked, ids } = askable([...required, ...latest]);
  if (ids.length === 0) return new Map();
  let entries: Awaited<ReturnType<typeof index.find>> = [];
  try {
    entries = await ports.ask('response_index', 'find', areEntries(ids.length), (options) =>
      index.find(owner, ids, options),
    );
  } catch (error) {
    // Without the index, sealed content is of unknown origin, which a provider can judge.
    if (required.length > 0 || !isGatewayError(error)) throw error;
  }
  return paired(asked, entries, (entry, reference) => {
    return entry.owner === owner && (entry.kind !== 'sealed' || !isStored(reference));
  });
}

/**
 * Finds the items that take the place of references. Each is asked for once, and counts as a part
 * of the body as often as it is referred to: a short request could otherwise stand for any number
 * of copies of a long item.
 */
async function findItems(
  read: Read,
  references: readonly Reference[],
  { items }: ResponseSettings,
  bodies: FairShares,
): Promise<Found['items']> {
  const own = references.filter(({ kind, isOwn }) => kind === 'item' && isOwn);
  const { references: asked, ids } = askable(items === undefined ? [] : own);
  if (items === undefined || ids.length === 0) return new Map();
  const different = [...new Set(ids)];
  const owner = responseOwnerOf(read.key);
  const kept = await read.received.ports.ask(
    'items',
    'get',
    areItems(different.length),
    (options) => items.get(owner, different, options),
  );
  const byId = new Map(different.map((id, at) => [id, kept[at]]));
  const found = paired(
    asked,
    ids.map((id) => byId.get(id)),
    () => true,
  );
  const bytes = bytesOf(found);
  const { maxBodyBytes } = read.received.settings;
  if (read.call.body.byteLength + bytes > maxBodyBytes) throw itemsTooLarge();
  // Reserved as soon as they are here, before anything is made of them.
  reserveAdded(read, bytes, bodies);
  return found;
}

function bytesOf(items: Found['items']): number {
  let bytes = 0;
  for (const { byteLength } of items.values()) bytes += byteLength;
  return bytes;
}

/** The references whose ids may exist at all, and these ids. */
function askable(references: readonly Reference[]): {
  readonly references: readonly Reference[];
  readonly ids: readonly string[];
} {
  const named = references.filter(({ id }) => id !== undefined && idSyntax.test(id));
  return { references: named, ids: named.map(({ id = '' }) => id) };
}

function paired<T>(
  references: readonly Reference[],
  answers: readonly (T | undefined)[],
  isUsable: (answer: T, reference: Reference) => boolean,
): ReadonlyMap<Reference, T> {
  const pairs = new Map<Reference, T>();
  for (const [at, reference] of references.entries()) {
    const answer = answers[at];
    // A store may return `null` for nothing.
    if (answer === undefined || answer === null) continue;
    if (isUsable(answer, reference)) pairs.set(reference, answer);
  }
  return pairs;
}

function accountsOf(
  references: readonly Reference[],
  entries: ReadonlyMap<Reference, IndexEntry>,
): Pick<ResolvedReferences, 'requiredAccount' | 'preferredAccount'> {
  let requiredAccount: string | undefined;
  let preferredAccount: string | undefined;
  for (const reference of references) {
    const account = entries.get(reference)?.account;
    if (account === undefined) continue;
    if (!isStored(reference)) preferredAccount = account;
    else if (requiredAccount === undefined) requiredAccount = account;
    else if (account !== requiredAccount) throw storedApart(reference);
  }
  return { requiredAccount, preferredAccount };
}

/**
 * The call with the sizes of what was found. Items that take the place of references are counted as
 * text, and nothing is added to those that their provider is not asked to complete.
 */
function withFoundSizes(
  call: Call,
  { entries, items, itemBytes }: Found,
  unread: readonly Reference[],
): Call {
  const tokens = new Map<string, number>();
  let sealedBytes = 0;
  for (const [{ kind, at, sealedBytes: bytes }, { maxTokens }] of entries) {
    if (kind === 'sealed') sealedBytes += bytes;
    else if (maxTokens !== undefined) tokens.set(at, maxTokens);
  }
  for (const { at } of [...items.keys(), ...unread]) tokens.set(at, 0);
  const { demand } = call;
  const prompt = withKnownContent(demand.prompt, { sealedBytes, tokens });
  const textBytes = prompt.textBytes + itemBytes;
  return { ...call, demand: { ...demand, prompt: { ...prompt, textBytes } } };
}

/** The channels to which calls of this key would be relayed if they are healthy. */
export function relayedChannels({
  key,
  plan,
  route: { protocol },
}: Pick<Admitted, 'key' | 'plan' | 'route'>): readonly Channel[] {
  const pool = plan.pool(protocol, key.group);
  if (typeof pool === 'string') return [];
  return pool.channels.filter((channel) =>
    plan.channel(channel).isRelayed(protocol, protocol.operation),
  );
}

/** Reports the model of a call, if it is such a model. */
export type ReportSplitIndex = (
  call: Pick<Admitted, 'key' | 'model' | 'plan' | 'received' | 'route'>,
) => void;

/** Makes the report of one gateway: one event for each model. */
export function reportingSplitIndex(emit: EventListener): ReportSplitIndex {
  const report = onceForEach((modelId) => emit({ type: 'references_per_process', modelId }));
  return (call) => {
    const { quota, responses } = call.received.settings;
    if (quota.durability === 'process' || responses.index.durability !== 'process') return;
    // With one account, a call that this process can't place reaches the right one anyway.
    const accounts = relayedChannels(call).map((channel) => servingAccount(channel, undefined));
    if (new Set(accounts).size > 1) report(call.model.id);
  };
}
