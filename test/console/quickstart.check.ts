/** The console of `npm start` in a browser: who may change something, and what it never shows. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { build, quickstart } from '../support/built.ts';
import { complaintsOf, startBrowser } from './browser/browser.ts';

const prompt = 'A lighthouse that nobody may read about';

let folder: string;
let child: ChildProcess;
let browser: Browser;
let page: Page;
let complaints: readonly string[];
let origin: string;

beforeAll(async () => {
  await build();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-console-'));
  const output = await startQuickstart();
  origin = /http:\/\/localhost:\d+/.exec(output)?.[0] ?? '';
  const key = /^export KEY=(\S+)$/m.exec(output)?.[1] ?? '';
  for (const model of ['gpt-4o-mini', 'no-such-model']) await (await chat(key, model)).text();

  browser = await startBrowser();
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  complaints = complaintsOf(page);
  await page.goto(/http:\S+#token=\S+/.exec(output)?.[0] ?? '');
  await page.getByText('live', { exact: true }).waitFor();
});

afterAll(async () => {
  await browser.close();
  child.kill('SIGINT');
  await once(child, 'exit');
  rmSync(folder, { recursive: true });
});

describe('the console of npm start', () => {
  it.each([
    ['now', 'Tollgate'],
    ['calls', 'gpt-4o-mini'],
    ['calls?code=model_not_found', 'model_not_found'],
    ['spend', 'gpt-4o-mini'],
    ['keys', 'text'],
    ['channels', 'openai-account'],
  ])('shows %s with %j, and no prompt', async (place, text) => {
    await page.goto(`${origin}/console#/${place}`);
    await page.getByText(text).filter({ visible: true }).first().waitFor();

    await expect.poll(() => page.content()).not.toContain(prompt);
    expect(complaints).toEqual([]);
  });

  it('accepts a change from its own page, as a browser sends it', async () => {
    const status = await page.evaluate(async () => {
      const reply = await fetch('/console/api/keys', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tollgate-admin': '1' },
        body: JSON.stringify({ group: 'text', limitNanos: '5' }),
      });
      return reply.status;
    });

    expect(status).toBe(201);
  });

  it('refuses a change from a page under another name of the same machine', async () => {
    const other = await browser.newPage();
    await other.goto(`${origin.replace('localhost', '127.0.0.1')}/`);
    const outcome = await other.evaluate(async (target) => {
      const init: RequestInit = {
        method: 'POST',
        mode: 'no-cors',
        credentials: 'include',
        body: '{"group":"text","limitNanos":"5"}',
      };
      const reply = await fetch(`${target}/console/api/keys`, init).catch(() => undefined);
      return reply?.type ?? 'hidden from the page';
    }, origin);
    await other.close();
    const keys = await page.evaluate(async () => (await fetch('/console/api/keys')).text());
    const { data }: { readonly data: readonly unknown[] } = JSON.parse(keys);

    expect(outcome).toBe('hidden from the page');
    expect(data).toHaveLength(3);
  });

  it('signs out, after which its session is invalid', async () => {
    const cookies = await page.context().cookies();
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Open the link that was printed').waitFor();
    const { status } = await fetch(`${origin}/console/api/session`, { headers: { cookie } });

    expect(cookie).toContain('tollgate_console_');
    expect(await page.context().cookies()).toEqual([]);
    expect(status).toBe(401);
  });
});

/** Starts it with stores of its own; resolves to what it prints. */
async function startQuickstart(): Promise<string> {
  const started = spawn(process.execPath, [quickstart], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  let output = '';
  for await (const chunk of started.stdout) {
    output += String(chunk);
    if (output.includes('Ctrl-C')) break;
  }
  return output;
}

function chat(key: string, model: string): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: prompt }] }),
  });
}
