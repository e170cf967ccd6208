/** Reads arbitrary JSON, and generates random numbers that are the same in every run. */

/** An object of a document. */
export type Json = Readonly<Record<string, unknown>>;

/** The value as an object, or an empty one. */
export function record(value: unknown): Json {
  return isRecord(value) ? value : {};
}

/** Whether the value is an object: neither a list nor null. */
export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a list, or an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value as a string, or undefined. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value as a count, or undefined. */
export function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** The parsed document, or undefined if the text isn't JSON. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The object without some of its members. */
export function without(value: Json, ...names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

/** The object without empty members. */
export function output(value: Json): Json {
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => one !== undefined && one !== null),
  );
}

/** Every string in the value, with its path. */
export function strings(value: unknown, path = ''): readonly (readonly [string, string])[] {
  if (typeof value === 'string') return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((one) => strings(one, `${path}[]`));
  return Object.entries(record(value)).flatMap(([name, one]) => strings(one, `${path}.${name}`));
}

/**
 * Splits the text into pieces of 1 to 9 characters, never within a surrogate pair, which JSON
 * doesn't allow.
 */
export function torn(whole: string, draw: (below: number) => number): readonly string[] {
  const characters = [...whole];
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; ) {
    const length = 1 + draw(9);
    pieces.push(characters.slice(at, at + length).join(''));
    at += length;
  }
  return pieces;
}
