/** Row F62: methods that a path does not have, and the two that every path has. */

/** One request without a body, and its expected answer. */
export interface MethodRow {
  readonly id: 'F62';
  readonly method: string;
  readonly path: string;
  /** Whether this path belongs to Google's API. */
  readonly isNative: boolean;
  readonly status: number;
  /** `undefined` if there must be none. */
  readonly allow: string | undefined;
  /** A host with a router answers this itself. */
  readonly isHostsToAnswer?: true;
}

const calls: readonly (readonly [path: string, isNative: boolean])[] = [
  ['/v1/chat/completions', false],
  ['/v1/images/generations', false],
  ['/v1/responses', false],
  ['/v1beta/models/native-1:generateContent', true],
  ['/v1beta/models/native-1:streamGenerateContent?alt=sse', true],
];
const lists: readonly (readonly [path: string, isNative: boolean])[] = [
  ['/v1/models', false],
  ['/v1beta/models', true],
];

/** Every path with every unusual method. */
export const methodRows: readonly MethodRow[] = [
  ...calls.flatMap(([path, isNative]) =>
    ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'].map((method): MethodRow => {
      return { id: 'F62', method, path, isNative, status: 405, allow: 'POST' };
    }),
  ),
  ...lists.flatMap(([path, isNative]): readonly MethodRow[] => [
    { id: 'F62', method: 'POST', path, isNative, status: 405, allow: 'GET, HEAD' },
    { id: 'F62', method: 'PUT', path, isNative, status: 405, allow: 'GET, HEAD' },
    { id: 'F62', method: 'HEAD', path, isNative, status: 200, allow: undefined },
    { id: 'F62', method: 'GET', path, isNative, status: 200, allow: undefined },
  ]),
  ...[...calls, ...lists].map(([path, isNative]): MethodRow => {
    const allow = lists.some(([list]) => list === path) ? 'GET, HEAD' : 'POST';
    return {
      id: 'F62',
      method: 'OPTIONS',
      path,
      isNative,
      status: 204,
      allow,
      isHostsToAnswer: true,
    };
  }),
];
