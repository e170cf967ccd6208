/** Calls and refused requests in the page: filters that complete, sums, files, small screens. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { recordedRefusals } from '../../src/testing/index.ts';
import { adminSetup } from '../admin/admin-host.ts';
import { axeFindings, startBrowser } from './browser/browser.ts';
import { openedPage } from './browser/opened-page.ts';
import { failingNow, nowMs } from './fakes/data.ts';
import { issueKeys } from './fakes/keys.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

const dayMs = 86_400_000;

describe('a filter', () => {
  it('completes what there is by keyboard, and any other text may be written', async () => {
    const { server, page, complaints } = await openedPage(browser, '#/calls');
    await issueKeys(server);
    const field = page.getByRole('combobox', { name: 'Key' });
    const options = page.locator('.options [role=option]:visible');

    await field.click();
    await field.pressSequentially('TEAM');
    await page.clock.runFor(200);
    await expect.poll(() => options.allTextContents()).toEqual(['team-design', 'team-search']);
    expect(await field.getAttribute('aria-expanded')).toBe('true');
    expect(await axeFindings(page)).toEqual([]);
    await field.press('ArrowDown');
    await field.press('ArrowDown');
    const active = await field.getAttribute('aria-activedescendant');
    expect(await page.locator(`#${active}`).textContent()).toBe('team-search');
    await field.press('Enter');
    await expect.poll(() => page.url()).toContain('key=team-search');
    expect(await options.count()).toBe(0);

    const channel = page.getByRole('combobox', { name: 'Channel' });
    await channel.fill('gone');
    await channel.press('Enter');
    await expect.poll(() => page.url()).toContain('channel=gone');
    await page.getByRole('link', { name: 'Clear', exact: true }).click();
    await expect.poll(() => channel.inputValue()).toBe('');
    expect(complaints()).toEqual([]);
  });

  it('is closed by Escape, and chosen with the pointer', async () => {
    const { page } = await openedPage(browser, '#/calls');
    const field = page.getByRole('combobox', { name: 'Refusal code' });
    const options = page.locator('.options [role=option]:visible');

    await field.click();
    await options.first().waitFor();
    await field.press('Escape');
    await expect.poll(() => options.count()).toBe(0);
    await field.pressSequentially('quota');
    await page.clock.runFor(200);
    await options.getByText('insufficient_quota').click();

    await expect.poll(() => page.url()).toContain('code=insufficient_quota');
  });
});

describe('a request that was refused', () => {
  it('twenty days ago is found by its key, with its count and what to do', async () => {
    const log = memoryUsageSink({ limit: 10 });
    log.recordRefusals([
      recordedRefusals({
        ...{ id: 'a.1', atMs: nowMs - 20 * dayMs - 20_000, keyId: 'app-web', refusals: 12 },
        ...{ code: 'insufficient_quota', reason: 'insufficient' },
      }),
    ]);
    const { server, page } = await openedPage(browser, '#/now');
    await issueKeys(server);
    const { clock } = server;
    const { admin } = adminSetup({ usage: log, clock });
    server.state.refusals = admin.refusals;
    server.state.calls = admin.calls;

    await page.goto(`${server.url}#/calls?range=30d&key=app-web`);
    const row = page.getByRole('row').filter({ hasText: 'insufficient_quota' });
    await row.getByText('12all processes', { exact: false }).waitFor();
    await row.getByText('Top up or raise the limit').waitFor();
    await page.getByText('No call').waitFor({ state: 'detached' });
    const file = page.getByRole('link', { name: 'CSV of refusals' });
    expect(await file.getAttribute('href')).toContain('keyId=app-web&by=day%2Ccode');
    await page.goto(`${server.url}#/keys/app-web?range=15m`);
    await page.getByText('Refused in the last 30 days').waitFor();
    await page.getByText('12 ×').waitFor();
    await page.goto(`${server.url}#/calls?range=7d&key=app-web`);

    await page.getByText('No call of the last 7 days matches').waitFor();
  });
});

describe('the list', () => {
  it('fits a phone: two lines for a call, and the filters behind one button', async () => {
    const { page } = await openedPage(browser, '#/calls', { look: 'phone' });
    const rows = page.locator('.cards-calls tr.opens');
    await rows.first().waitFor();
    const field = page.getByRole('combobox', { name: 'Key' });

    expect(await field.isVisible()).toBe(false);
    const height = await rows.nth(1).evaluate((row) => row.getBoundingClientRect().height);
    expect(height).toBeLessThan(76);
    await page.getByRole('button', { name: 'Filters' }).click();
    await field.waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  it('without calls has a line to copy, with a model of the catalog and the key', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    const list = async () => ({ data: [], next: undefined, source: 'log' }) as const;
    server.state.calls = { ...server.state.calls, list };

    await page.goto(`${server.url}#/calls`);
    await page.locator('pre').getByText('"model":"gpt-5-mini"').waitFor();
    await page.getByLabel('Your key').fill('sk-test');
    await page.getByRole('button', { name: 'Copy' }).click();

    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toContain('Bearer sk-test');
    expect(copied).toBe(await page.locator('pre').textContent());
    expect(page.url()).not.toContain('sk-test');
  });
});

it('Now names the worst problem once, and each other one once', async () => {
  const { page } = await openedPage(browser, '#/now', { state: { now: failingNow() } });
  const { sentence, attention } = failingNow();

  for (const { text } of [...sentence, ...attention]) {
    await page.getByText(text, { exact: true }).waitFor();
    expect(await page.getByText(text, { exact: true }).count()).toBe(1);
  }
  const headline = await page.locator('.sentence-text').allTextContents();
  expect(headline).toEqual([sentence[0]?.text]);
});
