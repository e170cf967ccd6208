// suite: slow host
/** The console over HTTP: what everybody gets, what operators get, and the headers of both. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ConsoleServer, changing, consoleServer, tokenOf } from './console-host.ts';

async function started(...options: Parameters<typeof consoleServer>): Promise<ConsoleServer> {
  const server = await consoleServer(...options);
  onTestFinished(() => server.close());
  return server;
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

describe('an operator with a session', () => {
  it.each([
    ['/console', 'text/html; charset=utf-8', '<main id="app" data-sign-out>'],
    ['/console/', 'text/html; charset=utf-8', '<main id="app" data-sign-out>'],
    ['/console/console.js', 'text/javascript; charset=utf-8', 'Signed out'],
    ['/console/console.css', 'text/css; charset=utf-8', 'color-scheme'],
    ['/console/sign-in', 'text/html; charset=utf-8', 'Sign in'],
    ['/console/sign-in.js', 'text/javascript; charset=utf-8', 'token'],
    ['/console/sign-in.css', 'text/css; charset=utf-8', 'color-scheme'],
  ])('gets %s, with its security headers', async (path, type, text) => {
    const server = await started();
    const headers = { cookie: await server.cookie() };

    const reply = await server.call({ path, headers });
    const head = await server.call({ method: 'HEAD', path, headers });
    const post = await server.call({ method: 'PUT', path, headers });

    expect(reply.status).toBe(200);
    expect(reply.text).toContain(text);
    expect(reply.headers).toMatchObject({
      'content-type': type,
      'content-length': `${Buffer.byteLength(reply.text)}`,
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect({ ...head.headers, date: '' }).toEqual({ ...reply.headers, date: '' });
    expect(head.text).toBe('');
    expect(post.status).toBe(405);
    expect(post.headers.allow).toMatch(/^GET, HEAD/);
  });

  it('gets a document with the title of the gateway as text, and nothing inline', async () => {
    const server = await started();

    const { text } = await server.call({
      path: '/console',
      headers: { cookie: await server.cookie() },
    });

    expect(text).toContain('<title>The &#60;gateway&#62;</title>');
    expect(text).not.toMatch(/<style|<script(?![^>]* src=)| on\w+=| style=/);
  });

  it('uses the admin interface below the page', async () => {
    const server = await started();
    const headers = { cookie: await server.cookie() };

    const session = await server.call({ path: '/console/api/session', headers });
    const made = await server.call({
      method: 'POST',
      path: '/console/api/keys',
      headers: { ...changing, ...headers },
      body: { group: 'staff', limitNanos: '5' },
    });

    expect(JSON.parse(session.text)).toMatchObject({ actor: 'console', can: 'manage' });
    expect(made.status).toBe(201);
  });

  it('finds nothing at other paths', async () => {
    const server = await started();

    const { status } = await server.call({
      path: '/console/other',
      headers: { cookie: await server.cookie() },
    });

    expect(status).toBe(404);
  });
});

describe('a link', () => {
  it('signs in once', async () => {
    const server = await started();
    const token = tokenOf(server.signIn.link(`${server.origin}/console`));
    const exchange = { method: 'POST', path: '/console/sign-in', headers: changing };

    const first = await server.call({ ...exchange, body: { token } });
    const second = await server.call({ ...exchange, body: { token } });

    expect(first.status).toBe(200);
    expect(first.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^tollgate_console_\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/console; Max-Age=\d+$/,
      ),
    ]);
    expect(second.status).toBe(401);
    expect(second.headers).not.toHaveProperty('set-cookie');
  });
});
