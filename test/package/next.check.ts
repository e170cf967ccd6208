/** The packed package in a Next.js app: the example, built by its bundler, started and called. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ask } from '../../examples/next/app/chat.ts';
import { issueKey } from '../../src/issue-key.ts';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { type Consumer, installPacked } from './consumer.ts';

const next = 'node_modules/next/dist/bin/next';
const { secret } = issueKey({ group: 'staff', limitNanos: 1n });
const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });

let consumer: Consumer;
let upstream: FakeUpstream;
let server: ChildProcess;
let origin = '';

beforeAll(async () => {
  consumer = installPacked({
    packages: {
      next: '16.4.6',
      react: '19.3.1',
      'react-dom': '19.3.1',
      // It would install them itself.
      typescript: '5.9.3',
      '@types/node': '20.19.43',
      '@types/react': '19.2.2',
    },
    files: { '.': 'examples/next' },
  });
  consumer.run('env', 'NODE_ENV=production', 'NEXT_TELEMETRY_DISABLED=1', 'node', next, 'build');
  upstream = await startStrictUpstream();
  server = spawn('node', [next, 'start', '--port', '0', '--hostname', '127.0.0.1'], {
    cwd: consumer.folder,
    env: {
      ...process.env,
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      NEXT_MANUAL_SIG_HANDLE: '1',
      TOLLGATE_KEY: secret,
      OPENAI_BASE_URL: upstream.openaiBaseUrl,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  origin = await originOf(server);
});

afterAll(async () => {
  server.kill('SIGKILL');
  await upstream.close();
  consumer.remove();
});

afterEach(() => vi.unstubAllGlobals());

describe.each([
  ['the App Router', '/api/llm'],
  ['the Pages Router', '/api/node'],
])('a gateway in %s', (_router, base) => {
  it('answers a chat', async () => {
    const response = await chat(base, {});

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ object: 'chat.completion' });
  });

  it('streams each event before the next one exists, to a client that accepts gzip', async () => {
    const second = gate();
    upstream.enqueue(sse([delta('one'), second.opened, delta('two'), '[DONE]']));

    const response = await chat(base, { stream: true });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain('one');
    second.open();
    let rest = '';
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      rest += part.value;
    }

    expect(rest).toContain('two');
    expect(rest.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('lists models, and answers HEAD without a body', async () => {
    const url = `${origin}${base}/v1/models`;
    const list = await fetch(url, { headers: headers() });
    const head = await fetch(url, { method: 'HEAD', headers: headers() });

    expect(await list.json()).toMatchObject({ data: [{ id: 'gpt-4o-mini' }] });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('refuses in the error format of the API', async () => {
    const response = await chat(base, {}, { authorization: 'Bearer wrong' });

    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
  });

  it('does not complete a reply that is cut', async () => {
    upstream.enqueue({
      headers: { 'content-type': 'application/json' },
      chunks: ['{"choices":[{"index":0,"message":{"content":"', 'A'.repeat(2_000_000)],
      ending: 'reset',
    });

    const response = await chat(base, {});

    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('ends the upstream call when its caller disconnects', async () => {
    upstream.enqueue({ ...sse([delta('one')]), ending: 'hang' });
    const caller = new AbortController();
    const response = await chat(base, { stream: true }, {}, caller.signal);
    await response.body?.getReader().read();

    caller.abort();

    expect(await upstream.calls.at(-1)?.closed).toBe('aborted');
  });
});

describe('a user of the app who has signed in', () => {
  it('asks a model with the session of the app, and without a key', async () => {
    const page = await fetch(origin);
    const { status, headers } = await signIn();
    actAsBrowser(cookieOf(headers), 'same-origin');
    upstream.enqueue(sse([delta('Hello, '), delta('Ada'), '[DONE]']));

    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Sign in')]);
    expect([status, headers.get('location')]).toEqual([303, '/']);
    expect(await replyTo('Who am I?')).toBe('Hello, Ada');
  });

  it.each([
    ['has signed out', '', 'same-origin'],
    ['is on a page of another site', undefined, 'cross-site'],
  ])('is refused who %s', async (_name, cookie, site) => {
    const { headers } = await signIn();
    const before = upstream.calls.length;
    actAsBrowser(cookie ?? cookieOf(headers), site);

    await expect(replyTo('Who am I?')).rejects.toThrow('No API key was found');
    expect(upstream.calls.length).toBe(before);
  });
});

// The last one, because it ends the server.
it('a SIGTERM closes the gateway, and then the process', async () => {
  const ended = once(server, 'exit');

  server.kill('SIGTERM');

  expect(await ended).toEqual([0, null]);
});

function signIn(): Promise<Response> {
  const body = new URLSearchParams({ name: 'ada' });
  return fetch(`${origin}/sign-in`, { method: 'POST', body, redirect: 'manual' });
}

function cookieOf(headers: Headers): string {
  return headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** Sends with the page's requests what a browser adds. */
function actAsBrowser(cookie: string, site: string): void {
  const send = globalThis.fetch;
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    const added = { ...init.headers, cookie, 'sec-fetch-site': site };
    return send(origin + path, { ...init, headers: added });
  });
}

/** What the page shows. */
async function replyTo(question: string): Promise<string> {
  let text = '';
  for await (const piece of ask(question)) text += piece;
  return text;
}

function headers(): Record<string, string> {
  return { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
}

function chat(
  base: string,
  change: object,
  other: Readonly<Record<string, string>> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  const messages = [{ role: 'user', content: 'Hello!' }];
  return fetch(`${origin}${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers(), ...other },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages, ...change }),
    signal,
  });
}

/** The origin that the server prints before it is ready. */
async function originOf({ stdout }: ChildProcess): Promise<string> {
  let printed = '';
  for await (const text of stdout ?? []) {
    printed += String(text);
    const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? [];
    if (found !== undefined && printed.includes('Ready')) {
      stdout?.resume();
      return found;
    }
  }
  throw new Error(`Next.js ended before it was ready:\n${printed}`);
}
