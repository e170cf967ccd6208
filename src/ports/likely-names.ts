/** Finds the member that a misspelt one stands for. */
import type { z } from 'zod';

/** The names of the members at a path of a schema; empty if it is not an object there. */
export function namesAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const reached = path.reduce<readonly unknown[]>(
    (at, part) => at.flatMap((one) => belowOf(one, part)),
    unwrapped(schema),
  );
  return reached.flatMap((one) => Object.keys(member(definitionOf(one), 'shape') ?? {}));
}

function belowOf(schema: unknown, part: PropertyKey): readonly unknown[] {
  const definition = definitionOf(schema);
  const below =
    member(member(definition, 'shape'), part) ??
    member(definition, 'element') ??
    member(definition, 'valueType');
  return unwrapped(below);
}

/** The schemas behind `optional`, defaults, pipes and unions. */
function unwrapped(schema: unknown): readonly unknown[] {
  if (schema === undefined) return [];
  const definition = definitionOf(schema);
  const inner = member(definition, 'innerType') ?? member(definition, 'in');
  if (inner !== undefined) return unwrapped(inner);
  const options = member(definition, 'options');
  return Array.isArray(options) ? options.flatMap(unwrapped) : [schema];
}

function definitionOf(schema: unknown): unknown {
  return member(member(schema, '_zod'), 'def');
}

function member(value: unknown, name: PropertyKey): object | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found: unknown = Reflect.get(value, name);
  return typeof found === 'object' && found !== null ? found : undefined;
}

/** What other libraries call some members. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['apikey', 'credential'],
  ['key', 'credential'],
  ['secret', 'credential'],
  ['url', 'baseUrl'],
  ['provider', 'dialect'],
  ['models', 'catalog'],
  ['maxtokens', 'maxOutputTokens'],
  ['prompt', 'input'],
  ['completion', 'output'],
]);

/** What names of amounts and times end in. */
const units = ['ms', 'nanos', 'bytes', 'seconds'];

/** The name that is nearest to a misspelt one; undefined if none is near. */
export function likeliestName(name: string, names: readonly string[]): string | undefined {
  const written = plain(name);
  const other = otherNames.get(written);
  if (other !== undefined && names.includes(other)) return other;
  const withUnit = names.find((one) => units.some((unit) => plain(one) === written + unit));
  if (withUnit !== undefined) return withUnit;
  const [best] = [...new Set(names)]
    .map((one) => ({ one, distance: distanceOf(written, plain(one)) }))
    .filter(({ one, distance }) => distance <= Math.min(2, Math.floor(one.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return best?.one;
}

function plain(name: string): string {
  return name.slice(0, 64).toLowerCase().replace(/[_-]/g, '');
}

/** The number of letters to insert, remove or replace (Levenshtein). */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
