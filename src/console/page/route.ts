/**
 * The route of the page, which is the fragment of its URL: `#/calls/req_1?range=1h&model=gpt-5`.
 */
import { type Range, rangeFrom } from './range.ts';

/** The views, in the order of the tabs. */
export const viewNames = ['now', 'calls', 'spend', 'keys', 'channels', 'models', 'audit'] as const;

export type ViewName = (typeof viewNames)[number];

export interface Route {
  readonly view: ViewName;
  readonly id?: string | undefined;
  /** A view of live figures shows the nearest one that the server has, and keeps this one. */
  readonly range: Range;
  readonly params: Readonly<Record<string, string>>;
}

/** Parses the fragment of a URL; what is missing or invalid gets its default. */
export function routeOf(hash: string, usualRange: Range): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name, id] = path.split('/');
  const view = viewNames.find((known) => known === name) ?? 'now';
  const params = Object.fromEntries(new URLSearchParams(search));
  const { range: wanted, ...filters } = params;
  const range = rangeFrom(wanted) ?? usualRange;
  return {
    view,
    id: id === undefined || id === '' ? undefined : decoded(id),
    range,
    params: filters,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function hrefOf({ view, id, range, params }: Route): string {
  const filters = Object.entries(params).filter(([, value]) => value !== '');
  const search = new URLSearchParams([['range', range], ...filters]);
  const path = id === undefined ? view : `${view}/${encodeURIComponent(id)}`;
  return `#/${path}?${search}`;
}
