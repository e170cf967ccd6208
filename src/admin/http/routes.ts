/** All routes, and how a path finds its route. */
import { AdminError } from '../admin-error.ts';
import { callRoutes } from './call-routes.ts';
import { channelRoutes } from './channel-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { refusalRoutes } from './refusal-routes.ts';
import type { Route } from './route.ts';
import { isStorable } from './texts.ts';

/** Every route except `/session`, `/events` and `/openapi.json`. */
export const routes: readonly Route[] = [
  ...callRoutes,
  ...refusalRoutes,
  ...keyRoutes,
  ...channelRoutes,
];

export interface FoundRoute {
  readonly route: Route;
  /** `''` where the route has none; undefined if it is malformed or too long. */
  readonly id: string | undefined;
}

const maxIdLength = 256;
const getOnly = new Set(['/session', '/events', '/openapi.json']);

/** @throws AdminError `not_found`, `method_not_allowed` */
export function routeAt(method: string | undefined, path: string): FoundRoute {
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
