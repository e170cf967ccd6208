// suite: slow
/**
 * Base URLs without a version, or with two: below a prefix of the gateway their callers learn the
 * right path in the form of their API, on every host. Elsewhere such paths are the host's.
 */
import { describe, expect, it } from 'vitest';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { routeSettings } from '../support/route-settings.ts';

const routes = routesOf(protocols);

/** Every path that a client calls, with the method. */
const calls: readonly (readonly [method: string, path: string])[] = [
  ...Object.values(protocols).flatMap(({ paths, methods }) => [
    ...Object.keys(paths).map((path) => ['POST', path] as const),
    ...Object.keys(methods).map((name) => ['POST', `/v1beta/models/m:${name}`] as const),
  ]),
  ['GET', '/v1/models'],
  ['GET', '/v1/models/m'],
  ['GET', '/v1beta/models'],
  ['GET', '/v1/responses/resp_1'],
];

const unversioned = (path: string): string => path.replace(/^\/v1(?:beta)?/, '');
const twice = (path: string): string => `${/^\/v1(?:beta)?/.exec(path)?.[0]}${path}`;
const named = (path: string): string =>
  path
    .replace(/\/models\/m\b/, '/models/{model}')
    .replace('/resp_1', '/{id}')
    // Without its version a list of models may be that of either API.
    .replace(/^\/v1(?:beta)?\/models$/, '/models');

describe.each(calls)('%s %s', (method, path) => {
  it.each([
    ['without its version', unversioned(path)],
    ['with its version twice', twice(path)],
  ])('%s is answered below a prefix only, with the right path', (_how, wrong) => {
    const route = routes.find({ method, path: wrong, search: '', headers: {} }, routeSettings);
    const right = routes.find({ method, path, search: '', headers: {} }, routeSettings);

    expect(route.kind).toBe('refused');
    expect(route.kind === 'refused' && route.error.code).toBe('route_not_found');
    expect(route.kind === 'refused' && route.error.message).toContain(named(path));
    if (right.kind === 'call') expect(route.caller.name).toBe(right.caller.name);
    expect(routes.owns(wrong, routeSettings, method, true)).toBe(true);
    const isNativeMethod = wrong.startsWith('/v1beta/');
    expect(routes.owns(wrong, routeSettings, method)).toBe(isNativeMethod);
    const passing = { ...routeSettings, unserved: 'pass' } as const;
    if (!isNativeMethod) expect(routes.owns(wrong, passing, method, true)).toBe(false);
  });
});

describe('a path of the host', () => {
  it.each([
    ['POST', '/chat'],
    ['POST', '/files'],
    ['GET', '/health'],
    ['DELETE', '/messages'],
    ['POST', '/v1/v1'],
    ['POST', '/v1/v2/chat/completions'],
    ['POST', '/v2/models/m:generateContent'],
  ])('stays the host’s below a prefix: %s %s', (method, path) => {
    expect(routes.owns(path, routeSettings, method, true)).toBe(false);
  });
});
