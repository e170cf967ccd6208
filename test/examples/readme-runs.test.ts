// suite: slow host
/**
 * The code of the README and of the pages of hosts runs as it stands there, with a fake upstream in
 * place of OpenAI.
 */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Server as HttpServer } from 'node:http';
import { type AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import type { Gateway, MemoryUsageSink } from 'tollgate';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FakeUpstream, script } from '../../src/testing/index.ts';
import { readText } from '../house/sources.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { restoreWebGlobals } from '../support/web-globals.ts';

/** What the block with the gateway exports. */
interface GatewayModule {
  readonly gateway: Gateway;
  readonly usage: MemoryUsageSink;
}

/** A block with a host app that runs. */
interface Running extends GatewayModule {
  readonly origin: string;
  /** What was printed until the app listened. */
  readonly printed: readonly string[];
  close(): Promise<void>;
}

let upstream: FakeUpstream;
let folder: string;
let running: Running | undefined;

beforeEach(async () => {
  upstream = await startStrictUpstream();
  // Inside the repo, so that packages are found; a new one, because modules are loaded once.
  const parent = join(import.meta.dirname, '.build');
  mkdirSync(parent, { recursive: true });
  folder = mkdtempSync(join(parent, 'readme-'));
  vi.stubEnv('OPENAI_API_KEY', 'the secret of an account');
});

afterEach(async () => {
  await running?.close();
  running = undefined;
  await upstream.close();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  restoreWebGlobals();
  rmSync(folder, { recursive: true });
});

describe('the code of the README', () => {
  it('says at start-up that the secret of the account is not set', async () => {
    vi.stubEnv('OPENAI_API_KEY', undefined);

    await expect(run("app.get('/'")).rejects.toThrow('credential must not be empty');
    await expect(run('express().use')).rejects.toThrow('credential must not be empty');
  });

  it('serves a call with its first lines, and says on stderr why an account is out', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
    running = await run('express().use');

    const reply = await called(running);
    upstream.enqueue(script.json(401, { error: { message: 'Incorrect API key provided.' } }));
    const refused = await called(running);

    expect(await reply.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
    expect(refused.status).toBe(502);
    expect(warned.mock.calls.map(([text]) => String(text)).join('\n')).toContain('openai');
  });

  it('serves its call and the host app, and records what the call cost', async () => {
    running = await run("app.get('/'");
    const { origin, usage } = running;

    const reply = await called(running);
    const home = await fetch(origin);

    expect(await reply.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
    expect(await home.text()).toBe('the host app');
    const requestId = reply.headers.get('x-request-id') ?? '';
    const [record] = usage.usageRecords({ requestId }).records;
    expect(record).toMatchObject({ modelId: 'gpt-4o-mini', outcome: 'complete' });
    expect(record?.chargeNanos).toBeGreaterThan(0n);
  });

  it('logs why it has no available account', async () => {
    running = await run("app.get('/'");
    const warned = vi.spyOn(console, 'warn').mockReturnValue();
    upstream.enqueue(script.json(401, { error: { message: 'Incorrect API key provided.' } }));

    await called(running);
    const reply = await called(running);

    expect(reply.status).toBe(503);
    expect(await reply.text()).toContain('No available OpenAI accounts');
    const lines = warned.mock.calls.map((words) => words.join(' ')).join('\n');
    expect(lines).toMatch(/tollgate channel_changed .*"openai-1".*"reason":"upstream_auth_error"/);
  });

  it('mounts the console behind the link that it prints', async () => {
    running = await run('consoleHandler(admin');
    const { origin, printed } = running;
    const link = new URL(printed.find((line) => line.includes('#token=')) ?? '');

    const page = await fetch(`${origin}${link.pathname}`);

    expect(link.pathname).toBe('/console/sign-in');
    expect(page.status).toBe(200);
  });
});

it.each([
  'express',
  'fastify',
  'hono',
  'koa',
  'node-http',
])('the app of docs/hosts/%s.md serves a call, and itself', async (host) => {
  running = await run('the host app', `docs/hosts/${host}.md`);

  const reply = await called(running);
  const home = await fetch(running.origin);

  expect(await reply.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
  expect(await home.text()).toBe('the host app');
});

/** Runs the block of a page that contains a text, beside the README's block with the gateway. */
async function run(text: string, page = 'README.md'): Promise<Running> {
  write('gateway', blockWith('export const gateway'));
  write('app', blockWith(text, page));
  const printed: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line) => printed.push(String(line)));
  const listen = vi.spyOn(Server.prototype, 'listen');
  await import(join(folder, 'app.ts'));
  const server = listen.mock.contexts.find((context) => context instanceof Server);
  if (server === undefined) throw new Error('The code starts no server.');
  if (!server.listening) await once(server, 'listening');
  listen.mockRestore();
  const { gateway, usage }: GatewayModule = await import(join(folder, 'gateway.ts'));
  log.mockRestore();
  return {
    gateway,
    usage,
    printed,
    origin: `http://127.0.0.1:${portOf(server.address())}`,
    close: async () => {
      server.close();
      if (server instanceof HttpServer) server.closeAllConnections();
      await gateway.close({ drainMs: 1 });
    },
  };
}

function blockWith(text: string, page = 'README.md'): string {
  const blocks = [...readText(page).matchAll(/^```(?:ts|sh)\n(.*?)^```$/gms)];
  const block = blocks.map(([, code = '']) => code).find((code) => code.includes(text));
  if (block === undefined) throw new Error(`No block of ${page} has the text ${text}.`);
  return block;
}

/** Writes a module that calls the fake upstream and listens on a free port. */
function write(name: string, code: string): void {
  const runnable = code
    .replace('https://api.openai.com/v1', upstream.openaiBaseUrl)
    .replace(/\b(listen\(|port: )3000/, (_all, before) => `${before}0`);
  writeFileSync(join(folder, `${name}.ts`), runnable);
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('It listens on no port.');
  return address.port;
}

/** Sends the call that the README has as a command for a terminal. */
function called({ origin, printed }: Running): Promise<Response> {
  const command = blockWith('curl ');
  const [, path = ''] = /http:\/\/localhost:3000(\S+)/.exec(command) ?? [];
  const [, body = ''] = /-d '(.*)'/.exec(command) ?? [];
  const secret = printed.find((line) => line.startsWith('tg_'));
  return fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body,
  });
}
