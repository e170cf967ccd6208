/** Keys for operators: issue, rotate, disable, limit, top up, remove and list them. */
import { hash, randomBytes } from 'node:crypto';
import { isConfigurationError } from '../errors.ts';
import type { IssuedKey, IssueKeyOptions } from '../issue-key.ts';
import { maxNanos, type Nanos } from '../money.ts';
import type { ApiKey, QuotaSubject } from '../ports/key-store.ts';
import { defaultPartition, isNanos, periodName } from '../ports/quota-input.ts';
import type { AdjustInput } from '../ports/quota-store.ts';
import { AdminError, invalid, keepInDatabase, notSupported } from './admin-error.ts';
import type { AuditChange } from './audit.ts';
import { type AdminDeps, given, limitOf, type Page, type PageQuery } from './deps.ts';
import { groupsOf, type KeySummary, mainSubject, summariesOf, summaryOf } from './key-summary.ts';

/** Selects keys. */
export interface KeyListQuery extends PageQuery {
  /** Text that the id or the group contains, ignoring case. */
  readonly search?: string;
  readonly group?: string;
  readonly disabled?: boolean;
}

/** How a key is replaced. */
export interface RotateOptions {
  /** How long the old secret stays valid, in ms. Default: 0, so that it is refused at once. */
  readonly overlapMs?: number;
  /** The id of the new key. Default: `key_` and the public part of its secret. */
  readonly id?: string;
}

/** A key that replaces another one. */
export interface RotatedKey extends IssuedKey {
  /** The old key, and when it expires. */
  readonly replaced: { readonly id: string; readonly expiresAtMs: number };
}

/** A new limit for a subject of a key. */
export interface LimitChange {
  readonly limitNanos: Nanos;
  /** Default: the key's main subject. */
  readonly subject?: string;
}

/** Money that is added to a subject of a key, for its current period. */
export interface TopUp {
  /**
   * 1 to 200 characters, such as an invoice number. Top-ups of one subject with the same id count
   * once, in all periods.
   */
  readonly id: string;
  /** May be negative. */
  readonly amountNanos: bigint;
  /** Default: the key's main subject. */
  readonly subject?: string;
}

/** A key after a top-up. */
export interface ToppedUpKey extends KeySummary {
  /** There was a top-up with this id before, of this or another amount: nothing was added. */
  readonly repeated: boolean;
}

/**
 * The keys of a key store. All methods throw an `AdminError`: `not_supported` where the store can't
 * do it, `not_found`, `conflict`, `invalid_request` or `unavailable`.
 */
export interface AdminKeys {
  list(query?: KeyListQuery): Promise<Page<KeySummary>>;
  find(id: string): Promise<KeySummary>;
  /** What is wrong with a group for keys, such as that no model has it; undefined if nothing. */
  groupWarning(group: string): string | undefined;
  /** The secret exists only in the returned value. */
  issue(actor: string, options: IssueKeyOptions): Promise<IssuedKey>;
  /**
   * Issues a key with the same rights that is charged to the same subjects, and lets the old one
   * expire. Until then, change a limit on both. The new key expires when the old one would have
   * expired: if the old one is rotated again during its overlap, at the end of that overlap. A key
   * that has expired is a `conflict`.
   */
  rotate(actor: string, id: string, options?: RotateOptions): Promise<RotatedKey>;
  disable(actor: string, id: string): Promise<KeySummary>;
  enable(actor: string, id: string): Promise<KeySummary>;
  /** Counts from the next call on, also in the current period. */
  setLimit(actor: string, id: string, change: LimitChange): Promise<KeySummary>;
  topUp(actor: string, id: string, topUp: TopUp): Promise<ToppedUpKey>;
  /**
   * Removes a key for good, and its replies from the `replyStores`, unless another key may still
   * refer to them because it was rotated from this one. Usage records and balances stay. If a store
   * fails, the key is disabled but not removed; call `remove` again.
   */
  remove(actor: string, id: string): Promise<void>;
}

export function adminKeys(deps: AdminDeps): AdminKeys {
  const { audit, stores } = deps;
  const runSerially = serialRunner();
  const setDisabled = (actor: string, id: string, disabled: boolean): Promise<KeySummary> =>
    audit.run(
      { actor, action: disabled ? 'key.disable' : 'key.enable', target: id, change: {} },
      async () => summaryOf(await changeKey(deps, id, { disabled }), deps),
    );
  return {
    list: (query = {}) => listKeys(deps, query),
    find: async (id) => summaryOf(await keyOf(deps, id), deps),
    groupWarning: (group) =>
      groupsOf(stores.catalog)?.has(group) === false
        ? `No model serves the group ${group}.`
        : undefined,
    issue: (actor, options) =>
      audit.run(
        { actor, action: 'key.issue', target: options?.id, change: issueChange(options) },
        () => issue(deps, options),
        ({ key }) => ({ target: key.id, change: issuedChange(key) }),
      ),
    rotate: (actor, id, options = {}) => {
      const { overlapMs = 0, id: newId = null } = options;
      return audit.run(
        { actor, action: 'key.rotate', target: id, change: { overlapMs, newId } },
        () => runSerially(id, async () => rotateKey(deps, await keyOf(deps, id), options)),
        ({ key }) => ({ change: { overlapMs, newId: key.id } }),
      );
    },
    disable: (actor, id) => setDisabled(actor, id, true),
    enable: (actor, id) => setDisabled(actor, id, false),
    setLimit: (actor, id, limit) => {
      const change = { limitNanos: String(limit.limitNanos), subject: limit.subject ?? null };
      return audit.run({ actor, action: 'key.limit', target: id, change }, () =>
        runSerially(id, () => setLimit(deps, id, limit)),
      );
    },
    topUp: (actor, id, topUp) => {
      const { amountNanos, subject = null } = topUp;
      const change = { id: topUp.id, amountNanos: String(amountNanos), subject };
      return audit.run(
        { actor, action: 'key.top_up', target: id, change },
        () => addMoney(deps, id, topUp),
        ({ repeated }) => ({ change: { ...change, repeated } }),
      );
    },
    remove: (actor, id) =>
      audit.run({ actor, action: 'key.remove', target: id, change: {} }, () =>
        runSerially(id, () => removeKey(deps, id)),
      ),
  };
}

function issueChange(options: Partial<IssueKeyOptions> | undefined): AuditChange {
  const { group, limitNanos, period } = options ?? {};
  return {
    group: typeof group === 'string' ? group : null,
    limitNanos: typeof limitNanos === 'bigint' ? String(limitNanos) : null,
    period: typeof period === 'string' ? period : null,
  };
}

/** The rights and the subjects of the new key: a subject may belong to another key or a group. */
function issuedChange({ group, quota, expiresAtMs, maxConcurrentCalls }: ApiKey): AuditChange {
  const subjects = quota.map(
    ({ id, period, limitNanos }) => `${id} ${period} ${limitNanos ?? '(limit in the quota store)'}`,
  );
  return {
    group,
    quota: subjects.join(', '),
    expiresAtMs: expiresAtMs ?? null,
    maxConcurrentCalls: maxConcurrentCalls ?? null,
  };
}

async function listKeys(deps: AdminDeps, query: KeyListQuery): Promise<Page<KeySummary>> {
  const { keys } = deps.stores;
  if (keys.page === undefined) throw cannot('list keys');
  const { search, group, disabled, after } = query;
  const wanted = given({ search: search === '' ? undefined : search, group, disabled, after });
  const page = await keys.page({ ...wanted, limit: limitOf(query) });
  return { data: await summariesOf(page.keys, deps), next: page.next };
}

async function issue(
  { stores: { keys }, clock }: AdminDeps,
  options: IssueKeyOptions,
): Promise<IssuedKey> {
  if (keys.issue === undefined) throw cannot('issue keys');
  const { id, expiresAtMs } = options;
  if (expiresAtMs !== undefined && expiresAtMs <= clock.now()) {
    throw invalid('expiresAtMs', 'expiresAtMs must be in the future.');
  }
  // HTTP clients resolve `.` and `..` in a path, so the key could not be addressed.
  if (id !== undefined && /^\.+$/.test(id)) {
    throw invalid('id', 'id must not consist of dots only.');
  }
  if (id !== undefined && (await keys.get?.(id)) !== undefined) throw taken(id);
  try {
    return await keys.issue(options);
  } catch (error) {
    // Another request has taken the id meanwhile.
    const isTaken = isConfigurationError(error) && / is taken\. /.test(error.message);
    throw isTaken && id !== undefined ? taken(id) : error;
  }
}

/**
 * Rotates without a gap: the new key exists before the old one expires. The new key may refer to
 * the old one's stored responses, and its owner still sees the old key's own subject.
 */
async function rotateKey(
  deps: AdminDeps,
  old: ApiKey,
  { overlapMs = 0, id }: RotateOptions,
): Promise<RotatedKey> {
  const { clock } = deps;
  if (!Number.isSafeInteger(overlapMs) || overlapMs < 0 || overlapMs > maxOverlapMs) {
    throw invalid('overlapMs', `overlapMs must be from 0 to ${maxOverlapMs}.`);
  }
  if (deps.stores.keys.update === undefined) throw cannot('change keys');
  // The new key would expire together with the old one, and so be invalid at once.
  if (old.expiresAtMs !== undefined && old.expiresAtMs <= clock.now()) {
    const message = 'This key has expired. Issue a new one, or rotate its successor.';
    throw new AdminError('conflict', message);
  }
  const endMs = Math.max(1, clock.now() + overlapMs);
  const expiresAtMs = Math.min(endMs, old.expiresAtMs ?? endMs);
  const { id: oldId, quota, ...rights } = old;
  const issued = await issue(deps, {
    ...rights,
    quota: quota.map((subject) => (subject.id === oldId ? { ...subject, visible: true } : subject)),
    responseOwner: old.responseOwner ?? oldId,
    ...given({ id }),
  });
  await changeKey(deps, oldId, { expiresAtMs });
  return { ...issued, replaced: { id: oldId, expiresAtMs } };
}

/** A year: with a longer overlap the old secret would practically stay valid. */
const maxOverlapMs = 31_536_000_000;

async function setLimit(
  deps: AdminDeps,
  id: string,
  { limitNanos, subject }: LimitChange,
): Promise<KeySummary> {
  if (!isNanos(limitNanos)) {
    throw invalid('limitNanos', `limitNanos must be from 0 to ${maxNanos}.`);
  }
  const key = await keyOf(deps, id);
  const charged = subjectOf(key, subject);
  if (charged.limitNanos === undefined) {
    const newId = `limit_${randomBytes(18).toString('base64url')}`;
    await deps.stores.quota.adjust({ ...rowOf(key, charged, deps), id: newId, limit: limitNanos });
    return summaryOf(key, deps);
  }
  const quota = key.quota.map((other) => (other === charged ? { ...other, limitNanos } : other));
  return summaryOf(await changeKey(deps, id, { quota }), deps);
}

async function addMoney(
  deps: AdminDeps,
  id: string,
  { id: topUpId, amountNanos, subject }: TopUp,
): Promise<ToppedUpKey> {
  if (typeof topUpId !== 'string' || topUpId.length < 1 || topUpId.length > 200) {
    throw invalid('id', 'id must be text of 1 to 200 characters.');
  }
  const key = await keyOf(deps, id);
  const charged = subjectOf(key, subject);
  // JSON keeps the parts apart, whatever characters they contain.
  const digest = hash('sha256', JSON.stringify([charged.id, topUpId]), 'base64url');
  const row = { ...rowOf(key, charged, deps), id: `topup_${digest}` };
  const { replay } = await deps.stores.quota.adjust({ ...row, addLimit: amountNanos });
  return { ...(await summaryOf(key, deps)), repeated: replay };
}

/** Changes a key, and makes the cache of this process forget it. */
async function changeKey(
  deps: AdminDeps,
  id: string,
  change: Partial<Omit<ApiKey, 'id'>>,
): Promise<ApiKey> {
  const { keys, keyCache } = deps.stores;
  if (keys.update === undefined) throw cannot('change keys');
  if (!(await keys.update(id, change))) throw noKey(id);
  keyCache?.forget(id);
  return keyOf(deps, id);
}

function subjectOf(key: ApiKey, name: string | undefined): QuotaSubject {
  const found = name === undefined ? mainSubject(key) : key.quota.find(({ id }) => id === name);
  if (found !== undefined) return found;
  const message = 'This key is not charged to that subject.';
  throw new AdminError('not_found', message, { field: 'subject' });
}

function rowOf(
  key: ApiKey,
  { id: subject, period }: QuotaSubject,
  { clock }: AdminDeps,
): Pick<AdjustInput, 'partition' | 'subject' | 'period'> {
  const partition = key.quotaPartition ?? defaultPartition;
  return { partition, subject, period: periodName(period, clock.now()) };
}

function taken(id: string): AdminError {
  const message = `The id "${id}" is taken. Choose another one.`;
  return new AdminError('conflict', message, { field: 'id' });
}

/** Makes a function that runs a change after all its earlier ones of the same name. */
function serialRunner() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(name: string, change: () => Promise<T>): Promise<T> => {
    const result = (last.get(name) ?? Promise.resolve()).then(change, change);
    last.set(name, result);
    const forget = (): void => {
      if (last.get(name) === result) last.delete(name);
    };
    result.then(forget, forget);
    return result;
  };
}

export function cannot(what: string): AdminError {
  return notSupported(
    `The key store can't ${what}.`,
    'Change keys where you keep them: in `keys.fixed`, or in your own tables. ' +
      keepInDatabase(
        'stores.keys',
        'a sqliteKeyStore or postgresKeyStore that createAdmin is given',
      ),
  );
}

function noKey(id: string): AdminError {
  return new AdminError('not_found', `There is no key "${id.slice(0, 64)}".`);
}

async function keyOf({ stores: { keys } }: AdminDeps, id: string): Promise<ApiKey> {
  if (keys.get === undefined) throw cannot('look keys up by their id');
  const key = await keys.get(id);
  if (key === undefined) throw noKey(id);
  return key;
}

const pageSize = 1_000;

/**
 * Disables the key, deletes what it owns, and removes it. If a store fails halfway, the key stays
 * disabled, and can be removed again.
 */
async function removeKey(deps: AdminDeps, id: string): Promise<void> {
  const { keys, keyCache } = deps.stores;
  if (keys.remove === undefined) throw cannot('remove keys');
  if (deps.stores.replyStores.length > 0) await forgetReplies(deps, id);
  if (!(await keys.remove(id))) throw noKey(id);
  keyCache?.forget(id);
}

async function forgetReplies(deps: AdminDeps, id: string): Promise<void> {
  const { keys, keyCache } = deps.stores;
  const key = await keyOf(deps, id);
  // A new call must not store another reply; those that are running still may.
  if (!key.disabled) await keys.update?.(id, { disabled: true });
  keyCache?.forget(id);
  for (const owner of new Set([id, key.responseOwner ?? id])) {
    if (await hasOtherKey(deps, owner, id)) continue;
    for (const store of deps.stores.replyStores) {
      while (((await store.forgetOwner?.(owner)) ?? 0) > 0) {
        // Each batch is small, so that the store serves calls between two of them.
      }
    }
  }
}

/** Whether another key refers to the replies of this owner, page by page. */
async function hasOtherKey(
  { stores: { keys } }: AdminDeps,
  owner: string,
  id: string,
): Promise<boolean> {
  let after: string | undefined;
  do {
    const page = await keys.page?.({ limit: pageSize, ...given({ after }) });
    const others = page?.keys.filter((key) => key.id !== id) ?? [];
    if (others.some((key) => (key.responseOwner ?? key.id) === owner)) return true;
    after = page?.next;
  } while (after !== undefined);
  return false;
}
