/** Issues many keys at once: all rows are checked before the first key is issued. */
import { setImmediate } from 'node:timers/promises';
import { type IssueKeyOptions, issueProblems } from '../../issue-key.ts';
import { formatPath } from '../../ports/problems.ts';
import {
  type AdminProblem,
  adminErrorOf,
  invalid,
  maxProblems,
  rowsError,
} from '../admin-error.ts';
import type { AdminDeps } from '../deps.ts';
import { cannot, issueUnlessTaken, newKeyProblem, ownerProblem } from './stored.ts';
import { groupWarning } from './summary.ts';

/** A row of a batch. */
export interface BatchRow {
  /** Its number, beginning with 1. */
  readonly row: number;
  /** The id of its key: its own, or that of the batch and the number. */
  readonly id: string;
  /**
   * `existed`: there was a key with this id, of an earlier request or another one; it is unchanged.
   * `failed`: the key store failed at this row or before it; repeat the batch.
   */
  readonly outcome: 'issued' | 'existed' | 'failed';
  /** Shown once; undefined unless the key was issued now. */
  readonly secret: string | undefined;
}

/** The outcome of a batch. */
export interface IssuedBatch {
  /** The id of the batch: the same one again issues no key twice. */
  readonly batch: string;
  /** How many keys are new. */
  readonly issued: number;
  /** How many keys an earlier run of the batch had issued. */
  readonly existed: number;
  /** How many rows failed. */
  readonly failed: number;
  /** A row for each key, in the order of the request. */
  readonly data: readonly BatchRow[];
  /** Why rows failed; undefined if none did. */
  readonly problem: string | undefined;
  /** Why keys may be of no use, such as that no model has their group. */
  readonly warnings: readonly string[];
}

export const maxBatchRows = 5_000;
/** So many rows run between two turns of the event loop. */
export const rowsAtOnce = 8;

export function issueBatch(
  deps: AdminDeps,
  actor: string,
  batch: string,
  rows: readonly IssueKeyOptions[],
): Promise<IssuedBatch> {
  const change = { rows: Array.isArray(rows) ? rows.length : null };
  return deps.audit.run(
    { actor, action: 'key.batch', target: batch, change },
    async () => issueRows(deps, batch, await checkedRows(deps, batch, rows)),
    ({ issued, existed, failed }) => ({ change: { ...change, issued, existed, failed } }),
  );
}

type NamedRow = IssueKeyOptions & { readonly id: string };

async function checkedRows(
  deps: AdminDeps,
  batch: string,
  rows: readonly IssueKeyOptions[],
): Promise<readonly NamedRow[]> {
  if (deps.stores.keys.issue === undefined) throw cannot('issue keys');
  if (typeof batch !== 'string' || !/^[!-~]{1,120}$/.test(batch)) {
    throw invalid('batch', 'batch must be 1 to 120 printable ASCII characters without spaces.');
  }
  if (!Array.isArray(rows) || rows.length < 1 || rows.length > maxBatchRows) {
    throw invalid('keys', `A batch must have 1 to ${maxBatchRows} keys.`);
  }
  const named = rows.map((row, index) => ({ ...row, id: row?.id ?? `${batch}-${index + 1}` }));
  const problems: AdminProblem[] = [];
  const ids = new Map<string, number>();
  const problemOfOwner = ownerProblems(deps);
  for (const [index, row] of named.entries()) {
    if (index % rowsAtOnce === 0) await setImmediate();
    const found = [...issueProblems(row).map(namedProblem), ...restOf(row, index + 1, ids, deps)];
    const ofOwner = found.length === 0 ? await problemOfOwner(row.owner) : undefined;
    if (ofOwner !== undefined) found.push(ofOwner);
    problems.push(...found.map((problem) => ({ row: index + 1, ...problem })));
    if (problems.length >= maxProblems) break;
  }
  if (problems[0] !== undefined) throw rowsError(problems, problems[0]);
  return named;
}

function restOf(
  row: NamedRow,
  number: number,
  ids: Map<string, number>,
  { clock }: AdminDeps,
): readonly AdminProblem[] {
  const problem = newKeyProblem(row, clock);
  const other = ids.get(row.id);
  ids.set(row.id, other ?? number);
  const repeated =
    other === undefined ? [] : [{ field: 'id', message: `Row ${other} has the same id.` }];
  return problem === undefined ? repeated : [problem, ...repeated];
}

function namedProblem({ path, sentence }: ReturnType<typeof issueProblems>[number]): AdminProblem {
  return { field: formatPath('', path), message: sentence };
}

/** Looks each owner up once. */
function ownerProblems(deps: AdminDeps) {
  const known = new Map<string | undefined, ReturnType<typeof ownerProblem>>();
  return (owner: string | undefined): ReturnType<typeof ownerProblem> => {
    const found = known.get(owner) ?? ownerProblem(deps, owner);
    known.set(owner, found);
    return found;
  };
}

/** Secrets that were issued before a store failed are in the result, which has them once. */
async function issueRows(
  deps: AdminDeps,
  batch: string,
  rows: readonly NamedRow[],
): Promise<IssuedBatch> {
  const data: BatchRow[] = [];
  let failure: unknown;
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    await setImmediate();
    const results = await Promise.allSettled(
      rows.slice(at, at + rowsAtOnce).map(async (row) => {
        if (failure !== undefined) return 'failed';
        return (await issueUnlessTaken(deps.stores.keys, row))?.secret;
      }),
    );
    for (const [index, result] of results.entries()) {
      const row = at + index + 1;
      const id = rows[row - 1]?.id ?? '';
      if (result.status === 'rejected') failure ??= result.reason;
      const isFailed = result.status === 'rejected' || result.value === 'failed';
      const secret = isFailed ? undefined : result.value;
      const outcome = isFailed ? 'failed' : secret === undefined ? 'existed' : 'issued';
      data.push({ row, id, outcome, secret });
    }
  }
  const count = (outcome: BatchRow['outcome']): number =>
    data.filter((row) => row.outcome === outcome).length;
  const issued = count('issued');
  if (failure !== undefined && issued === 0) throw failure;
  const groups = new Set(rows.map(({ group }) => group));
  return {
    batch,
    ...{ issued, existed: count('existed'), failed: count('failed') },
    data,
    problem: failure === undefined ? undefined : adminErrorOf(failure).message,
    warnings: [...groups].flatMap((group) => groupWarning(deps, group) ?? []),
  };
}
