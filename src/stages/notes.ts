/** What a caller is told by header about a translated call. */
import { GatewayError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';

/** Node takes 16 KB of headers in all; a list of names has to leave room for the others. */
const mostBytes = 4_096;
/** For the last entry, which says how many more there are. */
const bytesForRest = 24;
const longestName = 128;

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
  return { 'x-tollgate-dropped': listOf(names) };
}

/** All names, or as many as there is room for and `+12 more` behind them. */
function listOf(names: readonly string[]): string {
  const whole = names.join(',');
  if (whole.length <= mostBytes) return whole;
  let list = '';
  for (const [index, name] of names.entries()) {
    const longer = index === 0 ? name : `${list},${name}`;
    if (longer.length > mostBytes - bytesForRest) return `${list},+${names.length - index} more`;
    list = longer;
  }
  return list;
}

/** `x-tollgate-estimated`: these members of the reply are an estimate of ours. */
export function estimatedNote(names: string): HeaderMap {
  return { 'x-tollgate-estimated': names };
}

/** A member's name as it may stand in a header. */
function plainName(name: string): string {
  return name.replace(/[^\w.[\]-]/g, '').slice(0, longestName);
}
