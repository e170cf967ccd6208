/** Headers with notes for the caller about a translated call. */
import { GatewayError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';

/** Node accepts 16 KB of headers in all, and other headers need their share. */
const maxListBytes = 4_096;
/** Reserved for the last entry, which says how many names follow. */
const lastEntryBytes = 24;
const maxNameLength = 128;

/**
 * `x-tollgate-dropped`: the members that were left out, truncated or replaced, by the caller's
 * names.
 *
 * @param unasked the names that the caller did not ask for, which a strict model drops too
 */
export function droppedNote(
  dropped: readonly string[],
  strict: boolean,
  unasked: ReadonlySet<string> | undefined = undefined,
): HeaderMap {
  if (dropped.length === 0) return {};
  const first = strict ? dropped.find((name) => unasked?.has(name) !== true) : undefined;
  if (first !== undefined) {
    throw new GatewayError(
      'not_portable',
      `The upstream of this model has no counterpart for \`${plainName(first)}\`, and the model ` +
        'is strict. Leave it out.',
      { param: plainName(first) },
    );
  }
  const names = [...new Set(dropped.map(plainName))].filter((name) => name !== '');
  return { 'x-tollgate-dropped': joinedNames(names) };
}

/** All names, or as many as fit, followed by `+12 more`. */
function joinedNames(names: readonly string[]): string {
  const whole = names.join(',');
  if (whole.length <= maxListBytes) return whole;
  let list = '';
  for (const [index, name] of names.entries()) {
    const longer = index === 0 ? name : `${list},${name}`;
    if (longer.length > maxListBytes - lastEntryBytes)
      return `${list},+${names.length - index} more`;
    list = longer;
  }
  return list;
}

export function estimatedNote(names: string): HeaderMap {
  return { 'x-tollgate-estimated': names };
}

/** Removes from a member's name what a header must not contain. */
function plainName(name: string): string {
  return name.replace(/[^\w.:[\]-]/g, '').slice(0, maxNameLength);
}
