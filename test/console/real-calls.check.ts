/**
 * The console of `npm start`, as an operator opens it: by the link that was printed, over the real
 * admin library, after real calls.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { build, quickstart } from '../support/built.ts';
import { axeFindings, complaintsOf, startBrowser } from './browser/browser.ts';

let browser: Browser;

beforeAll(async () => {
  await build();
  browser = await startBrowser();
});

afterAll(() => browser.close());

it('shows real calls, their charges and their keys, and issues a key that works', async () => {
  const { output } = await startedDemo();
  const base = /export BASE=(\S+)/.exec(output)?.[1] ?? '';
  const key = /export KEY=(\S+)/.exec(output)?.[1] ?? '';
  const model = /"model":"([^"]+)"/.exec(output)?.[1] ?? '';
  const served = await chat(base, key, model);
  const refused = await chat(base, key, 'no-such-model');
  const page = await (await browser.newContext()).newPage();
  const complaints = complaintsOf(page);

  await page.goto(/http:\S+#token=\S+/.exec(output)?.[0] ?? '');
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByText('Requests per minute').waitFor();
  await page.getByRole('link', { name: 'model_not_found' }).click();
  await page.getByRole('link', { name: refused.requestId }).waitFor();
  await page.getByRole('link', { name: 'Calls', exact: true }).click();
  await page.getByRole('link', { name: served.requestId }).click();
  await page.getByText('1 attempt', { exact: true }).waitFor();
  await page.getByText('Booked in the quota store').waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.press('Escape');
  for (const [view, text] of [
    ['Spend', 'The usage log and the quota store agree'],
    ['Channels', 'ready'],
    ['Keys', 'a month'],
  ] as const) {
    await page.getByRole('link', { name: view, exact: true }).click();
    await page.getByText(text).first().waitFor();
    expect(await axeFindings(page)).toEqual([]);
  }
  await page.getByRole('button', { name: 'Issue a key' }).click();
  await page.getByLabel('Group', { exact: true }).fill('text');
  await page.getByLabel('Limit, in your currency unit').fill('1');
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
  const secret = (await page.getByLabel('Secret', { exact: true }).textContent()) ?? '';

  expect([served.status, refused.status]).toEqual([200, 404]);
  expect((await chat(base, secret, model)).status).toBe(200);
  expect(complaints).toEqual([]);
});

async function chat(base: string, key: string, model: string) {
  const reply = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] }),
  });
  await reply.arrayBuffer();
  return { status: reply.status, requestId: reply.headers.get('x-request-id') ?? '' };
}

/** The demo in a folder of its own, with its embedded upstream. */
async function startedDemo(): Promise<{ readonly output: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-console-'));
  const env = { ...process.env, PORT: '0', OPENAI_API_KEY: '', GEMINI_API_KEY: '' };
  const child: ChildProcessByStdio<null, Readable, null> = spawn(process.execPath, [quickstart], {
    cwd: folder,
    env: { ...env, ANTHROPIC_API_KEY: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(folder, { recursive: true });
  });
  let output = '';
  for await (const chunk of child.stdout) {
    output += String(chunk);
    if (output.includes('Ctrl-C')) break;
  }
  return { output };
}
