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

/**
 * The spans of the members at a path, in which `[]` stands for each element:
 * `contents[].parts[].functionCall.id`. Each is a member of an object in the path.
 */
export function cutPath(tape: Tape, path: string, from: Value = root): readonly Span[] {
  const steps = path.split('.');
  const name = steps.at(-1) ?? '';
  // Most bodies have no such member, and need no more than a search. A name may have escapes.
  if (!tape.bytes.includes(`"${name}"`) && !tape.bytes.includes('\\u')) return [];
  return cutsBelow(tape, from, steps);
}

function cutsBelow(
  tape: Tape,
  holder: Value,
  [step = '', ...rest]: readonly string[],
): readonly Span[] {
  if (rest.length === 0) return cutMembers(tape, holder, (value) => tape.isNamed(value, step));
  const isList = step.endsWith('[]');
  const inner = tape.get(holder, isList ? step.slice(0, -2) : step);
  if (inner === none) return [];
  if (!isList) return cutsBelow(tape, inner, rest);
  return tape.elements(inner).flatMap((element) => cutsBelow(tape, element, rest));
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
