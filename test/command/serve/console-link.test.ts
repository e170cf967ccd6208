// suite: slow host
/** Named tokens of the admin port: each has a name and a right, and one can make sign-in links. */
import { createServer, request } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { tokensOf } from '../../../src/command/requests.ts';
import { withTokens } from '../../../src/command/serve/admin-port.ts';
import { consoleHandler, consoleSignIn } from '../../../src/console/index.ts';
import { adminSetup } from '../../admin/admin-host.ts';
import { closed, listening } from '../../support/servers.ts';
import { commandFolder, sqliteConfig } from '../called.ts';

const reader = 'the-token-of-support-0123456789-abcdef';
const manager = 'the-token-of-the-managers-0123456789';

async function running() {
  const { admin, entries } = adminSetup();
  const tokens = tokensOf({
    ...{ port: 0, host: '127.0.0.1' },
    tokens: [
      { name: 'support', token: reader, can: 'read' },
      { name: 'ops', token: manager, can: 'manage' },
    ],
  });
  const signIn = withTokens(consoleSignIn(), tokens);
  const server = createServer(
    (...of) => void consoleHandler(admin, { path: '/console', signIn })(...of),
  );
  const origin = await listening(server);
  onTestFinished(() => closed(server));
  return { admin, entries, origin };
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly cookie: string;
}

function send(
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers });
    sent.once('error', reject);
    sent.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece) => {
        text += piece;
      });
      response.once('end', () => {
        const cookie = (response.headers['set-cookie'] ?? []).map((one) => one.split(';')[0]);
        resolve({ status: response.statusCode, text, cookie: cookie.join('; ') });
      });
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const json = { 'content-type': 'application/json' };
const bearer = (token: string) => ({ ...json, authorization: `Bearer ${token}` });

it('a link signs in once, under the name and with the right that it was made for', async () => {
  const { origin, entries } = await running();
  const { port } = new URL(origin);
  const host = commandFolder({ env: { KEY: 'k', READ: reader, MANAGE: manager } });
  const tokens = [
    { name: 'support', token: '\u0024{READ}', can: 'read' },
    { name: 'ops', token: '\u0024{MANAGE}', can: 'manage' },
  ];
  host.write({ ...sqliteConfig(), admin: { port: Number(port), tokens } });

  const { code, out } = await host.call('console', 'link', '--actor', 'ada');
  const [, token] = out.trim().split('#token=');
  const browser = { ...json, 'x-tollgate-admin': '1', origin };
  const signedIn = await send(`${origin}/console/sign-in`, browser, { token });
  const session = await send(`${origin}/console/api/session`, { cookie: signedIn.cookie });
  const again = await send(`${origin}/console/sign-in`, browser, { token });

  expect(code).toBe(0);
  expect(out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/sign-in#token=[\w-]{43}\n$/);
  expect(JSON.parse(session.text)).toMatchObject({ actor: 'ada', can: 'read' });
  expect(again.status).toBe(401);
  expect(entries).toMatchObject([
    { actor: 'ops', action: 'console.link', target: 'ada', outcome: 'done' },
    { actor: 'ada', action: 'console.sign_in', outcome: 'done' },
    { actor: 'unknown', action: 'console.sign_in', outcome: 'refused' },
  ]);
  expect(JSON.stringify(entries)).not.toContain(token);
});

it('a token that may only read, and a session, get no link', async () => {
  const { origin, entries } = await running();
  const url = `${origin}/console/links`;
  const body = { actor: 'eve', can: 'manage' };
  const path = JSON.parse((await send(url, bearer(manager), body)).text).path;
  const browser = { ...json, 'x-tollgate-admin': '1', origin };
  const [, token] = path.split('#token=');
  const { cookie } = await send(`${origin}/console/sign-in`, browser, { token });

  const bySupport = await send(url, bearer(reader), body);
  const bySession = await send(url, { ...browser, cookie }, body);
  const byNobody = await send(url, bearer('x'.repeat(40)), body);

  expect([bySupport.status, bySession.status, byNobody.status]).toEqual([403, 403, 401]);
  expect(entries.filter(({ action }) => action === 'console.link')).toMatchObject([
    { actor: 'ops', outcome: 'done' },
    { actor: 'support', outcome: 'refused', code: 'read_only' },
    { actor: 'eve', outcome: 'refused', code: 'read_only' },
  ]);
});

it('a token that may only read reads, and changes nothing', async () => {
  const { origin, entries } = await running();
  const read = await send(`${origin}/console/api/session`, bearer(reader));
  const change = await send(`${origin}/console/api/channels/openai-a/disable`, bearer(reader), {});

  expect(JSON.parse(read.text)).toMatchObject({ actor: 'support', can: 'read' });
  expect(change.status).toBe(403);
  expect(entries).toMatchObject([{ actor: 'support', outcome: 'refused' }]);
});
