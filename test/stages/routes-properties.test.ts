// suite: quick
/** What holds for the route of every path: random ones, made of the pieces that matter. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Route } from '../../src/protocols/protocol.ts';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { often } from '../bytes/json-arbitrary.ts';
import { routeSettings } from '../support/route-settings.ts';

const { find, owns } = routesOf(protocols);
const runs = { ...often, numRuns: 2_000 };

const segment = fc.oneof(
  fc.constantFrom(
    ...['v1', 'v1beta', 'v1beta1', 'V1', 'chat', 'completions', 'images', 'generations', 'edits'],
    ...['models', 'tunedModels', 'files', 'messages', 'complete', 'responses', 'engines', 'key'],
    ...['', '.', '..', '%2e%2e', '%2F', '%', '%00', 'a:b', 'g:generateContent', 'g%3AcountTokens'],
    ...['g:embedContent', 'constructor', '__proto__', 'openai', 'deployments', 'v/m:free', 'é'],
  ),
  fc.string({ maxLength: 8 }),
);
const path = fc.oneof(
  fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
  fc
    .tuple(fc.constantFrom('/v1/', '/v1beta/'), fc.array(segment, { minLength: 1, maxLength: 4 }))
    .map(([version, segments]) => version + segments.join('/')),
);
const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'x');
const headers = fc.record(
  {
    'anthropic-version': fc.constant('2023-06-01'),
    authorization: fc.constant('Bearer k'),
    'x-goog-api-key': fc.constant('k'),
    'x-api-key': fc.constant('k'),
  },
  { requiredKeys: [] },
);
const settings = fc.record({
  nativeKeyHeaders: fc.constant(routeSettings.nativeKeyHeaders),
  allowQueryKey: fc.boolean(),
  unserved: fc.constantFrom('refuse', 'pass'),
  ownerRoutes: fc.boolean(),
  azurePaths: fc.boolean(),
});
const request = fc.record({
  method,
  path,
  headers,
  search: fc.constantFrom('', 'key=k', 'alt=sse'),
});

/** The root is answered without being owned, on a server where no other handler answers. */
function isServed(route: Route): boolean {
  if (route.kind === 'root') return false;
  return route.kind !== 'refused' || route.error.code !== 'route_not_found';
}

it('what is served is the gateway’s, and what is the host’s is not served', () => {
  fc.assert(
    fc.property(request, settings, (sent, options) => {
      if (isServed(find(sent, options))) expect(owns(sent.path, options, sent.method)).toBe(true);
    }),
    runs,
  );
});

it('a path below no version is the host’s', () => {
  fc.assert(
    fc.property(path, settings, (sent, options) => {
      const isBelow = options.azurePaths ? /^\/(?:v1(?:beta)?|openai)\/./s : /^\/v1(?:beta)?\/./s;
      if (owns(sent, options)) expect(sent).toMatch(isBelow);
    }),
    runs,
  );
});

it('`unserved` and `ownerRoutes` change nothing for the paths that are served', () => {
  fc.assert(
    fc.property(request, settings, (sent, options) => {
      const others = { ...options, unserved: 'pass', ownerRoutes: !options.ownerRoutes } as const;
      const route = find(sent, options);
      if (isServed(route) && !/^\/v1\/key\/?$/.test(sent.path)) {
        expect(find(sent, others)).toEqual(route);
        expect(owns(sent.path, others, sent.method)).toBe(true);
      }
    }),
    runs,
  );
});

it('one trailing slash changes nothing for the paths that are served', () => {
  fc.assert(
    fc.property(request, settings, (sent, options) => {
      const route = find(sent, options);
      const slashed = { ...sent, path: `${sent.path}/` };
      if (isServed(route) && !sent.path.endsWith('/')) {
        expect(find(slashed, options)).toEqual(route);
        expect(owns(slashed.path, options, sent.method)).toBe(true);
      }
    }),
    runs,
  );
});

it('an error never quotes the path', () => {
  const word = fc.stringMatching(/^[a-z]{12}$/);
  fc.assert(
    fc.property(request, word, settings, (sent, secret, options) => {
      for (const planted of [`${sent.path}/${secret}`, `/v1/${secret}${sent.path}`]) {
        const route = find({ ...sent, path: planted }, options);
        if (route.kind === 'refused' && !/no method/.test(route.error.message)) {
          expect(route.error.message).not.toContain(secret);
        }
      }
    }),
    runs,
  );
});
