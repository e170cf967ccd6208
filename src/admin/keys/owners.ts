/** Owners of keys for operators: their budgets, their keys, and changes of both. */
import type { Nanos } from '../../money.ts';
import {
  changed,
  type KeyOwner,
  type OwnerChange,
  type OwnerPageQuery,
  ownerSubject,
} from '../../ports/keys/key-owner.ts';
import { keyRemedyOf } from '../../ports/keys/key-schema.ts';
import { ownerSchema } from '../../ports/keys/owner-schema.ts';
import { defaultPartition } from '../../ports/limits/quota-input.ts';
import { setUpProblems } from '../../ports/set-up.ts';
import {
  AdminError,
  invalid,
  keepInDatabase,
  notSupported,
  problemsError,
} from '../admin-error.ts';
import { type AdminDeps, given, limitOf, type Page, type PageQuery } from '../deps.ts';
import { madeChange, requestedChange } from './audit.ts';
import { addToSubject, checkTopUp, type TopUp } from './balance-changes.ts';
import { listKeys } from './list.ts';
import { idProblem, serialRunner, taken } from './stored.ts';
import { type KeySummary, readBalance, type SubjectBalance } from './summary.ts';

/** Selects owners. */
export interface OwnerListQuery extends PageQuery, Pick<OwnerPageQuery, 'search'> {}

/** An owner as an operator sees it. */
export interface OwnerSummary {
  /** As in the records of its keys. */
  readonly id: string;
  /** For people; undefined if there is none. */
  readonly name: string | undefined;
  /** The limit of all its keys together; undefined if there is none. */
  readonly limitNanos: Nanos | undefined;
  /** How often the limit begins anew, in UTC. */
  readonly period: KeyOwner['period'];
  /** The day on which the month begins; undefined for the first, and for other periods. */
  readonly anchorDay: number | undefined;
  /** Calls and tokens of all its keys together. */
  readonly rates: KeyOwner['rates'];
  /** The host's labels of the owner. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether its keys are refused. */
  readonly disabled: boolean;
  /** Its budget in the current period; undefined if the quota store failed. */
  readonly balance: SubjectBalance | undefined;
}

/** An owner with its keys. */
export interface OwnerDetail extends OwnerSummary {
  /** The first 100 keys; `GET /keys?owner=` has further pages. */
  readonly keys: Page<KeySummary>;
}

/** A new owner. Its period is `total` unless it is stated. */
export type NewOwner = Pick<KeyOwner, 'id'> & Partial<Omit<KeyOwner, 'id'>>;

type Removable = 'name' | 'rates' | 'metadata' | 'anchorDay';

/** New values of members of an owner; null removes one. Members that are left out stay. */
export type OwnerEdit = Partial<Pick<KeyOwner, 'period' | 'disabled'>> & {
  readonly [Name in Removable]?: Exclude<KeyOwner[Name], undefined> | null;
};

/** An owner after a top-up. */
export interface ToppedUpOwner extends OwnerSummary {
  /** There was a top-up with this id before, of this or another amount: nothing was added. */
  readonly repeated: boolean;
}

/** The owners of a key store. All methods throw an `AdminError`, as those of keys do. */
export interface AdminOwners {
  /** The owners of the key store, in pages. */
  list(query?: OwnerListQuery): Promise<Page<OwnerSummary>>;
  /** One owner, with its keys. */
  find(id: string): Promise<OwnerDetail>;
  /** Adds an owner; its keys are issued with its id. */
  create(actor: string, owner: NewOwner): Promise<OwnerSummary>;
  /** Counts from the next call of each of its keys on. */
  edit(actor: string, id: string, edit: OwnerEdit): Promise<OwnerSummary>;
  /** Sets the limit of all its keys together; null removes it. Counts in the current period. */
  setLimit(actor: string, id: string, limitNanos: Nanos | null): Promise<OwnerSummary>;
  /** Adds money for the current period. */
  topUp(actor: string, id: string, topUp: Omit<TopUp, 'subject'>): Promise<ToppedUpOwner>;
  /** Removes an owner that no key names; a `conflict` otherwise. Its balance stays. */
  remove(actor: string, id: string): Promise<void>;
}

export function adminOwners(deps: AdminDeps): AdminOwners {
  const { audit } = deps;
  const runSerially = serialRunner();
  const editing = (
    { actor, id, action }: { actor: string; id: string; action: 'owner.edit' | 'owner.limit' },
    edit: object,
  ): Promise<OwnerSummary> =>
    audit
      .run(
        { actor, action, target: id, change: requestedChange(edit) },
        () => runSerially(id, () => editOwner(deps, id, edit)),
        ({ before }) => ({ change: madeChange(before, edit) }),
      )
      .then(({ owner }) => summaryOf(owner, deps));
  return {
    list: (query = {}) => listOwners(deps, query),
    find: async (id) => {
      const summary = await summaryOf(await ownerOf(deps, id), deps);
      return { ...summary, keys: await listKeys(deps, { owner: id }) };
    },
    create: (actor, owner) =>
      audit.run(
        { actor, action: 'owner.create', target: owner?.id, change: requestedChange(owner ?? {}) },
        async () => summaryOf(await createOwner(deps, owner), deps),
      ),
    edit: (actor, id, edit) => editing({ actor, id, action: 'owner.edit' }, edit),
    setLimit: (actor, id, limitNanos) =>
      editing({ actor, id, action: 'owner.limit' }, { limitNanos }),
    topUp: (actor, id, topUp) => {
      const change = { id: topUp.id, amountNanos: String(topUp.amountNanos) };
      return audit.run(
        { actor, action: 'owner.top_up', target: id, change },
        async () => {
          checkTopUp(topUp);
          const owner = await ownerOf(deps, id);
          const repeated = await addToSubject(deps, {}, ownerSubject(owner), topUp);
          return { ...(await summaryOf(owner, deps)), repeated };
        },
        ({ repeated }) => ({ change: { ...change, repeated } }),
      );
    },
    remove: (actor, id) =>
      audit.run({ actor, action: 'owner.remove', target: id, change: {} }, () =>
        runSerially(id, () => removeOwner(deps, id)),
      ),
  };
}

async function listOwners(deps: AdminDeps, query: OwnerListQuery): Promise<Page<OwnerSummary>> {
  const { search, after } = query;
  const wanted = given({ search: search === '' ? undefined : search, after });
  const page = await ownersIn(deps).page({ ...wanted, limit: limitOf(query) });
  const data = await Promise.all(page.owners.map((owner) => summaryOf(owner, deps)));
  return { data, next: page.next };
}

async function createOwner(deps: AdminDeps, given: NewOwner): Promise<KeyOwner> {
  const { add, get } = ownersIn(deps);
  if (add === undefined) throw cannotChange();
  const owner: KeyOwner = { period: 'total', disabled: false, ...given };
  const problems = setUpProblems(ownerSchema, owner, wording);
  if (problems.length > 0) throw problemsError(problems);
  const problem = idProblem(owner.id);
  if (problem !== undefined) throw invalid(problem.field, problem.message);
  if ((await get(owner.id)) !== undefined) throw taken(owner.id);
  await add(owner);
  deps.stores.keyCache?.forgetKeysOf?.(owner.id);
  return owner;
}

async function editOwner(
  deps: AdminDeps,
  id: string,
  edit: object,
): Promise<{ readonly before: KeyOwner; readonly owner: KeyOwner }> {
  const { update } = ownersIn(deps);
  if (update === undefined) throw cannotChange();
  const before = await ownerOf(deps, id);
  const change: OwnerChange = Object.fromEntries(
    Object.entries(edit).map(([name, value]) => [name, value ?? undefined]),
  );
  const owner = changed(before, change);
  const problems = setUpProblems(ownerSchema, owner, wording);
  if (problems.length > 0) throw problemsError(problems);
  if (!(await update(id, change))) throw noOwner(id);
  deps.stores.keyCache?.forgetKeysOf?.(id);
  return { before, owner };
}

async function removeOwner(deps: AdminDeps, id: string): Promise<void> {
  const { remove } = ownersIn(deps);
  if (remove === undefined) throw cannotChange();
  await ownerOf(deps, id);
  if (!(await remove(id))) {
    const message = 'Keys name this owner. Give them another one, or remove them.';
    throw new AdminError('conflict', message);
  }
  deps.stores.keyCache?.forgetKeysOf?.(id);
}

const wording = { root: '', remedyFor: keyRemedyOf, names: 'the type KeyOwner' };

async function summaryOf(
  owner: KeyOwner,
  { stores: { quota }, clock }: AdminDeps,
): Promise<OwnerSummary> {
  const { id, name, limitNanos, period, anchorDay, rates, metadata = {}, disabled } = owner;
  const source = { partition: defaultPartition, quota, nowMs: clock.now() };
  const balance = await readBalance(ownerSubject(owner), source).catch(() => undefined);
  return { id, name, limitNanos, period, anchorDay, rates, metadata, disabled, balance };
}

async function ownerOf(deps: AdminDeps, id: string): Promise<KeyOwner> {
  return (await ownersIn(deps).get(id)) ?? noOwner(id);
}

function noOwner(id: string): never {
  throw new AdminError('not_found', `There is no owner "${id.slice(0, 64)}".`);
}

function ownersIn({ stores: { keys } }: AdminDeps) {
  const { owners } = keys;
  if (owners === undefined) throw notSupported('The key store has no owners.', inDatabase);
  return owners;
}

function cannotChange(): AdminError {
  return notSupported("The key store can't change owners.", inDatabase);
}

const inDatabase = keepInDatabase(
  'stores.keys',
  'a sqliteKeyStore or postgresKeyStore that createAdmin is given',
);
