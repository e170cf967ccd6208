// suite: slow host
/**
 * Nobody without a session gets more than the sign-in page, whatever they send: every path and
 * method, with invalid cookies, from other hosts and origins.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/admin/http/routes.ts';
import { runsOf } from '../support/sample.ts';
import { type ConsoleServer, changing, consoleServer, tokenOf } from './console-host.ts';

const open: ReadonlySet<string> = new Set([
  '/console/sign-in',
  '/console/sign-in.js',
  '/console/sign-in.css',
]);
const known: readonly string[] = [
  ...open,
  ...['', '/', '/console.js', '/console.css', '/sign-out', '/api', '/api/'].map(onConsole),
  ...['/api/session', '/api/events', '/api/openapi.json'].map(onConsole),
  ...routes.map(({ path }) => onConsole(`/api${path.replace('{id}', 'a-key')}`)),
];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

let server: ConsoleServer;
let other: ConsoleServer;
/** Cookies that give no access, by what is wrong with them. */
let cookies: Readonly<Record<string, string>>;

beforeAll(async () => {
  server = await consoleServer();
  other = await consoleServer();
  const token = tokenOf(server.signIn.link(`${server.origin}/console`));
  const name = `tollgate_console_${new URL(server.origin).port}`;
  const expired = await server.cookie();
  server.clock.advance(30 * 60_000);
  const signedOut = await server.cookie();
  const headers = { ...changing, cookie: signedOut };
  await server.call({ method: 'POST', path: '/console/sign-out', headers, body: {} });
  const ofOther = (await other.cookie()).split('=')[1];
  cookies = {
    none: '',
    expired,
    signedOut,
    ofAnotherConsole: `${name}=${ofOther}`,
    theToken: `${name}=${token}`,
    empty: `${name}=`,
    many: `${name}=${'a'.repeat(43)}; `.repeat(50),
    hostile: `__proto__=1; constructor=1; ${name}=[object Object]; =; ;;`,
  };
});

afterAll(async () => {
  await server.close();
  await other.close();
});

describe('without a session', () => {
  it('every path and method is refused, but for the sign-in page', async () => {
    for (const path of known) {
      for (const method of methods) {
        const reply = await server.call({ method, path, headers: changing, body: bodyOf(method) });
        expectNothing(method, path, reply);
      }
    }
  });

  it('no cookie, host, origin or path of any bytes changes that', async () => {
    const segment = fc.oneof(
      fc.constantFrom('..', '.', '%2e%2e', '%2f', '%00', '%', '%ff', ';', '//', '\\', 'sign-in'),
      fc.constantFrom('api', 'console.js', 'keys', 'session', 'CONSOLE', '__proto__', '*'),
      fc.string({ unit: fc.constantFrom(...'!"$&\'()*+,-./0Aaz:;<=>@[]^_`{|}~%'), maxLength: 12 }),
    );
    const hostile = fc
      .array(segment, { maxLength: 5 })
      .map((parts) => ['/console', ...parts].join('/'));
    const query = fc.constantFrom('', '?', '?token=1', '?a=/console/sign-in', '?%');
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.constantFrom(...known), hostile),
        query,
        fc.constantFrom(...methods),
        fc.constantFrom(...Object.keys(cookies)),
        fc.constantFrom('own', 'localhost', '[::1]:1', 'evil.example', '127.0.0.1.evil.example'),
        fc.constantFrom('own', 'https://evil.example', 'null', ''),
        async (path, search, method, cookie, host, origin) => {
          const reply = await server.call({
            method,
            path: `${path}${search}`,
            headers: {
              ...changing,
              cookie: cookies[cookie] ?? '',
              host: host === 'own' ? new URL(server.origin).host : host,
              origin: origin === 'own' ? server.origin : origin,
            },
            body: bodyOf(method),
          });
          if (host.includes('evil')) expect(reply.status).toBe(403);
          else expectNothing(method, path, reply);
        },
      ),
      { numRuns: runsOf(600) },
    );
  });

  it('the session of another console is not valid, even on the same port', async () => {
    const cookie = cookies.ofAnotherConsole ?? '';
    const value = cookie.split('=')[1];
    const name = `tollgate_console_${new URL(other.origin).port}`;

    const here = await server.call({ path: '/console/api/session', headers: { cookie } });
    const there = await other.call({
      path: '/console/api/session',
      headers: { cookie: `${name}=${value}` },
    });

    expect([here.status, there.status]).toEqual([401, 200]);
  });
});

function onConsole(path: string): string {
  return `/console${path}`;
}

function bodyOf(method: string): unknown {
  return ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method) ? {} : undefined;
}

/** Checks the one answer that each path and method gives without a session. */
function expectNothing(
  method: string,
  path: string,
  { status, headers, text }: Awaited<ReturnType<ConsoleServer['call']>>,
): void {
  const message = `${method} ${path}: ${status} ${text.slice(0, 80)}`;
  const isRead = method === 'GET' || method === 'HEAD';
  expect(headers, message).not.toHaveProperty('set-cookie');
  expect(headers['access-control-allow-origin'], message).toBeUndefined();
  expect(text, message).not.toMatch(/gateway&|Leon Sorokin|actor|staff/);
  if (open.has(path)) {
    // 403 is for an origin that is not the console's.
    const isExchange = path === '/console/sign-in' && method === 'POST';
    const expected = isRead ? [200] : isExchange ? [400, 403] : [405];
    expect(expected, message).toContain(status);
  } else if (isRead && (path === '/console' || path === '/console/')) {
    expect(status, message).toBe(303);
    expect(headers.location).toBe('/console/sign-in');
    expect(text).toBe('');
  } else {
    expect(status, message).toBe(401);
  }
}
