/** Refuses text that not every store can keep, so that all stores behave alike. */
import { AdminError } from '../admin-error.ts';

/** PostgreSQL can't store NUL, and no store can keep lone surrogates, which are not characters. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** The limit for the bodies of calls too: code that works on parsed JSON may recurse this far. */
const maxLevels = 64;

/**
 * Checks the depth and every text of parsed JSON, including the names of members. It does not
 * recurse, because the input may be nested deeply enough to overflow the stack.
 *
 * @throws AdminError `invalid_request` that names the member
 */
export function checkTexts(value: unknown): void {
  const waiting = [{ path: '', level: 1, value }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { path, level, value: found } = next;
    if (typeof found === 'string' && !isStorable(found)) throw unstorable(path);
    if (typeof found !== 'object' || found === null) continue;
    // A body parser of the host may accept deeper bodies.
    if (level > maxLevels) {
      throw new AdminError('invalid_request', 'The body is nested deeper than 64 levels.');
    }
    for (const [name, inner] of Object.entries(found)) {
      if (!isStorable(name)) throw unstorable(path);
      const innerPath = path === '' ? name : `${path}.${name}`;
      waiting.push({ path: innerPath, level: level + 1, value: inner });
    }
  }
}

function unstorable(path: string): AdminError {
  const message = 'Text must not contain NUL or half of a surrogate pair.';
  const field = path.slice(0, 128);
  return new AdminError('invalid_request', message, field === '' ? {} : { field });
}
