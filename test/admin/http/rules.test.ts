// suite: slow host
/**
 * The rules of the admin interface hold on every route: who may use it, and which requests may
 * change something.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { routes } from '../../../src/admin/http/routes.ts';
import type { Authorize } from '../../../src/admin/index.ts';
import { type AdminServer, adminServer, adminSetup, anyone, changing } from '../admin-host.ts';

const paths = [
  { method: 'GET', path: '/session' },
  { method: 'GET', path: '/openapi.json' },
  ...routes.map((route) => ({ method: route.method, path: pathOf(route) })),
] as const;
/** The POSTs that change nothing. Stated here, because a route may claim it wrongly. */
const readingPaths = ['/catalog/validate', '/models/some-id/preview-price'];
const posts = paths.filter(({ method }) => method === 'POST');
const changes = posts.filter(({ path }) => !readingPaths.includes(path));

function pathOf({ path }: (typeof routes)[number]): string {
  return path.replace('{id}', 'some-id');
}

/** `/keys/{id}/top-up` is `key.top_up`; `/keys` itself issues one. */
function actionAt(path: string): string {
  const [, things = '', ...rest] = path.split('/');
  const usual = things === 'owners' ? 'create' : 'issue';
  const verb = rest.find((part) => part !== 'some-id') ?? usual;
  return `${things.slice(0, -1)}.${verb.replace('-', '_')}`;
}

let server: AdminServer | undefined;

afterEach(close);

/** Ends the server of this test. */
async function close(): Promise<void> {
  await server?.close();
  server = undefined;
}

async function open(authorize: Authorize = anyone) {
  const setup = adminSetup();
  server = await adminServer(setup.admin, authorize);
  return { ...setup, server };
}

describe('every route', () => {
  it('answers 401 to unknown operators, before anything else is checked', async () => {
    const { server, entries } = await open(() => undefined);

    for (const { method, path } of [...paths, { method: 'PUT', path: '/nothing' }]) {
      expect((await server.call({ method, path })).status, `${method} ${path}`).toBe(401);
    }
    expect(entries).toEqual([]);
  });

  it.each<readonly [string, number]>([
    ['localhost', 401],
    ['LOCALHOST:80', 401],
    ['127.9.9.9:1', 401],
    ['[::1]:8787', 401],
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['127.0.0.1.evil.example:80', 403],
    ['localhost@evil', 403],
    ['*', 403],
  ])('of a loopback address answers the host %j with %i, and asks nobody', async (host, status) => {
    let calls = 0;
    const { server } = await open(() => {
      calls += 1;
      return undefined;
    });
    for (const { method, path } of paths) {
      const reply = await server.call({ method, path, headers: { host } });

      expect(reply.status, `${method} ${path}`).toBe(status);
    }
    expect(calls).toBe(status === 403 ? 0 : paths.length);
  });

  it('answers the hosts of the option, and no others', async () => {
    const setup = adminSetup();
    server = await adminServer(setup.admin, anyone, undefined, ['Gateway.example']);
    for (const { path } of paths.filter(({ method }) => method === 'GET')) {
      const headers = { host: 'gateway.example:8443' };

      expect((await server.call({ path, headers })).status, path).not.toBe(403);
      expect((await server.call({ path })).status, path).toBe(403);
    }
  });

  it('answers 503 if authorize throws, rejects or returns something else', async () => {
    const failing: readonly Authorize[] = [
      () => {
        throw new Error('down');
      },
      () => Promise.reject(new Error('down')),
      () => ({ actor: '', can: 'manage' }),
    ];
    for (const authorize of failing) {
      const { server } = await open(authorize);
      for (const { method, path } of paths) {
        const { status, text } = await server.call({ method, path });

        expect(status, `${method} ${path}`).toBe(503);
        expect(text).not.toContain('down');
      }
      await close();
    }
  });

  it('is never cached, sniffed, or readable by another origin', async () => {
    const { server } = await open();

    for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT']) {
      for (const { path } of paths) {
        const headers = { origin: 'https://other.example' };
        const reply = await server.call({ method, path, headers });
        const cors = Object.keys(reply.headers).filter((name) => name.startsWith('access-control'));

        expect(cors, `${method} ${path}`).toEqual([]);
        expect(reply.headers['cache-control']).toBe('no-store');
        expect(reply.headers['x-content-type-options']).toBe('nosniff');
        if (method === 'HEAD') expect(reply.text).toBe('');
        if (method === 'OPTIONS' || method === 'PUT') {
          expect(reply.status).toBe(405);
          expect(reply.headers.allow).toMatch(/GET|POST/);
        }
      }
    }
  });

  it('takes ids of any bytes without failing', async () => {
    const { server } = await open();
    const ids = [
      '%',
      '%ff',
      '%00',
      '..%2f..',
      '%3Cimg%20onerror%3D1%3E',
      'a'.repeat(5_000),
      '%F0%9F',
    ];

    for (const id of ids) {
      for (const route of routes.filter(({ path }) => path.includes('{id}'))) {
        const path = route.path.replace('{id}', id);
        const { method } = route;
        const body = method === 'POST' ? {} : undefined;
        const { status } = await server.call({ method, path, body, headers: changing });

        expect([400, 404, 501], `${method} ${path.slice(0, 40)}: ${status}`).toContain(status);
      }
    }
  });

  it('refuses a parameter that it does not know, or that is sent twice', async () => {
    const { server } = await open();
    const reads = routes.filter(({ method, path }) => method === 'GET' && !path.includes('{id}'));

    for (const { path } of reads) {
      for (const query of ['unknown=1', 'limit=1&limit=2', '__proto__=1', 'constructor=1']) {
        expect((await server.call({ path: `${path}?${query}` })).status, path).toBe(400);
      }
    }
  });
});

describe('every change', () => {
  it('is refused to operators who may only read, and written to the audit trail', async () => {
    const { server, entries } = await open(() => ({ actor: 'bob', can: 'read' }));

    for (const { path } of changes) {
      const { status } = await server.call({ method: 'POST', path, headers: changing, body: {} });

      expect(status, path).toBe(403);
      expect(entries.at(-1), path).toMatchObject({
        actor: 'bob',
        action: actionAt(path),
        outcome: 'refused',
        code: 'read_only',
      });
    }
    expect(entries.length).toBe(changes.length);
  });

  it('is not written to the audit trail by readers who send very many', async () => {
    const { server, admin, clock } = await open(() => ({ actor: 'bob', can: 'read' }));
    const recorded = async () => (await admin.audit.list({ actor: 'bob', limit: 100 })).data.length;
    const send = () =>
      server.call({ method: 'POST', path: '/keys/k/disable', headers: changing, body: {} });

    for (let sent = 0; sent < 50; sent += 1) expect((await send()).status).toBe(403);
    expect(await recorded()).toBe(30);
    clock.advance(60_000);
    await send();
    expect(await recorded()).toBe(31);
  });

  const without = (name: string, value?: string): Record<string, string> => {
    const { [name]: _, ...others } = changing;
    return value === undefined ? others : { ...others, [name]: value };
  };
  const origin = (value: string) => ({ ...without('sec-fetch-site'), origin: value });
  const refused: readonly (readonly [string, number, Record<string, string>])[] = [
    ['without the header', 403, without('x-tollgate-admin')],
    ['with another value of the header', 403, without('x-tollgate-admin', 'true')],
    ['without a content type', 415, without('content-type')],
    ['as a form', 415, without('content-type', 'application/x-www-form-urlencoded')],
    ['as text', 415, without('content-type', 'text/plain')],
    ['as text that names JSON', 415, without('content-type', 'text/plain; application/json')],
    ['in another charset', 415, without('content-type', 'application/json; charset=utf-16')],
    ['compressed', 415, { ...changing, 'content-encoding': 'gzip' }],
    ['from another site', 403, without('sec-fetch-site', 'cross-site')],
    ['from another origin of the site', 403, without('sec-fetch-site', 'same-site')],
    ['from the address bar', 403, without('sec-fetch-site', 'none')],
    ['without an origin', 403, without('sec-fetch-site')],
    ['from the origin null', 403, origin('null')],
    ['from the origin null that claims otherwise', 403, { ...changing, origin: 'null' }],
    ['from another host', 403, origin('https://other.example')],
    ['from a host that only begins alike', 403, origin('http://127.0.0.1.other.example')],
    ['from another port', 403, origin('http://127.0.0.1:1')],
    ['from two origins', 403, origin('http://127.0.0.1, http://other.example')],
    ['from something else', 403, origin('file://')],
  ];

  it('needs no header of a browser if a token showed who sends it', async () => {
    const { server } = await open(() => ({ actor: 'bot', can: 'manage', via: 'token' }));
    const headers = { 'content-type': 'application/json' };
    for (const { path } of posts) {
      const { status } = await server.call({ method: 'POST', path, headers, body: {} });
      const asForm = await server.call({ method: 'POST', path, body: {} });

      expect(status, path).not.toBe(403);
      expect(asForm.status, path).toBe(415);
    }
  });

  it.each(refused)('is refused %s', async (_name, status, headers) => {
    const { server, entries } = await open();

    for (const { path } of posts) {
      const reply = await server.call({ method: 'POST', path, headers, body: {} });

      expect(reply.status, path).toBe(status);
    }
    expect(entries.filter(({ outcome }) => outcome !== 'refused')).toEqual([]);
  });

  it('is accepted from its own origin if the browser sends no `sec-fetch-site`', async () => {
    const { server } = await open();
    const headers = { ...without('sec-fetch-site'), origin: server.origin };

    const { status } = await server.call({
      method: 'POST',
      path: '/keys',
      headers,
      body: { group: 'staff', limitNanos: '5' },
    });

    expect(status).toBe(201);
  });

  it('is refused with a body that is too large, not JSON, or has an unknown member', async () => {
    const { server } = await open();
    const bodies: readonly (readonly [unknown, number])[] = [
      ['{', 400],
      ['[]', 400],
      ['"text"', 400],
      ['{"__proto__":1}', 400],
      [{ unknown: 1 }, 400],
    ];

    for (const { path } of posts) {
      const { maxBodyBytes = 65_536 } = routes.find((route) => pathOf(route) === path) ?? {};
      const tooLarge = `{"a":"${'x'.repeat(maxBodyBytes)}"}`;
      for (const [body, status] of [...bodies, [tooLarge, 413] as const]) {
        const reply = await server.call({ method: 'POST', path, headers: changing, body });

        expect(reply.status, `${path} ${String(body).slice(0, 20)}`).toBe(status);
      }
    }
  });
});

describe('no route', () => {
  it('sets a URL, a credential or headers of a channel', async () => {
    const { server } = await open();

    for (const { path } of changes.filter((change) => change.path.startsWith('/channels'))) {
      for (const member of ['baseUrl', 'credential', 'headers']) {
        const body = { weight: 1, priority: 1, cost: null, [member]: 'https://evil.example' };
        const { status, text } = await server.call({
          method: 'POST',
          path,
          headers: changing,
          body,
        });

        expect(status).toBe(400);
        expect(text).not.toContain('evil');
      }
    }
    expect(routes.filter(({ path }) => path.includes('publish'))).toEqual([]);
  });

  it('shows the secret of an account', async () => {
    const { server } = await open();
    const reads = routes.filter(({ method, path }) => method === 'GET' && !path.includes('{id}'));

    for (const { path } of reads) {
      expect((await server.call({ path })).text, path).not.toContain('account-secret');
    }
  });
});
