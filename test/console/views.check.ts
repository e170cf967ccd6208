/** Every view in every look shows its data, and breaks no rule of axe-core or of its policy. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFindings, startBrowser } from './browser/browser.ts';
import { looks, openedPage } from './browser/opened-page.ts';
import { call, failingNow } from './fakes/data.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

const places = [
  { place: '#/now', shows: 'All is well.' },
  { place: '#/now?range=15m', shows: 'All is well.' },
  { place: '#/now', shows: 'Every channel of claude-opus-4 is out.', state: { now: failingNow() } },
  { place: '#/now?range=24h', shows: 'Requests per hour' },
  { place: '#/calls', shows: 'upstream overloaded' },
  { place: '#/calls?code=insufficient_quota', shows: 'req_r29' },
  { place: `#/calls/${call(3).requestId}`, shows: '2 attempts' },
  { place: `#/calls/${call(0).requestId}`, shows: 'Did this call run?' },
  { place: '#/calls/none', shows: 'No call none.' },
  { place: '#/keys', shows: 'There are no keys yet.' },
  { place: '#/channels', shows: 'every channel is out' },
  { place: '#/channels?by=account', shows: 'upstream rate limited' },
  { place: '#/channels?by=replica', shows: 'this one' },
  { place: '#/spend', shows: 'In no record:' },
  { place: '#/models', shows: 'prices of December' },
  { place: '#/models/gpt-5-mini', shows: 'above 272,000 input tokens' },
  { place: '#/audit', shows: 'read only' },
] as const;

describe.each(['light', 'dark', 'phone'] as const)('in %s', (look) => {
  it.each(places)('$place shows “$shows”', async ({ place, shows, ...options }) => {
    const { page, complaints } = await openedPage(browser, place, { look, ...options });

    await page.getByText('live', { exact: true }).waitFor();
    await page.getByText(shows).first().waitFor();

    expect(await axeFindings(page)).toEqual([]);
    const { width } = looks[look].viewport;
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    expect(complaints()).toEqual([]);
  });
});
