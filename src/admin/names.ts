/** What there is to choose from: keys, models, channels, groups, codes, metadata, by a search. */
import { errorCodes } from '../errors.ts';
import { modelChannels } from './channels/list.ts';
import type { AdminDeps } from './deps.ts';
import { setBounded } from './now/live.ts';
import type { AdminUsageReports } from './usage/usage.ts';

/** What is named: `metadata` for the names in it, `metadata.user` for the values of one of them. */
export type NamesOf =
  | 'key'
  | 'model'
  | 'channel'
  | 'group'
  | 'code'
  | 'metadata'
  | `metadata.${string}`;

/** Selects names. */
export interface NamesQuery {
  /** What the names are of: `key`, `model`, `channel` and so on. */
  readonly of: NamesOf;
  /** Text that a name contains, in any case; of a key also what its store searches by. */
  readonly q?: string;
}

/**
 * Reads up to 50 names, those that begin with the text first: of the key store and the catalog, and
 * of the calls of the last 30 days, most frequent first, which are read at most every five minutes.
 */
export type ReadNames = (query: NamesQuery) => Promise<readonly string[]>;

const maxNames = 50;
const freshMs = 300_000;
const logMs = 30 * 86_400_000;
/** How many names of the log are kept of each kind, the most frequent ones. */
const maxKept = 10_000;
const maxKinds = 16;
const sampled = 100;

export function adminNames(deps: AdminDeps, { rows }: Pick<AdminUsageReports, 'rows'>): ReadNames {
  const known = new Map<string, Logged>();
  const logged = (of: NamesOf): Promise<readonly string[]> => {
    const nowMs = deps.clock.now();
    const found = known.get(of);
    if (found !== undefined && nowMs - found.readMs < freshMs) return found.names;
    const names = namesInLog(deps, rows, of, nowMs);
    setBounded(known, of, { readMs: nowMs, names }, maxKinds);
    return names;
  };
  return async ({ of, q = '' }) => {
    const [own, ofLog] = await Promise.all([ownNames(deps, of, q), logged(of)]);
    const text = q.toLowerCase();
    const found = [...new Set([...own, ...ofLog.filter((name) => isIn(name, text))])];
    const begin = found.filter((name) => name.toLowerCase().startsWith(text));
    return [...new Set([...begin, ...found])].slice(0, maxNames);
  };
}

interface Logged {
  readonly readMs: number;
  readonly names: Promise<readonly string[]>;
}

function isIn(name: string, text: string): boolean {
  return name !== '' && name.toLowerCase().includes(text);
}

/** The names that do not depend on calls. */
async function ownNames(deps: AdminDeps, of: NamesOf, q: string): Promise<readonly string[]> {
  if (of === 'key') return keyIds(deps, q);
  const text = q.toLowerCase();
  return catalogNames(deps, of).filter((name) => isIn(name, text));
}

/** A search of the store may also find a key by other members than its id. */
async function keyIds({ stores: { keys } }: AdminDeps, q: string): Promise<readonly string[]> {
  const search = q === '' ? {} : { search: q };
  const page = await keys.page?.({ ...search, limit: maxNames });
  return (page?.keys ?? []).map(({ id }) => id);
}

function catalogNames(deps: AdminDeps, of: NamesOf): readonly string[] {
  if (of === 'code') return errorCodes;
  const models = modelChannels(deps);
  switch (of) {
    case 'model':
      return models.map(({ modelId }) => modelId);
    case 'group':
      return models.flatMap(({ groups }) => groups);
    case 'channel':
      return models.flatMap(({ channels }) => channels.map(({ channelId }) => channelId));
    default:
      return [];
  }
}

/** None if the log fails: a field that completes names works without them. */
async function namesInLog(
  deps: AdminDeps,
  rows: AdminUsageReports['rows'],
  of: NamesOf,
  nowMs: number,
): Promise<readonly string[]> {
  try {
    if (of === 'code') return [];
    if (of === 'metadata') return await metadataNames(deps);
    if (deps.stores.usage.usageReport === undefined) return [];
    const found = await rows({ by: of, fromMs: nowMs - logMs, toMs: nowMs + 1 });
    return found
      .toSorted((one, other) => other.calls - one.calls)
      .slice(0, maxKept)
      .map(({ names: [name = ''] }) => name);
  } catch {
    return [];
  }
}

/** Those of the latest calls and of the first keys. */
async function metadataNames({ stores: { usage, keys } }: AdminDeps): Promise<readonly string[]> {
  const calls = await usage.usageRecords?.({}, { limit: sampled, newestFirst: true });
  const page = await keys.page?.({ limit: sampled });
  const all = [...(calls?.records ?? []), ...(page?.keys ?? [])];
  return [...new Set(all.flatMap(({ metadata = {} }) => Object.keys(metadata)))].sort();
}
