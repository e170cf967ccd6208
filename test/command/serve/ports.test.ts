// suite: search host
/** The ports of `tollgate serve` other than that of the gateway. */
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { build } from '../../support/built.ts';
import {
  chat,
  issuedAda,
  type LogLine,
  modelAt,
  ran,
  served,
  sqliteHost,
  waitingStream,
  writeConfig,
} from './served.ts';

const env = { KEY: 'the-account-key' };
const token = 'the-token-of-the-scripts-0123456789';
const withToken = { ...env, ADMIN_TOKEN: token };
const authorization = `Bearer ${token}`;
/** The token in a link, on standard error. */
const linkToken = /#token=([\w-]{43})\n/g;

beforeAll(build, 60_000);

describe('the metrics of tollgate serve', () => {
  it('are on a port of their own, with those of the process', async () => {
    const { folder, config } = await sqliteHost();
    writeConfig(folder, { ...config, metrics: { port: 0, path: '/figures' } });
    const secret = await issuedAda(folder, env);
    const { origin, child, exited, until } = await served(folder, env);
    const metrics = originOf(await until('listening'), 'metrics');

    const answer = await chat(origin, secret);
    await answer.text();
    await until('call_ended');
    const scrape = await fetch(`${metrics}/figures?x=1`);
    const text = await scrape.text();
    const others = await Promise.all(
      [`${metrics}/metrics`, `${metrics}/v1/models`, `${origin}/figures`].map((url) => fetch(url)),
    );
    const posted = await fetch(`${metrics}/figures`, { method: 'POST' });
    child.kill('SIGTERM');

    expect(scrape.headers.get('content-type')).toContain('version=0.0.4');
    expect(text).toMatch(/^tollgate_calls_total\{.*model="gpt-4o-mini",outcome="complete".*\} 1$/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
    expect(text).not.toMatch(/the-account-key|tg_|ada/);
    expect(others.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(posted.status).toBe(405);
    expect(await exited).toBe(0);
  });
});

describe('a file of tollgate serve that becomes invalid', () => {
  it('is an event, a gauge and an entry of the console until it is valid again', async () => {
    const { folder, config, upstream } = await sqliteHost();
    const models = (text: string): void => writeFileSync(join(folder, 'models.json'), text);
    const valid = JSON.stringify({ models: [modelAt(upstream.openaiBaseUrl)] }).replace(
      /"\$\{KEY\}"/,
      '{"env":"KEY"}',
    );
    const admin = { port: 0, token: ['${', 'ADMIN_TOKEN}'].join('') };
    const whole = { ...config, admin, metrics: { port: 0 }, catalog: { file: 'models.json' } };
    models(valid);
    writeConfig(folder, whole);
    const { child, exited, until } = await served(folder, withToken);
    const listening = await until('listening');
    const figures = async (): Promise<string> =>
      (await fetch(`${originOf(listening, 'metrics')}/metrics`)).text();
    const attention = async (): Promise<unknown> => {
      const url = `${originOf(listening, 'admin')}/console/api/now`;
      const reply = await fetch(url, { headers: { authorization } });
      return Object(await reply.json()).attention;
    };

    models('{');
    await until('catalog_refused');
    writeConfig(folder, { ...whole, log: { level: 'loud' } });
    await until('config_refused');
    const stale = [await figures(), JSON.stringify(await attention())];
    models(`${valid} `);
    await until('catalog_loaded');
    writeConfig(folder, whole);
    await until('config_loaded');
    const fresh = await figures();
    const left = await attention();
    child.kill('SIGTERM');

    expect(stale[0]).toContain('\ntollgate_catalog_stale 1\n');
    expect(stale[0]).toContain('\ntollgate_config_stale 1\n');
    expect(stale[0]).toContain('\ntollgate_events_total{type="catalog_refused"} 1\n');
    expect(stale[1]).toMatch(/models\.json is invalid.*tollgate\.json is invalid/);
    expect(fresh).toContain('\ntollgate_catalog_stale 0\n');
    expect(fresh).toContain('\ntollgate_config_stale 0\n');
    expect(left).toEqual([]);
    expect(await exited).toBe(0);
  });
});

describe('the console of tollgate serve', () => {
  const change = { 'content-type': 'application/json', 'x-tollgate-admin': '1' };

  it('signs in one operator by a link, which no log has; SIGHUP writes a new one', async () => {
    const { folder, config } = await sqliteHost();
    writeConfig(folder, { ...config, admin: { port: 0 } });
    const { origin, child, exited, until, untilError, lines } = await served(folder, env);
    const console = originOf(await until('listening'), 'admin');
    const first = await untilError(linkToken);
    const exchange = (given: string): Promise<Response> =>
      fetch(`${console}/console/sign-in`, {
        method: 'POST',
        headers: { ...change, origin: console },
        body: JSON.stringify({ token: given }),
      });

    const entered = await exchange(first);
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    const session = await fetch(`${console}/console/api/session`, { headers: { cookie } });
    const repeated = await exchange(first);
    const anonymous = await fetch(`${console}/console/api/keys`);
    const elsewhere = await fetch(`${origin}/console`);
    child.kill('SIGHUP');
    await until('config_loaded');
    const next = await untilError(linkToken, 2);
    const second = await exchange(next);
    child.kill('SIGTERM');

    expect([entered.status, session.status]).toEqual([200, 200]);
    expect(await session.json()).toMatchObject({ actor: 'console', can: 'manage' });
    expect([repeated.status, anonymous.status, elsewhere.status]).toEqual([401, 401, 404]);
    expect(second.status).toBe(200);
    expect(await exited).toBe(0);
    for (const text of [first, next]) expect(JSON.stringify(lines)).not.toContain(text);
  });

  it('writes the link to a file of mode 600, and removes it at the end', async () => {
    const { folder, config } = await sqliteHost();
    const path = join(folder, 'sign-in.txt');
    writeFileSync(path, 'of somebody', { mode: 0o644 });
    writeConfig(folder, { ...config, admin: { port: 0, signInFile: 'sign-in.txt' } });
    const { child, exited, until, errors } = await served(folder, env);
    const { port } = Object(await until('listening')).admin;
    const link = readFileSync(path, 'utf8');
    const { mode } = statSync(path);
    child.kill('SIGTERM');

    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/sign-in#token=[\w-]{43}\n$/);
    expect(new URL(link).port).toBe(String(port));
    expect(mode & 0o777).toBe(0o600);
    expect(errors()).not.toContain('token');
    expect(await exited).toBe(0);
    expect(existsSync(path)).toBe(false);
  });

  it.each([
    'SIGQUIT',
    'SIGALRM',
    'SIGUSR2',
    'SIGXCPU',
  ] as const)('removes the file where %s ends the process at once', async (signal) => {
    const { folder, config } = await sqliteHost();
    writeConfig(folder, { ...config, admin: { port: 0, signInFile: 'sign-in.txt' } });
    const { child, exited } = await served(folder, env);
    const existed = existsSync(join(folder, 'sign-in.txt'));
    child.kill(signal);

    expect(await exited).toBe(null);
    expect([existed, child.signalCode]).toEqual([true, signal]);
    expect(existsSync(join(folder, 'sign-in.txt'))).toBe(false);
  });

  it.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
    ['SIGINT', 'SIGQUIT'],
  ] as const)('removes the file where a call holds %s up, and %s ends it', async (one, other) => {
    const { folder, config, upstream } = await sqliteHost();
    writeConfig(folder, { ...config, admin: { port: 0, signInFile: 'sign-in.txt' } });
    const secret = await issuedAda(folder, env);
    const { origin, child, exited, until } = await served(folder, env);
    upstream.enqueue(waitingStream(new Promise(() => {})));
    const answer = await chat(origin, secret, { stream: true });
    void answer.text().catch(() => {});

    child.kill(one);
    await until('ending');
    child.kill('SIGHUP');
    const alive = await fetch(`${origin}/healthz`);
    const existed = existsSync(join(folder, 'sign-in.txt'));
    child.kill(other);

    expect(await exited).toBe(null);
    expect([alive.status, existed, child.signalCode]).toEqual([200, true, other]);
    expect(existsSync(join(folder, 'sign-in.txt'))).toBe(false);
  });

  it('does not start where the link cannot be written', async () => {
    const { folder, config } = await sqliteHost();
    writeConfig(folder, { ...config, admin: { port: 0, signInFile: 'none/sign-in.txt' } });
    const { code, err } = await ran(folder, ['serve'], env);

    expect([code, err]).toEqual([
      3,
      "tollgate: admin.signInFile can't be written (ENOENT). Its folder must exist.\n",
    ]);
  });

  it('answers scripts and the command by a token, and logs what they change', async () => {
    const { folder, config } = await sqliteHost();
    const written = { port: 0, token: ['${', 'ADMIN_TOKEN}'].join('') };
    writeConfig(folder, { ...config, admin: written });
    const { child, exited, until, lines } = await served(folder, withToken);
    const console = originOf(await until('listening'), 'admin');
    const post = (path: string, body: object, given = authorization): Promise<Response> =>
      fetch(`${console}/console/api${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: given },
        body: JSON.stringify(body),
      });

    const wrong = await post('/keys', {}, `${authorization}x`);
    const issued = await post('/keys', { id: 'eve', group: 'staff', limitNanos: '5' });
    const { secret } = Object(await issued.json());
    const disabled = await post('/channels/openai-1/disable', {});
    const audit = await until('audit', 2);
    const port = new URL(console).port;
    writeConfig(folder, { ...config, admin: { ...written, port: Number(port) } });
    const live = await ran(folder, ['channels', '--json'], withToken);
    const shown = await ran(folder, ['channels'], withToken);
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    const down = await ran(folder, ['channels'], withToken);

    expect([wrong.status, disabled.status]).toEqual([401, 200]);
    expect(audit).toMatchObject({ actor: 'admin.token', action: 'channel.disable' });
    expect(JSON.parse(live.out)).toMatchObject({
      live: true,
      data: [{ channel: 'openai-1', health: { state: 'off', inFlight: 0 } }],
    });
    expect(shown.out).toMatch(/^gpt-4o-mini .* off +0$/m);
    expect(down.code).toBe(0);
    expect(down.err).toBe(
      `Without health: no process answers at http://127.0.0.1:${port} (connect_refused).\n`,
    );
    expect(secret).toMatch(/^tg_/);
    expect(JSON.stringify(lines) + live.out + shown.out).not.toMatch(/tg_[\w-]{59}|0123456789/);
  });
});

describe('a port of tollgate serve that is taken', () => {
  it.each([
    'listen',
    'metrics',
    'admin',
  ])('names the member %s, and ends with 1', async (member) => {
    const { folder, config } = await sqliteHost();
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const bound = other.address();
    const taken = { port: typeof bound === 'object' ? bound?.port : 0, host: '127.0.0.1' };
    writeConfig(folder, { ...config, metrics: { port: 0 }, admin: { port: 0 }, [member]: taken });

    const { code, out, err } = await ran(folder, ['serve'], env);

    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      `tollgate: ${member}.port: can't listen on port ${taken.port}. ` +
        'It is taken: choose a free one.\n',
    );
  });
});

/** The address of a port that the line `listening` names. */
function originOf(line: LogLine, member: string): string {
  const address: unknown = line[member];
  const port: unknown = Reflect.get(Object(address), 'port');
  return `http://127.0.0.1:${port}`;
}
