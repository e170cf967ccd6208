/** Pages of a list that is in memory as a whole. */
import { invalid } from './admin-error.ts';
import { maxPage, type Page } from './deps.ts';

export interface PageQuery {
  /** The `next` of the previous page. */
  readonly after?: string;
  /** 1 to 100. Default: 100. */
  readonly limit?: number;
}

/** @throws AdminError `invalid_request` */
export function limitOf({ limit = maxPage }: PageQuery): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= maxPage) return limit;
  throw invalid('limit', `limit must be an integer from 1 to ${maxPage}.`);
}

/**
 * A page of a list in memory; its cursor is a position.
 *
 * @throws AdminError `invalid_request`
 */
export function pageOf<T>(all: readonly T[], query: PageQuery): Page<T> {
  const limit = limitOf(query);
  const { after = '0' } = query;
  const start = /^\d{1,9}$/.test(after) ? Number(after) : Number.NaN;
  if (!Number.isSafeInteger(start)) {
    throw invalid('after', 'after must be the next of an earlier page.');
  }
  const end = start + limit;
  return { data: all.slice(start, end), next: end < all.length ? String(end) : undefined };
}
