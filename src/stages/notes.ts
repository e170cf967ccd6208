/** What a caller is told by header about a translated call. */
import { GatewayError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';

/** A header's list has an end, whatever a caller puts into a body. */
const mostNames = 64;
const longestName = 64;

/**
 * `x-tollgate-dropped`: the members that were left out, cut or replaced, in the caller's words.
 *
 * @throws GatewayError `not_portable` for the first of them where the model is strict
 */
export function droppedNote(dropped: readonly string[], strict: boolean): HeaderMap {
  const [first] = dropped;
  if (first === undefined) return {};
  if (strict) {
    throw new GatewayError(
      'not_portable',
      `The upstream of this model has no counterpart for \`${plainName(first)}\`, and the model ` +
        'is strict. Leave it out.',
      { param: plainName(first) },
    );
  }
  const names = [...new Set(dropped.map(plainName))].filter((name) => name !== '');
  return { 'x-tollgate-dropped': names.slice(0, mostNames).join(',') };
}

/** `x-tollgate-estimated`: these members of the reply are an estimate of ours. */
export function estimatedNote(names: string): HeaderMap {
  return { 'x-tollgate-estimated': names };
}

/** A member's name as it may stand in a header. */
function plainName(name: string): string {
  return name.replace(/[^\w.[\]-]/g, '').slice(0, longestName);
}
