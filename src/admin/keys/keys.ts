/** Keys for operators: issue, rotate, disable, limit, top up, remove and list them. */
import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { chargeProblem, type IssuedKey, type IssueKeyOptions } from '../../issue-key.ts';
import { maxNanos, type Nanos } from '../../money.ts';
import { changed, type KeyChange, ownerSubjectId } from '../../ports/keys/key-owner.ts';
import { keyMembers, keyRemedyOf } from '../../ports/keys/key-schema.ts';
import type { ApiKey, QuotaSubject } from '../../ports/keys/key-store.ts';
import { isNanos } from '../../ports/limits/quota-input.ts';
import { setUpProblems, strict } from '../../ports/set-up.ts';
import { AdminError, invalid, problemsError } from '../admin-error.ts';
import { type AdminDeps, given, type Page } from '../deps.ts';
import { pagesOf } from '../pages.ts';
import { issueChange, issuedChange, madeChange, requestedChange } from './audit.ts';
import { addToSubject, checkTopUp, rowOf, type TopUp } from './balance-changes.ts';
import { type IssuedBatch, issueBatch } from './batch.ts';
import { type KeyListQuery, listKeys } from './list.ts';
import {
  cannot,
  changeKey,
  issue,
  keyOf,
  newKeyProblem,
  noKey,
  ownerProblem,
  serialRunner,
} from './stored.ts';
import { groupWarning, type KeySummary, mainSubject, summaryOf } from './summary.ts';

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
  readonly replaced: {
    /** The id of the old key. */
    readonly id: string;
    /** When the old key ends, in Unix ms. */
    readonly expiresAtMs: number;
  };
}

/** A new limit for a subject of a key. */
export interface LimitChange {
  /** The most that the subject may spend in each period, in nanos. */
  readonly limitNanos: Nanos;
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
  /** The keys of the store, in pages, with what is left of their limits. */
  list(query?: KeyListQuery): Promise<Page<KeySummary>>;
  /** One key, by its id. */
  find(id: string): Promise<KeySummary>;
  /** What is wrong with a group for keys, such as that no model has it; undefined if nothing. */
  groupWarning(group: string): string | undefined;
  /** The secret exists only in the returned value. */
  issue(actor: string, options: IssueKeyOptions): Promise<IssuedKey>;
  /**
   * Issues up to 5,000 keys, unless one of the rows is wrong; the error has the `problems` of all
   * rows. A row without an `id` gets that of the batch and its number, `batch-1`, so that a
   * repeated batch issues only keys that are missing. Each secret exists only in the result.
   */
  issueBatch(actor: string, batch: string, rows: readonly IssueKeyOptions[]): Promise<IssuedBatch>;
  /** Changes a key from its next call on. Limits are changed with `setLimit`. */
  edit(actor: string, id: string, change: KeyEdit): Promise<KeySummary>;
  /**
   * Issues a key with the same rights that is charged to the same subjects, and lets the old one
   * expire. Until then, change a limit on both. The new key expires when the old one would have
   * expired: if the old one is rotated again during its overlap, at the end of that overlap. A key
   * that has expired is a `conflict`.
   */
  rotate(actor: string, id: string, options?: RotateOptions): Promise<RotatedKey>;
  /** Refuses the key from the next request on, where no cache still has it. */
  disable(actor: string, id: string): Promise<KeySummary>;
  /** Lets a disabled key call again. */
  enable(actor: string, id: string): Promise<KeySummary>;
  /** Counts from the next call on, also in the current period. */
  setLimit(actor: string, id: string, change: LimitChange): Promise<KeySummary>;
  /** Adds money to the current period; the same id again adds nothing. */
  topUp(actor: string, id: string, topUp: TopUp): Promise<ToppedUpKey>;
  /**
   * Removes a key for good, and its replies from the `replyStores`, unless another key may still
   * refer to them because it was rotated from this one. Usage records and balances stay. If a store
   * fails, the key is disabled but not removed; call `remove` again.
   */
  remove(actor: string, id: string): Promise<void>;
}

export function adminKeys(deps: AdminDeps): AdminKeys {
  const { audit } = deps;
  const runSerially = serialRunner();
  const setDisabled = (actor: string, id: string, disabled: boolean): Promise<KeySummary> =>
    audit.run(
      { actor, action: disabled ? 'key.disable' : 'key.enable', target: id, change: {} },
      async () => summaryOf(await changeKey(deps, id, { disabled }), deps),
    );
  return {
    list: (query = {}) => listKeys(deps, query),
    find: async (id) => summaryOf(await keyOf(deps, id), deps),
    groupWarning: (group) => groupWarning(deps, group),
    issue: (actor, options) =>
      audit.run(
        { actor, action: 'key.issue', target: options?.id, change: issueChange(options) },
        () => issue(deps, options),
        ({ key }) => ({ target: key.id, change: issuedChange(key) }),
      ),
    issueBatch: (actor, batch, rows) => issueBatch(deps, actor, batch, rows),
    edit: (actor, id, edit) => {
      const change = requestedChange(edit);
      return audit
        .run(
          { actor, action: 'key.edit', target: id, change },
          () => runSerially(id, () => editKey(deps, id, edit)),
          ({ before }) => ({ change: madeChange(before, edit) }),
        )
        .then(({ key }) => summaryOf(key, deps));
    },
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

async function addMoney(deps: AdminDeps, id: string, topUp: TopUp): Promise<ToppedUpKey> {
  checkTopUp(topUp);
  const key = await keyOf(deps, id);
  const repeated = await addToSubject(deps, key, subjectOf(key, topUp.subject), topUp);
  return { ...(await summaryOf(key, deps)), repeated };
}

function subjectOf(key: ApiKey, name: string | undefined): QuotaSubject {
  const found = name === undefined ? mainSubject(key) : key.quota.find(({ id }) => id === name);
  if (found !== undefined) return found;
  const ofOwner = key.owner === undefined ? undefined : ownerSubjectId(key.owner);
  const isOfOwner = ofOwner !== undefined && (name === undefined || name === ofOwner);
  const message = isOfOwner
    ? 'The budget of the owner is changed at the owner.'
    : 'This key is not charged to that subject.';
  throw new AdminError('not_found', message, { field: 'subject' });
}

const keysAtOnce = 1_000;

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
  const none = { keys: [], next: undefined };
  const pages = pagesOf((page) => keys.page?.({ limit: keysAtOnce, ...page }) ?? none);
  for await (const page of pages) {
    const others = page.keys.filter((key) => key.id !== id);
    if (others.some((key) => (key.responseOwner ?? key.id) === owner)) return true;
  }
  return false;
}

type Editable = 'models' | 'rates' | 'maxConcurrentCalls' | 'expiresAtMs' | 'metadata' | 'owner';

/** New values of members of a key; null removes one. Members that are left out stay. */
export type KeyEdit = Partial<Pick<ApiKey, 'group'>> & {
  readonly [Name in Editable]?: Exclude<ApiKey[Name], undefined> | null;
};

const editSchema = strict('must be an object', {
  group: keyMembers.group.optional(),
  models: keyMembers.models.nullable(),
  rates: keyMembers.rates.nullable(),
  maxConcurrentCalls: keyMembers.maxConcurrentCalls.nullable(),
  expiresAtMs: keyMembers.expiresAtMs.nullable(),
  metadata: keyMembers.metadata.nullable(),
  owner: keyMembers.owner.nullable(),
} satisfies Record<keyof KeyEdit, z.ZodType>);

interface EditedKey {
  readonly before: ApiKey;
  readonly key: ApiKey;
}

async function editKey(deps: AdminDeps, id: string, edit: KeyEdit): Promise<EditedKey> {
  const problems = setUpProblems(editSchema, edit, editWording);
  if (problems.length > 0) throw problemsError(problems);
  const change: KeyChange = Object.fromEntries(
    Object.entries(edit).map(([name, value]) => [name, value ?? undefined]),
  );
  const problem = newKeyProblem(change, deps.clock) ?? (await ownerProblem(deps, change.owner));
  if (problem !== undefined) throw invalid(problem.field, problem.message);
  const before = await keyOf(deps, id);
  const refusal = chargeProblem(changed(before, change));
  if (refusal !== undefined) throw new AdminError('conflict', sentence(refusal));
  return { before, key: await changeKey(deps, id, change) };
}

const editWording = {
  root: '',
  remedyFor: keyRemedyOf,
  names: 'the type KeyEdit',
};

function sentence(problem: string): string {
  return `${problem.slice(0, 1).toUpperCase()}${problem.slice(1)}`;
}
