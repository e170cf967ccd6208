/** Row F62: methods that a path does not have, and the two that every path has. */
import type { ErrorForm } from '../kinds.ts';

/** One request without a body, and its expected answer. */
export interface MethodRow {
  readonly id: 'F62';
  readonly method: string;
  readonly path: string;
  /** Whose form the errors of this path have. */
  readonly form: ErrorForm;
  readonly status: number;
  /** `undefined` if there must be none. */
  readonly allow: string | undefined;
  /** A host with a router answers this itself. */
  readonly isHostsToAnswer?: true;
}

const calls: readonly (readonly [path: string, form: ErrorForm])[] = [
  ['/v1/chat/completions', 'openai'],
  ['/v1/images/generations', 'openai'],
  ['/v1/responses', 'openai'],
  ['/v1/messages', 'anthropic'],
  ['/v1/messages/count_tokens', 'anthropic'],
  ['/v1beta/models/native-1:generateContent', 'google'],
  ['/v1beta/models/native-1:streamGenerateContent?alt=sse', 'google'],
];
const lists: readonly (readonly [path: string, form: ErrorForm])[] = [
  ['/v1/models', 'openai'],
  ['/v1beta/models', 'google'],
];

/** Every path with every unusual method. */
export const methodRows: readonly MethodRow[] = [
  ...calls.flatMap(([path, form]) =>
    ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'].map((method): MethodRow => {
      return { id: 'F62', method, path, form, status: 405, allow: 'POST' };
    }),
  ),
  ...lists.flatMap(([path, form]): readonly MethodRow[] => [
    { id: 'F62', method: 'POST', path, form, status: 405, allow: 'GET, HEAD' },
    { id: 'F62', method: 'PUT', path, form, status: 405, allow: 'GET, HEAD' },
    { id: 'F62', method: 'HEAD', path, form, status: 200, allow: undefined },
    { id: 'F62', method: 'GET', path, form, status: 200, allow: undefined },
  ]),
  ...[...calls, ...lists].map(([path, form]): MethodRow => {
    const allow = lists.some(([list]) => list === path) ? 'GET, HEAD' : 'POST';
    return {
      id: 'F62',
      method: 'OPTIONS',
      path,
      form,
      status: 204,
      allow,
      isHostsToAnswer: true,
    };
  }),
];
