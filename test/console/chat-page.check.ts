/** The page of examples/chat in a browser, which sends the session's cookie and no key. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import { chatHost, delta } from '../examples/chat-host.ts';
import { axeFindings, complaintsOf, startBrowser } from './browser/browser.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

it('streams replies into a page whose user is signed in, and sends the conversation', async () => {
  const { origin, upstream } = await chatHost();
  const page = await browser.newPage();
  const complaints = complaintsOf(page);
  const end = gate();
  upstream.enqueue(sse([delta('<b>Hello'), end.opened, delta('</b>'), '[DONE]']));
  const say = async (text: string): Promise<void> => {
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  const shown = () => page.getByRole('listitem').allTextContents();

  await page.goto(`${origin}/sign-in`);
  expect(await axeFindings(page)).toEqual([]);
  await say('Who are you?');
  await expect.poll(shown).toEqual(['Who are you?', '<b>Hello']);
  end.open();
  await expect.poll(shown).toEqual(['Who are you?', '<b>Hello</b>']);
  await say('Again.');
  await expect.poll(() => upstream.calls.length).toBe(2);

  expect(JSON.parse(String(upstream.calls[1]?.body)).messages).toEqual([
    { role: 'user', content: 'Who are you?' },
    { role: 'assistant', content: '<b>Hello</b>' },
    { role: 'user', content: 'Again.' },
  ]);
  // There is no icon.
  expect(complaints.filter((text) => !text.startsWith('Failed to load'))).toEqual([]);
});

it('shows why a user who is not signed in gets no reply', async () => {
  const { origin, upstream } = await chatHost();
  const page = await browser.newPage();

  await page.goto(origin);
  await page.getByLabel('Message').fill('Who are you?');
  await page.getByRole('button', { name: 'Send' }).click();

  await expect.poll(() => page.getByRole('listitem').last().textContent()).toContain('Sign in');
  expect(upstream.calls).toEqual([]);
});
