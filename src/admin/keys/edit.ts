/** Edits keys: their group, models, rates, concurrency, expiry, labels and owner. */
import type { z } from 'zod';
import { chargeProblem } from '../../issue-key.ts';
import { changed, type KeyChange } from '../../ports/keys/key-owner.ts';
import { keyMembers, keyRemedyOf } from '../../ports/keys/key-schema.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import { setUpProblems, strict } from '../../ports/set-up.ts';
import { AdminError, invalid, problemsError } from '../admin-error.ts';
import type { AdminDeps } from '../deps.ts';
import { changeKey, keyOf, newKeyProblem, ownerProblem } from './stored.ts';

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

export interface EditedKey {
  readonly before: ApiKey;
  readonly key: ApiKey;
}

export async function editKey(deps: AdminDeps, id: string, edit: KeyEdit): Promise<EditedKey> {
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
