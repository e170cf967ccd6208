/** Finds the JSON text of single values in a scanned body, as the caller wrote it. */
import { none, root, type Tape, type Value } from './tape.ts';

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
