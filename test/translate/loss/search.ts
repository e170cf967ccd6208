/** Finds leaves that a translation has lost silently. */
import type { Outcome } from './translate.ts';
import { built, type Leaf, leavesOf, type Placed, type Tree, without } from './tree.ts';

/** How a tree is translated. */
export type Translate = (document: unknown) => Outcome;

/** The result for one document. */
export interface Search {
  /** The number of leaves searched for. */
  readonly leaves: number;
  /** Paths that were refused by name, and removed to continue. */
  readonly refusals: number;
  readonly lost: readonly Loss[];
}

/** A leaf that left no trace. */
export interface Loss {
  /** Without the positions in lists: `messages.content.text`. */
  readonly place: string;
  readonly example: string;
}

const mostRefusals = 40;

/**
 * Each leaf must be found in the output, or be reported as dropped. A refusal must name a member;
 * that is removed, and the rest is tried again.
 */
export function searched(document: Tree, translate: Translate): Search {
  const { tree, base, refusals } = withoutRefusals(document, translate);
  if (base.refused !== undefined) {
    const example = `refused without a name: ${base.refused} in ${JSON.stringify(built(tree))}`;
    return { leaves: 0, refusals, lost: [{ place: `(${base.refused})`, example }] };
  }
  const leaves = leavesOf(tree);
  const lost = leaves
    .filter((placed) => !isKept(placed, { tree, base, translate }))
    .map(({ path }) => ({ place: placeOf(path), example: exampleOf(path, tree, base) }));
  return { leaves: leaves.length, refusals, lost };
}

/** What is left of a document without the members that are refused by name, one after another. */
export function withoutRefusals(document: Tree, translate: Translate): Accepted {
  let tree = document;
  let base = translate(built(tree));
  let refusals = 0;
  while (base.refused !== undefined && refusals < mostRefusals) {
    const rest = withoutRefused(tree, base.refused);
    if (rest === undefined) break;
    tree = rest;
    refusals += 1;
    base = translate(built(tree));
  }
  return { tree, base, refusals };
}

/** A document, and its translation, which is still refused if the refusal named no member. */
export interface Accepted {
  readonly tree: Tree;
  readonly base: Outcome;
  readonly refusals: number;
}

function exampleOf(path: string, tree: Tree, { json, dropped }: Outcome): string {
  const sent = JSON.stringify(built(tree));
  return `${path} of ${sent}\nbecame ${json}\nand these were dropped: ${dropped.join(', ')}`;
}

interface SearchInput {
  readonly tree: Tree;
  readonly base: Outcome;
  readonly translate: Translate;
}

function isKept({ leaf, path }: Placed, { tree, base, translate }: SearchInput): boolean {
  if (leaf.kind === 'verbatim' && base.texts.includes(String(leaf.value))) return true;
  if (isNamed(path, base.dropped)) return true;
  return leaf.kind === 'effect' && makesDifference(leaf, { tree, base, translate });
}

/** Another value must change the request or the list of dropped members, or be refused. */
function makesDifference(leaf: Leaf, { tree, base, translate }: SearchInput): boolean {
  const changed = translate(built(tree, leaf));
  return (
    changed.json !== base.json ||
    changed.refused !== undefined ||
    changed.dropped.join() !== base.dropped.join()
  );
}

/** Matches the path of the leaf or of a parent, with or without indexes. */
function isNamed(path: string, dropped: readonly string[]): boolean {
  const place = unplaced(path);
  return dropped.some((name) => {
    const exact = name;
    if (covered.get(name)?.test(place) === true) return true;
    if (path === exact || path.startsWith(`${exact}.`) || path.startsWith(`${exact}[`)) return true;
    return (
      place === exact ||
      (exact.includes('.') && place.startsWith(`${exact}.`)) ||
      isRoot(place, exact)
    );
  });
}

/** A member of the body, but never the whole conversation. */
function isRoot(place: string, name: string): boolean {
  return !conversations.has(name) && place.startsWith(`${name}.`);
}

const conversations: ReadonlySet<string> = new Set(['messages', 'contents', 'input', 'tools']);

/** Names that stand for several places at once, and these. */
const covered: ReadonlyMap<string, RegExp> = new Map([
  [
    'tools.schema',
    /^(?:input\.)?(?:tools\.){1,2}(?:function(?:Declarations)?\.)?(?:parameters|input_schema)/,
  ],
  ['tools.schema.title', /^tools\.input_schema\b.*\.title$/],
  ['cache_control', /\.cache_control\b/],
  ['messages.thinking', /^messages\.content\.(?:thinking|signature|data)$/],
]);

function unplaced(path: string): string {
  return path.replace(/\[\d+\]/g, '');
}

/** A path without list indexes, and without the numbers of planted members. */
function placeOf(path: string): string {
  return unplaced(path)
    .replace(/planted_\d+/g, 'planted')
    .replace(/kind_?\d+/g, 'kind');
}

/** Removes the member that the refusal names; if that member is missing, removes its parent. */
function withoutRefused(tree: Tree, name: string): Tree | undefined {
  const parent = name.replace(/(?:\.[^.[\]]+|\[\d+\])$/, '');
  return without(tree, name) ?? (parent === name ? undefined : without(tree, parent));
}
