/**
 * Finds, replaces and removes values in the bytes of a JSON document. All other values, and the
 * space around them, are kept byte for byte.
 */
import { type Body, originalBytes } from '../body/body.ts';
import { none, root, type Tape, type Value } from './tape.ts';
import type { Span } from './text.ts';

export function editElements(
  tape: Tape,
  array: Value,
  edits: ReadonlyMap<number, string | undefined>,
): string {
  const { body, bytes } = tape;
  const kept: string[] = [];
  const elements = tape.elements(array);
  // From after a bracket or a comma up to the next one: the element and the space around it.
  let from = tape.start(array) + 1;
  for (const [index, element] of elements.entries()) {
    const start = tape.start(element);
    const end = tape.end(element);
    const isLast = index === elements.length - 1;
    const to = isLast ? tape.end(array) - 1 : bytes.indexOf(',', end);
    if (!edits.has(index)) kept.push(textOf(body, from, to));
    else {
      const replacement = edits.get(index);
      if (replacement !== undefined) {
        kept.push(textOf(body, from, start) + replacement + textOf(body, end, to));
      }
    }
    from = to + 1;
  }
  return `[${kept.join(',')}]`;
}

function textOf(body: Body, start: number, end: number): string {
  return originalBytes(body, start, end).toString('utf8');
}

/**
 * The spans to cut, in order; none if the value is no array. Each includes the comma and the space
 * after the elements or, at the end of the array, before them.
 */
export function cutElements(
  tape: Tape,
  array: Value,
  isCut: (element: Value, index: number) => boolean,
): readonly Span[] {
  return cutsAmong(tape, tape.elements(array), isCut);
}

/** The same for the members of an object. */
function cutMembers(tape: Tape, object: Value, isCut: (member: Value) => boolean): readonly Span[] {
  return cutsAmong(tape, tape.members(object), isCut);
}

function cutsAmong(
  tape: Tape,
  values: readonly Value[],
  isCut: (value: Value, index: number) => boolean,
): readonly Span[] {
  const cuts: Span[] = [];
  let cutStart: number | undefined;
  let keptEnd: number | undefined;
  let lastEnd = 0;
  for (const [index, value] of values.entries()) {
    // A member begins with its name, which an element does not have.
    const start = tape.nameStart(value) || tape.start(value);
    lastEnd = tape.end(value);
    if (isCut(value, index)) cutStart ??= start;
    else {
      if (cutStart !== undefined) cuts.push({ start: cutStart, end: start });
      cutStart = undefined;
      keptEnd = lastEnd;
    }
  }
  if (cutStart !== undefined) cuts.push({ start: keptEnd ?? cutStart, end: lastEnd });
  return cuts;
}

interface PathCuts {
  /** In order. */
  readonly spans: readonly Span[];
  /** Those of the paths at which there is something. */
  readonly found: readonly string[];
}

interface WantedPath {
  readonly path: string;
  readonly steps: readonly string[];
}

/**
 * The spans of the members at these paths, in which `[]` stands for each element:
 * `contents[].parts[].functionCall.id`. All paths at once, because the comma between two members
 * that are cut belongs to one of them.
 */
export function cutPaths(tape: Tape, paths: readonly string[], from: Value = root): PathCuts {
  const found = new Set<string>();
  const wanted = paths
    .map((path) => ({ path, steps: path.split('.') }))
    .filter(({ steps }) => mayHave(tape, steps.at(-1) ?? ''));
  const spans = wanted.length === 0 ? [] : cutsBelow(tape, from, wanted, found);
  return { spans: inOrder(spans), found: paths.filter((path) => found.has(path)) };
}

/** Most bodies have no such member, and need no more than a search. A name may have escapes. */
function mayHave({ bytes }: Tape, name: string): boolean {
  return bytes.includes(`"${name}"`) || bytes.includes('\\u');
}

function cutsBelow(
  tape: Tape,
  holder: Value,
  wanted: readonly WantedPath[],
  found: Set<string>,
): readonly Span[] {
  const cuts = cutMembers(tape, holder, (value) => {
    const cut = wanted.find(
      ({ steps }) => steps.length === 1 && tape.isNamed(value, steps[0] ?? ''),
    );
    if (cut !== undefined) found.add(cut.path);
    return cut !== undefined;
  });
  const longer = wanted.filter(({ steps }) => steps.length > 1);
  const inner = [...new Set(longer.map(({ steps }) => steps[0] ?? ''))].flatMap((step) => {
    const isList = step.endsWith('[]');
    const value = tape.get(holder, isList ? step.slice(0, -2) : step);
    if (value === none) return [];
    const below = longer
      .filter(({ steps }) => steps[0] === step)
      .map(({ path, steps }) => ({ path, steps: steps.slice(1) }));
    const holders = isList ? tape.elements(value) : [value];
    return holders.flatMap((one) => cutsBelow(tape, one, below, found));
  });
  return [...cuts, ...inner];
}

/** The text of a value without these parts of it, which are in order. */
export function textWithout(tape: Tape, value: Value, cuts: readonly Span[]): string {
  let text = '';
  let from = tape.start(value);
  for (const { start, end } of cuts) {
    if (start < from || end > tape.end(value)) continue;
    text += textOf(tape.body, from, start);
    from = end;
  }
  return text + textOf(tape.body, from, tape.end(value));
}

export function inOrder(spans: readonly Span[]): readonly Span[] {
  return spans.toSorted((one, other) => one.start - other.start);
}

/**
 * The text of the value at a path such as `messages[2].content[0].input`; undefined if there is
 * none. Names in the path have neither dots nor brackets.
 */
export type RawValues = (path: string) => string | undefined;

/** The values in an object or array, by the last step of their path: `.input` or `[0]`. */
type Inside = ReadonlyMap<string, Value>;

/** Makes the search. Each object and array on the way to a value is read once. */
export function rawValues(tape: Tape): RawValues {
  const known = new Map<string, Inside>();
  const insideOf = (path: string): Inside => {
    const found = known.get(path) ?? readInside(tape, valueAt(path));
    known.set(path, found);
    return found;
  };
  const valueAt = (path: string): Value => {
    const step = lastStep.exec(path)?.[0];
    if (step === undefined) return tape.get(root, path);
    return insideOf(path.slice(0, -step.length)).get(step) ?? none;
  };
  return (path) => {
    const value = valueAt(path);
    return value === none ? undefined : tape.raw(value).toString('utf8');
  };
}

const lastStep = /(?:\.[^.[\]]*|\[\d+\])$/;

function readInside(tape: Tape, container: Value): Inside {
  return new Map<string, Value>([
    ...tape.members(container).map((value) => [`.${tape.name(value)}`, value] as const),
    ...tape.elements(container).map((value, index) => [`[${index}]`, value] as const),
  ]);
}
