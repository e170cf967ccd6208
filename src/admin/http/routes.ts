/**
 * The routes of the admin interface, and what every route refuses: text that not every store can
 * keep, so that all stores behave alike.
 */
import { AdminError } from '../admin-error.ts';
import { callRoutes, refusalRoutes } from './call-routes.ts';
import { auditRoutes, catalogRoutes, channelRoutes } from './catalog-routes.ts';
import { keyRoutes, ownerRoutes } from './key-routes.ts';
import type { Route } from './route.ts';

/** Every route except `/session`, `/events` and `/openapi.json`. */
export const routes: readonly Route[] = [
  ...callRoutes,
  ...refusalRoutes,
  ...keyRoutes,
  ...ownerRoutes,
  ...channelRoutes,
  ...catalogRoutes,
  ...auditRoutes,
];

const maxIdLength = 256;
const getOnly = new Set(['/session', '/events', '/openapi.json']);

export function routeAt(method: string | undefined, path: string) {
  const parts = path.split('/');
  const fitting = routes.filter((route) => fits(route.path.split('/'), parts));
  const route = fitting.find((candidate) => candidate.method === method);
  if (route !== undefined) return { route, id: idIn(route, parts) };
  const methods = [...new Set(fitting.map((candidate) => candidate.method))];
  if (getOnly.has(path)) methods.push('GET');
  if (methods.length === 0) throw new AdminError('not_found', 'There is nothing at this path.');
  throw new AdminError('method_not_allowed', `Send ${methods.join(' or ')}.`);
}

function fits(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((part, index) => (part === '{id}' ? parts[index] !== '' : part === parts[index]))
  );
}

/** `''` where the route has none; undefined if it is malformed or too long. */
function idIn({ path }: Route, parts: readonly string[]): string | undefined {
  const index = path.split('/').indexOf('{id}');
  if (index === -1) return '';
  const id = decoded(parts[index] ?? '');
  return id !== undefined && id.length <= maxIdLength && isStorable(id) ? id : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** PostgreSQL can't store NUL, and no store can keep lone surrogates, which are not characters. */
function isStorable(text: string): boolean {
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
