// suite: slow host
/**
 * Base URLs without a version, or with two: below a prefix of the gateway their callers learn the
 * right path in the form of their API, on every host. Elsewhere such paths are the host's, and the
 * host learns of them.
 */
import { describe, expect, it } from 'vitest';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { routeSettings } from '../support/route-settings.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { mounts } from './mounts.ts';

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

  it.each([
    ['without its version', unversioned(path)],
    ['with its version twice', twice(path)],
  ])('%s is an event where the host gets it, without the text of the caller', (_how, wrong) => {
    const { gateway, events, clock } = gatewayInProcess();
    const isTwice = wrong.startsWith('/v1');
    const isReported = (isTwice || method === 'POST') && !wrong.startsWith('/v1beta/');

    for (let request = 0; request < 5; request += 1) gateway.owns(wrong, method, false);
    clock.advance(60_000);
    gateway.owns(`${wrong}/`, method, false);

    const version = /^\/v1(?:beta)?/.exec(path)?.[0] ?? '';
    const right = named(path).startsWith('/v1') ? named(path) : version + named(path);
    const reported = (requests: number): object => ({
      type: 'path_misplaced',
      path: isTwice ? version + right : unversioned(right),
      servedAt: right,
      remedy: expect.stringContaining(` ${version}`),
      requests,
    });
    expect(events).toEqual(isReported ? [reported(1), reported(5)] : []);
  });
});

// The harness has a listener by default.
const withoutListener: object = { onEvent: undefined };

describe('a misplaced path', () => {
  it('is a warning if nobody listens, once for each path', async () => {
    const { gateway, clock } = gatewayInProcess({ options: withoutListener });

    for (const path of ['/responses', '/responses', '/embeddings']) {
      gateway.owns(path, 'POST', false);
      clock.advance(60_000);
    }

    expect((await takeWarnings()).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^A request for \/responses was passed on.* end in \/v1\./),
      expect.stringMatching(/^A request for \/embeddings was passed on/),
    ]);
  });

  it('is nothing to report if nobody says that the host gets it, or the host wants it', () => {
    const { gateway, events } = gatewayInProcess();

    gateway.owns('/responses');
    gateway.owns('/responses', 'POST');
    gateway.owns('/responses', 'POST', true);
    gateway.update({ unserved: 'pass' });
    gateway.owns('/responses', 'POST', false);
    gateway.owns('/v1/v1/responses', 'POST', false);

    expect(events).toEqual([]);
  });

  const rootMounts = mounts.filter(({ name }) => !/node:http/.test(name));
  it.each(
    rootMounts.map((mount) => [mount.name, mount] as const),
  )('%s: is answered, or passed on and reported once', async (_name, mount) => {
    const { gateway, allEvents } = gatewayInProcess();
    const host = await mount.start(gateway);
    const base = `${host.origin}${host.base}`;

    const reply = await fetch(`${base}/v1/v1/chat/completions`, { method: 'POST', body: '{}' });
    await reply.text();
    await host.close();

    const types = allEvents.map(({ type }) => type);
    const isAnswered = reply.headers.has('x-request-id');
    expect(types).toEqual([isAnswered ? 'call_refused' : 'path_misplaced']);
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
