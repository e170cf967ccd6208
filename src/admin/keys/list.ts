/** Lists keys with their balances, by id or by what they have used. */
import type { KeyPageQuery } from '../../ports/keys/key-page.ts';
import { invalid } from '../admin-error.ts';
import { type AdminDeps, given, limitOf, type Page, type PageQuery, pageOf } from '../deps.ts';
import { cannot } from './stored.ts';
import { type KeyBalance, type KeySummary, summariesOf } from './summary.ts';

/** How keys are sorted: by id, by what was used or is left of their budget, or by last use. */
export type KeySort = 'id' | 'used' | 'left' | 'lastUsed';

/** Selects keys. */
export interface KeyListQuery
  extends PageQuery,
    Pick<KeyPageQuery, 'search' | 'group' | 'owner' | 'metadata' | 'disabled'> {
  /**
   * Default: `id`. `used` begins with the key that has used most, `left` with the one that has the
   * least left, `lastUsed` with the one that was used last: they need the balances or the last
   * calls of all keys that are selected, so that these may be at most 1,000.
   */
  readonly sort?: KeySort;
}

/** The balances of more keys would cost too many reads of the quota store. */
const maxSorted = 1_000;

export async function listKeys(deps: AdminDeps, query: KeyListQuery): Promise<Page<KeySummary>> {
  const { keys } = deps.stores;
  if (keys.page === undefined) throw cannot('list keys');
  const { search, group, owner, metadata, disabled, after, sort = 'id' } = query;
  const chosen = given({ search: search === '' ? undefined : search, group, owner, disabled });
  const wanted = { ...chosen, ...given({ metadata }) };
  if (sort !== 'id') return pageOf(await sorted(deps, wanted, sort), query);
  const page = await keys.page({ ...wanted, ...given({ after }), limit: limitOf(query) });
  return { data: await summariesOf(page.keys, deps), next: page.next };
}

async function sorted(
  deps: AdminDeps,
  wanted: KeyPageQuery,
  sort: Exclude<KeySort, 'id'>,
): Promise<readonly KeySummary[]> {
  const page = await deps.stores.keys.page?.({ ...wanted, limit: maxSorted });
  if (page?.next !== undefined) {
    throw invalid('sort', `More than ${maxSorted} keys are selected: narrow them, or sort by id.`);
  }
  const keys = page?.keys ?? [];
  const found: KeySummary[] = [];
  for (let at = 0; at < keys.length; at += summariesAtOnce) {
    found.push(...(await summariesOf(keys.slice(at, at + summariesAtOnce), deps)));
  }
  return found.sort((one, other) => compare(rankOf[sort](one), rankOf[sort](other)));
}

const summariesAtOnce = 100;

/** The highest comes first; undefined comes last. */
const rankOf: Readonly<
  Record<Exclude<KeySort, 'id'>, (key: KeySummary) => bigint | number | undefined>
> = {
  used: (key) => mainBalance(key)?.usedNanos,
  left: (key) => {
    const left = mainBalance(key)?.remainingNanos;
    return left === undefined ? undefined : -left;
  },
  lastUsed: ({ lastUsedMs }) => lastUsedMs,
};

function mainBalance({ balances }: KeySummary): KeyBalance | undefined {
  return balances?.find(({ isMain }) => isMain) ?? balances?.[0];
}

function compare(one: bigint | number | undefined, other: bigint | number | undefined): number {
  if (one === other) return 0;
  if (one === undefined || other === undefined) return one === undefined ? 1 : -1;
  return one > other ? -1 : 1;
}
