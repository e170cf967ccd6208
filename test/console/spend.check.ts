/** Spend: its dates, which the other views keep, and the ways from its rows and bars to calls. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFindings, startBrowser } from './browser/browser.ts';
import { looks, openedPage } from './browser/opened-page.ts';
import { issueKeys } from './fakes/keys.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

const hashOf = (page: Page): Promise<string> => page.evaluate('location.hash');

describe('the dates', () => {
  it('are chosen by keyboard, and come back after a view of live figures', async () => {
    const { page } = await openedPage(browser, '#/spend?range=1h');
    await page.getByText('The last hour:').waitFor();

    await page.getByRole('button', { name: 'Dates', exact: true }).press('Enter');
    const preset = page.getByRole('link', { name: 'Today' });
    await preset.waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Today, 23 November 2026 (UTC):').waitFor();
    expect(await preset.isVisible()).toBe(false);
    await page.getByRole('link', { name: 'Yesterday' }).click();
    await page.getByText('Yesterday, 22 November 2026 (UTC):').waitFor();

    await page.getByRole('link', { name: 'Now', exact: true }).click();
    await page.getByRole('navigation', { name: 'Range of time' }).getByText('24h').waitFor();
    const marked = page.locator('.range-links [aria-current]');
    expect(await marked.textContent()).toBe('24h');
    for (const name of ['Models', 'Audit']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('navigation', { name: 'Range of time' }).waitFor({ state: 'hidden' });
    }
    await page.getByRole('link', { name: 'Spend', exact: true }).click();
    await page.getByText('Yesterday, 22 November 2026 (UTC):').waitFor();
    expect(await hashOf(page)).toContain('range=yesterday');
  });

  it.each(['light', 'dark', 'phone'] as const)('of a range fit in %s', async (look) => {
    const { page, complaints } = await openedPage(browser, '#/spend', { look });
    await page.getByRole('button', { name: 'Dates', exact: true }).click();
    await page.getByLabel('From', { exact: true }).fill('2026-11-15');
    await page.getByLabel('To', { exact: true }).fill('2026-11-01');
    const { width } = looks[look].viewport;
    const menu = await page.locator('.dates-menu').boundingBox();
    expect(menu?.x).toBeGreaterThanOrEqual(0);
    expect((menu?.x ?? 0) + (menu?.width ?? width)).toBeLessThanOrEqual(width);
    expect(await axeFindings(page)).toEqual([]);

    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('1 November to 15 November 2026 (UTC):').waitFor();
    expect(await hashOf(page)).toContain('range=2026-11-01..2026-11-15');
    expect(complaints()).toEqual([]);
  });
});

describe('the groupings', () => {
  it('offer the names in the metadata, and any other name', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    await issueKeys(server);
    await page.getByRole('link', { name: 'Spend', exact: true }).click();
    const by = page.getByLabel('by', { exact: true });
    const other = page.getByLabel('Name of the metadata, by', { exact: true });

    await by.selectOption('metadata.user');
    await expect.poll(() => hashOf(page)).toContain('by=metadata.user');
    expect(await other.isVisible()).toBe(false);

    await by.selectOption('metadata …');
    await other.fill('feature');
    await other.press('Enter');
    await expect.poll(() => hashOf(page)).toContain('by=metadata.feature');
    expect(await other.inputValue()).toBe('feature');
  });
});

describe('the calls', () => {
  it('of a row have its name and its window', async () => {
    const { page } = await openedPage(browser, '#/spend?range=last-month&by=model&second=key');
    await page.getByRole('link', { name: 'claude-opus-4' }).first().click();

    expect(await hashOf(page)).toBe('#/calls?range=last-month&model=claude-opus-4&key=team-search');
  });

  it('of a bar have its part and its day, by the pointer and in the table', async () => {
    const { page } = await openedPage(browser, '#/spend?range=7d&by=model');
    const chart = page.locator('.chart .plot');
    await chart.waitFor();
    const { width = 0, height = 0 } = (await chart.boundingBox()) ?? {};
    await chart.hover({ position: { x: width / 3, y: height - 45 } });
    await chart.click({ position: { x: width / 3, y: height - 45 } });
    await expect.poll(() => hashOf(page)).toMatch(/^#\/calls\?range=(2026-11-\d\d)\.\.\1&model=/);

    await page.goBack();
    await page.getByRole('button', { name: 'As a table' }).click();
    await page.getByRole('link', { name: '20 Nov' }).click();
    expect(await hashOf(page)).toBe('#/calls?range=2026-11-20..2026-11-20');
  });
});

it('the chart shows calls, tokens and latencies too', async () => {
  const { page, complaints } = await openedPage(browser, '#/spend?range=30d');
  for (const [measure, shown] of [
    ['calls', 'claude-opus-4 27,900'],
    ['tokens', 'others 40,300,000'],
    ['first-byte', 'p95'],
    ['duration', 'p50'],
  ] as const) {
    await page.getByLabel('show', { exact: true }).selectOption(measure);
    await page.locator('.readout').filter({ hasText: shown }).first().waitFor();
    expect(await axeFindings(page)).toEqual([]);
  }
  expect(complaints()).toEqual([]);
});
