/** Pages of keys, for stores that can list them. */
import type { ApiKey } from './key-store.ts';

/** Selects a page of keys, ordered by id; all keys by default. */
export interface KeyPageQuery {
  /** Text that the id or the group contains, in any case. */
  readonly search?: string;
  readonly group?: string;
  readonly disabled?: boolean;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** How many keys, 1 to 1,000. Default: 100. */
  readonly limit?: number;
}

/** A page of keys. */
export interface KeyPage {
  readonly keys: readonly ApiKey[];
  /** Pass this as `after`; undefined on the last page. */
  readonly next: string | undefined;
}

/** A query whose members were checked, with its default. */
export interface CheckedKeyPage {
  readonly search: string | undefined;
  readonly group: string | undefined;
  readonly disabled: boolean | undefined;
  readonly after: string;
  readonly limit: number;
}

/** @throws RangeError where the query is not valid */
export function checkKeyPage(query: KeyPageQuery = {}): CheckedKeyPage {
  const { search, group, disabled, after = '', limit = 100 } = query;
  for (const text of [search, group, after]) {
    if (text !== undefined && typeof text !== 'string') {
      refuse('search, group and after must be strings');
    }
  }
  if (disabled !== undefined && typeof disabled !== 'boolean') {
    refuse('disabled must be true or false');
  }
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1_000) {
    refuse('limit must be an integer from 1 to 1,000');
  }
  return { search: search?.toLowerCase(), group, disabled, after, limit };
}

/** A page from ordered keys, of which one more than the limit was read to see if more follow. */
export function keyPageOf(keys: readonly ApiKey[], limit: number): KeyPage {
  const shown = keys.slice(0, limit);
  return { keys: shown, next: keys.length > limit ? shown.at(-1)?.id : undefined };
}

function refuse(sentence: string): never {
  throw new RangeError(`Key query refused: ${sentence}.`);
}
