// suite: slow host
/** The console's own sign-in: what ends a link and a session, and how many there can be. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { consoleHandler, consoleSignIn } from '../../src/console/index.ts';
import { adminSetup } from '../admin/admin-host.ts';
import { runsOf } from '../support/sample.ts';
import { type ConsoleServer, changing, consoleServer, cookieOf, tokenOf } from './console-host.ts';

const minuteMs = 60_000;
const exchange = { method: 'POST', path: '/console/sign-in', headers: changing };

async function started(...options: Parameters<typeof consoleServer>): Promise<ConsoleServer> {
  const server = await consoleServer(...options);
  onTestFinished(() => server.close());
  return server;
}

/** The status of a request with this session. */
async function statusOf(server: ConsoleServer, cookie: string, path = '/console/api/session') {
  return (await server.call({ path, headers: { cookie } })).status;
}

describe('a link', () => {
  it('works until ten minutes have passed', async () => {
    const server = await started();
    const [first, second] = [1, 2].map(() => tokenOf(server.signIn.link(`${server.origin}/x`)));

    server.clock.advance(10 * minuteMs - 1);
    const inTime = await server.call({ ...exchange, body: { token: first } });
    server.clock.advance(1);
    const late = await server.call({ ...exchange, body: { token: second } });

    expect([inTime.status, late.status]).toEqual([200, 401]);
  });

  it('has the token in its fragment, and gives the access that it was made for', async () => {
    const server = await started();
    const link = new URL(
      server.signIn.link(`${server.origin}/console/`, { actor: 'ada', can: 'read' }),
    );

    const { headers } = await server.call({ ...exchange, body: { token: tokenOf(link.href) } });
    const session = await server.call({
      path: '/console/api/session',
      headers: { cookie: cookieOf(headers) },
    });

    expect(`${link.origin}${link.pathname}`).toBe(`${server.origin}/console/sign-in`);
    expect(link.search).toBe('');
    expect(link.hash).toMatch(/^#token=[\w-]{43}$/);
    expect(JSON.parse(session.text)).toMatchObject({ actor: 'ada', can: 'read' });
  });

  it('replaces the session that the browser had', async () => {
    const server = await started();
    const old = await server.cookie();
    const token = tokenOf(server.signIn.link(`${server.origin}/console`));

    const { headers } = await server.call({
      ...exchange,
      headers: { ...changing, cookie: old },
      body: { token },
    });

    expect(await statusOf(server, old)).toBe(401);
    expect(await statusOf(server, cookieOf(headers))).toBe(200);
  });

  it('needs a URL', () => {
    for (const url of ['/console', 'javascript:alert(1)', 'ftp://a/b', '']) {
      expect(() => consoleSignIn().link(url)).toThrow('url must be the URL');
    }
  });

  it.each([
    {},
    { actor: '', can: 'read' },
    { actor: '  ', can: 'read' },
    { actor: 'ada', can: 'write' },
    { actor: 'ada' },
    'ada',
  ])('needs a valid access, not %j', (access) => {
    const { link } = consoleSignIn();
    expect(() => Reflect.apply(link, undefined, ['http://a/console', access])).toThrow(/must be/);
  });

  it('works however many wrong ones came before, which are refused without a lookup', async () => {
    const server = await started();
    const cookie = await server.cookie();
    const token = tokenOf(server.signIn.link(`${server.origin}/console`));
    const wrong = async (attempt: number) =>
      server.call({ ...exchange, body: { token: `wrong ${attempt}` } });

    const statuses: number[] = [];
    for (let attempt = 0; attempt < 40; attempt += 1) statuses.push((await wrong(attempt)).status);
    const refused = await wrong(40);
    const accepted = await server.call({ ...exchange, body: { token } });
    const repeated = await server.call({ ...exchange, body: { token } });
    server.clock.advance(minuteMs);
    const later = await wrong(41);

    expect(statuses).toEqual([...Array<number>(20).fill(401), ...Array<number>(20).fill(429)]);
    expect(refused.headers['retry-after']).toBe('60');
    expect(accepted.status).toBe(200);
    expect([repeated.status, later.status]).toEqual([429, 401]);
    expect(await statusOf(server, cookie)).toBe(200);
  });

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a script that does not say so', { 'x-tollgate-admin': '' }, 403],
  ])('is not used up by %s', async (_name, headers, status) => {
    const server = await started();
    const body = { token: tokenOf(server.signIn.link(`${server.origin}/console`)) };

    const refused = await server.call({
      ...exchange,
      headers: { ...changing, ...headers },
      body,
    });

    expect(refused.status).toBe(status);
    expect((await server.call({ ...exchange, body })).status).toBe(200);
  });
});

describe('the audit trail', () => {
  const signing = { target: undefined, change: { address: '127.0.0.1' }, code: undefined };

  it('has who signed in and out, and from where, without a token', async () => {
    const server = await started();
    const access = { actor: 'ada', can: 'read' } as const;
    const token = tokenOf(server.signIn.link(`${server.origin}/console`, access));
    const { headers } = await server.call({ ...exchange, body: { token } });
    const cookie = cookieOf(headers);
    const signOut = { ...exchange, path: '/console/sign-out', body: {} };
    await server.call({ ...signOut, headers: { ...changing, cookie, 'x-tollgate-admin': '' } });
    await server.call({ ...signOut, headers: { ...changing, cookie } });

    expect(server.entries).toEqual(
      ['console.sign_in', 'console.sign_out'].map((action) => ({
        ...signing,
        action,
        actor: 'ada',
        atMs: server.clock.now(),
        outcome: 'done',
      })),
    );
    expect(JSON.stringify(server.entries)).not.toContain(token);
    expect(JSON.stringify(server.entries)).not.toContain(cookie.split('=')[1]);
  });

  it('has the links that were refused, at most twenty in a minute', async () => {
    const server = await started();
    const sent = async (): Promise<void> => {
      for (let attempt = 0; attempt < 30; attempt += 1) {
        await server.call({ ...exchange, body: { token: `canary ${attempt}` } });
      }
    };
    await sent();
    server.clock.advance(minuteMs);
    await sent();

    expect(server.entries).toHaveLength(40);
    expect(
      new Set(
        server.entries.map(({ actor, action, outcome, code }) =>
          [actor, action, outcome, code].join(' '),
        ),
      ),
    ).toEqual(new Set(['unknown console.sign_in refused not_signed_in']));
    expect(JSON.stringify(server.entries)).not.toContain('canary');
  });
});

describe('a session', () => {
  it.each([
    ['a stream of live figures', 'HEAD', '/console/api/events'],
    ['a request for them', 'GET', '/console/api/now?range=15m'],
  ])('ends 30 minutes after the last request of a person, which %s is not', async (...row) => {
    const [, method, path] = row;
    const server = await started();
    const [active, watching] = [await server.cookie(), await server.cookie()];

    server.clock.advance(20 * minuteMs);
    await statusOf(server, active);
    const figures = await server.call({ method, path, headers: { cookie: watching } });
    server.clock.advance(10 * minuteMs);

    expect(figures.status).toBe(200);
    expect(await statusOf(server, active)).toBe(200);
    expect(await statusOf(server, watching)).toBe(401);
  });

  it('that only requests live figures, every 5 s as the page does, ends in time', async () => {
    const server = await started();
    const cookie = await server.cookie();
    const openedMs = server.clock.now();
    while ((await statusOf(server, cookie, '/console/api/now?range=15m')) === 200) {
      server.clock.advance(5_000);
    }

    expect(server.clock.now() - openedMs).toBe(30 * minuteMs);
  });

  it('ends after twelve hours, however busy', async () => {
    const server = await started();
    const cookie = await server.cookie();
    const statuses: number[] = [];

    for (let quarter = 0; quarter < 48; quarter += 1) {
      statuses.push(await statusOf(server, cookie));
      server.clock.advance(15 * minuteMs);
    }

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await statusOf(server, cookie)).toBe(401);
  });

  it('ends on the server when its operator signs out, and no other does', async () => {
    const server = await started();
    const [one, other] = [await server.cookie(), await server.cookie()];

    await server.call({
      method: 'POST',
      path: '/console/sign-out',
      headers: { ...changing, cookie: one },
      body: {},
    });

    expect(await statusOf(server, one)).toBe(401);
    expect(await statusOf(server, other)).toBe(200);
  });

  it('is not ended by another site', async () => {
    const server = await started();
    const cookie = await server.cookie();
    const headers = { ...changing, cookie, 'sec-fetch-site': 'cross-site' };

    const { status } = await server.call({
      method: 'POST',
      path: '/console/sign-out',
      headers,
      body: {},
    });

    expect(status).toBe(403);
    expect(await statusOf(server, cookie)).toBe(200);
  });

  it('that is the oldest ends when one more than a hundred begins', async () => {
    const server = await started();
    const cookies: string[] = [];

    for (let count = 0; count <= 100; count += 1) cookies.push(await server.cookie());
    const statuses = await Promise.all(cookies.map((cookie) => statusOf(server, cookie)));

    expect(statuses).toEqual([401, ...Array<number>(100).fill(200)]);
  });

  it('has a Secure cookie if the browser uses TLS', async () => {
    const server = await started();
    const token = tokenOf(server.signIn.link(`${server.origin}/console`));

    const { headers } = await server.call({
      ...exchange,
      headers: { ...changing, origin: 'https://127.0.0.1' },
      body: { token },
    });

    expect(headers['set-cookie']?.[0]).toMatch(/; Secure$/);
  });
});

it('cookies that another server of this host has set lock no operator out', async () => {
  const server = await started();
  const own = await server.cookie();
  const port = fc.oneof(fc.constant(new URL(server.origin).port), fc.nat(65_535).map(String));
  const id = fc.oneof(
    fc.stringMatching(/^[\w-]{43}$/),
    fc.constantFrom('', 'x', '=', '"', '%00', own),
  );
  const planted = fc.tuple(port, id).map(([at, value]) => `tollgate_console_${at}=${value}`);
  await fc.assert(
    fc.asyncProperty(fc.array(planted, { maxLength: 100 }), fc.nat(100), async (others, at) => {
      const cookies = [...others.slice(0, at), own, ...others.slice(at)];

      expect(await statusOf(server, cookies.join('; '))).toBe(200);
      expect(await statusOf(server, others.filter((one) => !one.includes(own)).join('; '))).toBe(
        401,
      );
    }),
    { numRuns: runsOf(50) },
  );
});

describe('on a loopback address', () => {
  it.each([
    ['localhost', 303],
    ['LOCALHOST:80', 303],
    ['127.0.0.1:1', 303],
    ['127.9.9.9', 303],
    ['[::1]:8787', 303],
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['127.0.0.1.evil.example:8787', 403],
    ['localhost@evil.example', 403],
    ['*', 403],
  ])('the host %j gets %i, signed in or not', async (host, status) => {
    const server = await started();
    const cookie = await server.cookie();

    const stranger = await server.call({ path: '/console', headers: { host } });
    const operator = await server.call({ path: '/console', headers: { host, cookie } });
    const api = await server.call({ path: '/console/api/session', headers: { host, cookie } });

    expect(stranger.status).toBe(status);
    expect([operator.status, api.status]).toEqual(status === 403 ? [403, 403] : [200, 200]);
  });

  it('only the hosts of the option are served if it is given', async () => {
    const server = await started({ hosts: ['Gateway.example'] });

    const named = await server.call({ path: '/console', headers: { host: 'gateway.example:443' } });
    const local = await server.call({ path: '/console' });

    expect([named.status, local.status]).toEqual([303, 403]);
  });
});

describe("with the host's own sign-in", () => {
  it.each([
    ['nobody', () => undefined, 401, 'Sign in as an operator.'],
    [
      'a failure',
      () => Promise.reject(new Error('secret')),
      503,
      'The sign-in could not be checked',
    ],
  ])('%s gets a page that says so, and no link leads in', async (...row) => {
    const [, authorize, status, text] = row;
    const server = await started({ authorize });

    const page = await server.call({ path: '/console' });
    const asset = await server.call({ path: '/console/console.js' });
    const entrance = await server.call({ path: '/console/sign-in' });

    expect([page.status, asset.status, entrance.status]).toEqual([status, status, status]);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.text).toContain(text);
    expect(page.text).not.toContain('secret');
    expect(server.errors.length).toBe(status === 503 ? 3 : 0);
  });

  it('an operator gets the page without a button to sign out', async () => {
    const server = await started({ authorize: () => ({ actor: 'ada', can: 'read' }) });

    const page = await server.call({ path: '/console' });
    const session = await server.call({ path: '/console/api/session' });
    const signOut = await server.call({ method: 'POST', path: '/console/sign-out', body: {} });

    expect(page.text).toContain('<main id="app">');
    expect(JSON.parse(session.text)).toMatchObject({ actor: 'ada', can: 'read' });
    expect(signOut.status).toBe(404);
  });
});

describe('consoleHandler', () => {
  const { admin } = adminSetup();
  const signIn = consoleSignIn();
  const authorize = () => undefined;

  it.each<readonly [object, string]>([
    [{ path: '/console' }, 'authorize or signIn must be given'],
    [{ path: '/console', signIn, authorize }, 'not both'],
    [{ path: 'console', signIn }, 'path must be a path'],
    [{ path: '/console/', signIn }, 'path must be a path'],
    [{ path: '/a b', signIn }, 'path must be a path'],
    [{ path: '/a";x', signIn }, 'path must be a path'],
    [{ path: '/console', signIn: {} }, 'signIn must be an object with authorize()'],
    [{ path: '/console', signIn, hosts: [] }, 'hosts must have a name'],
    [{ path: '/console', signIn, host: 'a' }, 'host does not exist'],
    ...['/../x', '/.', '/a/../b'].map((path) => [{ path, signIn }, 'path must be a path'] as const),
    ...['https://x.example', 'x.example:8443', '[::1]', '*', '*.example.com', 'a b', ''].map(
      (name) => [{ path: '/console', signIn, hosts: [name] }, 'must be a host name'] as const,
    ),
  ])('refuses %j', (options, message) => {
    expect(() => Reflect.apply(consoleHandler, undefined, [admin, options])).toThrow(message);
  });
});
