/** Knows which members of a configuration hold a secret. */
import type { Path } from '../../ports/set-up.ts';

const names: ReadonlySet<unknown> = new Set(['credential', 'secret', 'token', 'pepper']);
/** Members in which the user chooses the names, so that a name says nothing about a secret. */
const freeNames: ReadonlySet<unknown> = new Set(['metadata', 'headers', 'price', 'cost']);

/** Whether the member at the path is a secret. */
export function isSecretMember(path: Path): boolean {
  return names.has(path.at(-1)) && !path.some((name) => freeNames.has(name));
}
