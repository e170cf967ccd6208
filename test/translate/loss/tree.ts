/**
 * Documents with leaves that the test searches for. Each leaf has a second value, so that a test
 * can see whether the output changes with it.
 */
/** A value that a translation must not lose. */
export class Leaf {
  readonly value: unknown;
  /** A different value that is equally valid. */
  readonly other: unknown;
  /** `verbatim`: the text itself must be found. `effect`: another value must change the output. */
  readonly kind: 'verbatim' | 'effect';

  constructor(value: unknown, other: unknown, kind: 'verbatim' | 'effect') {
    this.value = value;
    this.other = other;
    this.kind = kind;
  }
}

/** JSON with leaves in it; members that are undefined are left out. */
export type Tree =
  | Leaf
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Tree[]
  | { readonly [name: string]: Tree };

/** A leaf and its path: `messages[2].content`. */
export interface Placed {
  readonly leaf: Leaf;
  readonly path: string;
}

/** The JSON of the tree, with one leaf changed if given. */
export function built(tree: Tree, changed?: Leaf): unknown {
  if (tree instanceof Leaf) return tree === changed ? tree.other : tree.value;
  if (isTrees(tree)) return tree.map((one) => built(one, changed));
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(
    Object.entries(tree).flatMap(([name, one]) =>
      one === undefined ? [] : [[name, built(one, changed)]],
    ),
  );
}

/** The tree with each list that is a member of it replaced. */
export function withLists(
  tree: Tree,
  replace: (name: string, list: readonly Tree[]) => readonly Tree[],
): Tree {
  if (tree instanceof Leaf || isTrees(tree) || typeof tree !== 'object' || tree === null) {
    return tree;
  }
  return Object.fromEntries(
    Object.entries(tree).map(([name, one]) => [name, isTrees(one) ? replace(name, one) : one]),
  );
}

/** Every leaf of the tree. */
export function leavesOf(tree: Tree, path = ''): readonly Placed[] {
  if (tree instanceof Leaf) return [{ leaf: tree, path }];
  if (isTrees(tree)) return tree.flatMap((one, index) => leavesOf(one, `${path}[${index}]`));
  if (typeof tree !== 'object' || tree === null) return [];
  return Object.entries(tree).flatMap(([name, one]) =>
    leavesOf(one, path === '' ? name : `${path}.${name}`),
  );
}

/** `Array.isArray` alone forgets that the list is read-only. */
function isTrees(tree: Tree): tree is readonly Tree[] {
  return Array.isArray(tree);
}

/** The tree without the value at a path; undefined if there is none. */
export function without(tree: Tree, path: string): Tree | undefined {
  const steps = path.match(/[^.[\]]+/g) ?? [];
  return steps.length === 0 ? undefined : cut(tree, steps);
}

function cut(tree: Tree, [step = '', ...rest]: readonly string[]): Tree | undefined {
  if (tree instanceof Leaf || typeof tree !== 'object' || tree === null) return undefined;
  const entries: readonly (readonly [string, Tree])[] = Object.entries(tree);
  const found = entries.find(([name]) => name === step);
  if (found === undefined || found[1] === undefined) return undefined;
  const inner = rest.length === 0 ? undefined : cut(found[1], rest);
  if (rest.length > 0 && inner === undefined) return undefined;
  const kept = entries.flatMap(([name, one]): readonly (readonly [string, Tree])[] => {
    if (name !== step) return [[name, one]];
    return inner === undefined ? [] : [[name, inner]];
  });
  return isTrees(tree) ? kept.map(([, one]) => one) : Object.fromEntries(kept);
}

/** Generates random documents, the same for the same seed. */
export interface Drawing {
  /** An integer from 0 up to the bound. */
  below(bound: number): number;
  /** True once in this many calls. */
  once(inSoMany: number): boolean;
  one<Kind>(...kinds: readonly Kind[]): Kind;
  /** Creates the value once in this many calls. */
  maybe<Kind>(inSoMany: number, make: () => Kind): Kind | undefined;
  some<Kind>(least: number, most: number, make: (index: number) => Kind): readonly Kind[];
  /** Text that is unique in the document. */
  text(): Leaf;
  /** Text that may be rewritten, but must affect the output. */
  name(prefix: string): Leaf;
  number(value: number): Leaf;
  flag(): Leaf;
  word(value: unknown, other: unknown): Leaf;
  /** An object, sometimes with an unknown member. */
  object(members: Readonly<Record<string, Tree>>): Tree;
  /** The caller's own data: any JSON, which a translation must not interpret. */
  data(): Tree;
}

/** @param plant one in this many objects gets an unknown member */
export function drawing(draw: (below: number) => number, plant: number): Drawing {
  let made = 0;
  const next = (): number => {
    made += 1;
    return made;
  };
  const text = (): Leaf => new Leaf(`said${next()}q`, `other${made}q`, 'verbatim');
  const once = (inSoMany: number): boolean => draw(inSoMany) === 0;
  const planted = (): Tree => {
    if (once(2)) return text();
    return once(2) ? { deep: text() } : [text()];
  };
  return {
    below: draw,
    once,
    one: (...kinds) => {
      const kind = kinds[draw(kinds.length)];
      if (kind === undefined) throw new Error('There is nothing to choose among.');
      return kind;
    },
    maybe: (inSoMany, make) => (once(inSoMany) ? make() : undefined),
    some: (least, most, make) =>
      Array.from({ length: least + draw(most - least + 1) }, (_, index) => make(index)),
    text,
    name: (prefix) => new Leaf(`${prefix}${next()}`, `${prefix}${next()}z`, 'effect'),
    number: (value) => new Leaf(value, value / 2, 'effect'),
    flag: () => (once(2) ? new Leaf(true, false, 'effect') : new Leaf(false, true, 'effect')),
    word: (value, other) => new Leaf(value, other, 'effect'),
    object: (members) => (once(plant) ? { ...members, [`planted_${next()}`]: planted() } : members),
    data: () => ({
      city: text(),
      days: new Leaf(3, 4, 'effect'),
      list: [text(), { deep: text() }],
    }),
  };
}
