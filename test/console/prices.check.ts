/** How an operator changes the price of a model in the console. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Admin } from '../../src/admin/index.ts';
import { axeFindings, startBrowser } from './browser/browser.ts';
import { openedPage } from './browser/opened-page.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

const unit = 1_000_000_000n;

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();

describe('a price', () => {
  it('is changed after its differences and their cost were shown', async () => {
    const { server, page, complaints } = await openedPage(browser, '#/models/gpt-5-mini');
    const calls: (readonly unknown[])[] = [];
    const published = (await server.state.catalog.history())[0];
    if (published === undefined) throw new Error('the fake has no version');
    const setPrice: Admin['catalog']['setPrice'] = async (...input) => {
      calls.push(input);
      return published;
    };
    server.state.catalog = { ...server.state.catalog, setPrice };

    await press(page, 'Edit price');
    await page.getByLabel('Input', { exact: true }).fill('0,3');
    await press(page, 'Preview');
    await page.getByText('Write an amount such as 0.15').waitFor();
    await page.getByLabel('Input', { exact: true }).fill('0.3');
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Preview');
    await page.getByText('Their tokens at the new price').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect(calls).toEqual([]);
    await press(page, 'Publish');
    await page.getByText('The price of gpt-5-mini has changed.').waitFor();

    expect(calls).toMatchObject([
      [
        'ada@acme.example',
        'gpt-5-mini',
        {
          after: 14,
          price: {
            rates: { input: 300_000_000n, cachedInput: 25_000_000n, output: 2n * unit },
            tiers: [{ aboveInputTokens: 272_000, rates: { output: 4n * unit } }],
            members: { web_search: { perCallNanos: 10_000_000n }, service_tier: {} },
          },
        },
      ],
    ]);
    expect(complaints()).toEqual([]);
  });

  it('can’t be edited by those who may only read, or in a catalog in a file', async () => {
    const access = { actor: 'support', can: 'read' } as const;
    const reading = await openedPage(browser, '#/models/gpt-5-mini', { state: { access } });
    await reading.page.getByText('Price for callers').waitFor();
    const capabilities = { changePrices: false };
    const inFile = await openedPage(browser, '#/models/gpt-5-mini', { state: { capabilities } });
    await inFile.page.getByText('in code or in a file').waitFor();

    for (const { page } of [reading, inFile]) {
      expect(await page.getByRole('button', { name: 'Edit price' }).count()).toBe(0);
    }
    expect(await inFile.page.getByText('Versions', { exact: true }).count()).toBe(0);
  });
});
