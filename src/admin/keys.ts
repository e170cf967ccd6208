/** Keys for operators: issue, rotate, disable, limit, top up, remove and list them. */
import { hash, randomBytes } from 'node:crypto';
import { isConfigurationError } from '../errors.ts';
import type { IssuedKey, IssueKeyOptions } from '../issue-key.ts';
import { maxNanos, type Nanos } from '../money.ts';
import type { ApiKey, QuotaSubject } from '../ports/key-store.ts';
import { defaultPartition, isNanos, periodName } from '../ports/quota-input.ts';
import { AdminError, invalid } from './admin-error.ts';
import type { AuditChange } from './audit.ts';
import type { AdminDeps, Page } from './deps.ts';
import { cannot, keyOf, noKey } from './key-errors.ts';
import { groupsOf, type KeySummary, mainSubject, summariesOf, summaryOf } from './key-summary.ts';
import { limitOf, type PageQuery } from './page.ts';
import { removeKey } from './remove-key.ts';

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
  const runSerially = serialRunner();
  return {
    list: (query = {}) => listKeys(deps, query),
    find: async (id) => summaryOf(await keyOf(deps, id), deps),
    groupWarning: (group) =>
      groupsOf(deps.catalog)?.has(group) === false
        ? `No model serves the group ${group}.`
        : undefined,
    ...issuing(deps, runSerially),
    ...switching(deps),
    ...charging(deps, runSerially),
    remove: (actor, id) =>
      deps.audit.run({ actor, action: 'key.remove', target: id, change: {} }, () =>
        runSerially(id, () => removeKey(deps, id)),
      ),
  };
}

function issuing(deps: AdminDeps, runSerially: RunSerially): Pick<AdminKeys, 'issue' | 'rotate'> {
  const { audit } = deps;
  return {
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
  };
}

function switching(deps: AdminDeps): Pick<AdminKeys, 'disable' | 'enable'> {
  const setDisabled = (actor: string, id: string, disabled: boolean): Promise<KeySummary> =>
    deps.audit.run(
      { actor, action: disabled ? 'key.disable' : 'key.enable', target: id, change: {} },
      async () => summaryOf(await changeKey(deps, id, { disabled }), deps),
    );
  return {
    disable: (actor, id) => setDisabled(actor, id, true),
    enable: (actor, id) => setDisabled(actor, id, false),
  };
}

function charging(
  deps: AdminDeps,
  runSerially: RunSerially,
): Pick<AdminKeys, 'setLimit' | 'topUp'> {
  const { audit } = deps;
  return {
    setLimit: (actor, id, limit) => {
      const change = { limitNanos: String(limit.limitNanos), subject: limit.subject ?? null };
      return audit.run({ actor, action: 'key.limit', target: id, change }, () =>
        runSerially(id, () => setLimit(deps, id, limit)),
      );
    },
    topUp: (actor, id, topUp) =>
      audit.run(
        { actor, action: 'key.top_up', target: id, change: topUpAudit(topUp) },
        () => addMoney(deps, id, topUp),
        ({ repeated }) => ({ change: { ...topUpAudit(topUp), repeated } }),
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

function topUpAudit({ id, amountNanos, subject }: TopUp): AuditChange {
  return { id, amountNanos: String(amountNanos), subject: subject ?? null };
}

async function listKeys(deps: AdminDeps, query: KeyListQuery): Promise<Page<KeySummary>> {
  const { keys } = deps;
  if (keys.page === undefined) throw cannot('list keys');
  const { search, group, disabled, after } = query;
  const page = await keys.page({
    limit: limitOf(query),
    ...(search === undefined || search === '' ? {} : { search }),
    ...(group === undefined ? {} : { group }),
    ...(disabled === undefined ? {} : { disabled }),
    ...(after === undefined ? {} : { after }),
  });
  return { data: await summariesOf(page.keys, deps), next: page.next };
}

async function issue({ keys, clock }: AdminDeps, options: IssueKeyOptions): Promise<IssuedKey> {
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
  if (deps.keys.update === undefined) throw cannot('change keys');
  // The new key would expire together with the old one, and so be invalid at once.
  if (old.expiresAtMs !== undefined && old.expiresAtMs <= clock.now()) {
    throw new AdminError(
      'conflict',
      'This key has expired. Issue a new one, or rotate its successor.',
    );
  }
  const endMs = Math.max(1, clock.now() + overlapMs);
  const expiresAtMs = Math.min(endMs, old.expiresAtMs ?? endMs);
  const { id: oldId, quota, ...rights } = old;
  const issued = await issue(deps, {
    ...rights,
    quota: quota.map((subject) => (subject.id === oldId ? { ...subject, visible: true } : subject)),
    responseOwner: old.responseOwner ?? oldId,
    ...(id === undefined ? {} : { id }),
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
    const newId = randomBytes(18).toString('base64url');
    await deps.quota.adjust({
      ...rowOf(key, charged, deps),
      id: `limit_${newId}`,
      limit: limitNanos,
    });
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
  const { replay } = await deps.quota.adjust({
    ...rowOf(key, charged, deps),
    id: `topup_${digest}`,
    addLimit: amountNanos,
  });
  return { ...(await summaryOf(key, deps)), repeated: replay };
}

/**
 * Changes a key, and makes the cache of this process forget it.
 *
 * @throws AdminError `not_found`, `not_supported`
 */
async function changeKey(
  deps: AdminDeps,
  id: string,
  change: Partial<Omit<ApiKey, 'id'>>,
): Promise<ApiKey> {
  const { keys, keyCache } = deps;
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
): { readonly partition: string; readonly subject: string; readonly period: string } {
  const partition = key.quotaPartition ?? defaultPartition;
  return { partition, subject, period: periodName(period, clock.now()) };
}

function taken(id: string): AdminError {
  return new AdminError('conflict', `The id "${id}" is taken. Choose another one.`, {
    field: 'id',
  });
}

/** Runs a change after all earlier ones of the same name. */
type RunSerially = <T>(name: string, change: () => Promise<T>) => Promise<T>;

/** Each call of this function makes a runner whose changes wait only for each other. */
function serialRunner(): RunSerially {
  const last = new Map<string, Promise<unknown>>();
  return (name, change) => {
    const result = (last.get(name) ?? Promise.resolve()).then(change, change);
    last.set(name, result);
    const forget = (): void => {
      if (last.get(name) === result) last.delete(name);
    };
    result.then(forget, forget);
    return result;
  };
}
