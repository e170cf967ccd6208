/** Pages of keys, for stores that can list them. */
import type { ApiKey } from './key-store.ts';

/** Selects a page of keys, ordered by id; all keys by default. */
export interface KeyPageQuery {
  /** Text that the id, the group, the owner or a value of the metadata contains, in any case. */
  readonly search?: string;
  /** Only keys of this group. */
  readonly group?: string;
  /** The id of an owner. */
  readonly owner?: string;
  /** Labels that the key has, each with exactly this value. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Only keys that are disabled, or only those that are not. Default: both. */
  readonly disabled?: boolean;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** How many keys, 1 to 1,000. Default: 100. */
  readonly limit?: number;
}

/** A page of keys. */
export interface KeyPage {
  /** The keys of this page. */
  readonly keys: readonly ApiKey[];
  /** Pass this as `after`; undefined on the last page. */
  readonly next: string | undefined;
}

/** A query whose members were checked, with its default. */
export interface CheckedKeyPage {
  readonly search: string | undefined;
  readonly group: string | undefined;
  readonly owner: string | undefined;
  readonly metadata: readonly (readonly [name: string, value: string])[];
  readonly disabled: boolean | undefined;
  readonly after: string;
  readonly limit: number;
}

const maxLabels = 2;

/** @throws RangeError where the query is not valid */
export function checkKeyPage(query: KeyPageQuery = {}): CheckedKeyPage {
  const { group, owner, disabled } = query;
  checkTexts({ group, owner });
  if (disabled !== undefined && typeof disabled !== 'boolean') {
    refuse('disabled must be true or false');
  }
  const metadata = Object.entries(query.metadata ?? {});
  if (metadata.length > maxLabels || metadata.some(([, value]) => typeof value !== 'string')) {
    refuse(`metadata must be an object of at most ${maxLabels} texts`);
  }
  return { ...checkPage(query), group, owner, metadata, disabled };
}

/** Checks the members that pages of keys and of owners share. */
export function checkPage(
  query: { readonly search?: string; readonly after?: string; readonly limit?: number } = {},
): Pick<CheckedKeyPage, 'search' | 'after' | 'limit'> {
  const { search, after = '', limit = 100 } = query;
  checkTexts({ search, after });
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1_000) {
    refuse('limit must be an integer from 1 to 1,000');
  }
  return { search: search?.toLowerCase(), after, limit };
}

function checkTexts(texts: Readonly<Record<string, unknown>>): void {
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined && typeof text !== 'string') refuse(`${name} must be a string`);
  }
}

/** The text that a search for keys looks into, in lower case. */
export function keySearchText({ id, group, owner, metadata }: ApiKey): string {
  return searchText([id, group, owner], metadata);
}

/** Texts, and the values of metadata, in lower case. */
export function searchText(
  texts: readonly (string | undefined)[],
  metadata: ApiKey['metadata'] = {},
): string {
  const all = [...texts, ...Object.values(metadata)].filter((text) => text !== undefined);
  return all.join('\n').toLowerCase();
}

/** A page from ordered keys, of which one more than the limit was read to see if more follow. */
export function keyPageOf(keys: readonly ApiKey[], limit: number): KeyPage {
  const shown = keys.slice(0, limit);
  return { keys: shown, next: keys.length > limit ? shown.at(-1)?.id : undefined };
}

function refuse(sentence: string): never {
  throw new RangeError(`Key query refused: ${sentence}.`);
}
