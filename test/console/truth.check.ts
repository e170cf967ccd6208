/** The console says why requests are refused, of which time figures are, and what is not known. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusedEvent } from '../admin/admin-host.ts';
import { axeFindings, startBrowser } from './browser/browser.ts';
import { openedPage } from './browser/opened-page.ts';
import { call, dayNow } from './fakes/data.ts';
import { issueKeys } from './fakes/keys.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

describe('why a key is refused', () => {
  it('is in its drawer, whatever another key does, with what to do at once', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    await issueKeys(server);
    const quota = { group: 'default', modelId: 'gpt-5', reason: 'insufficient' } as const;
    for (let time = 0; time < 12; time += 1) {
      server.emit(refusedEvent('partner-eu', 'insufficient_quota', quota));
    }
    for (let time = 0; time < 2_000; time += 1) {
      server.emit(refusedEvent('app-web', 'model_not_found'));
    }
    server.clock.advance(120_000);
    await page.clock.fastForward(120_000);

    await page.goto(`${server.url}#/keys/partner-eu`);
    const drawer = page.getByRole('dialog', { name: 'Key' });
    await drawer.getByText('12 × insufficient_quota').waitFor();
    await drawer.getByText('quota does not cover the call.').waitFor();
    await drawer.getByText(/^this process, since 09:30; last .+ ago$/).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await drawer.getByRole('button', { name: 'Top up' }).last().click();
    await page.getByRole('dialog', { name: 'Top up partner-eu' }).waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${server.url}#/calls?outcome=refused&key=app-web`);

    const sums = page.getByRole('table', { name: 'Refusals by code and reason' });
    await sums.getByText('2,000').waitFor();
    await sums.getByText('The catalog has no model of this name').waitFor();
    await page.getByLabel('Outcome').selectOption('complete');
    await sums.waitFor({ state: 'detached' });
  });

  it('is named on Now, also where a refusal has a code only', async () => {
    const { page } = await openedPage(browser, '#/now');

    const row = page.getByRole('row').filter({ hasText: 'model_not_found' });
    await row.getByText('The catalog has no model of this name').waitFor();
    await row.getByText('Tell the caller which models there are').waitFor();
    await row.getByText('6 %').waitFor();
  });
});

describe('the figures', () => {
  it('name their time, and are – where nobody knows them', async () => {
    const { server, page } = await openedPage(browser, '#/now?range=24h');
    await page.getByText('from 08:00 to 09:00').waitFor();
    await page.getByText('Error rate since 22 Nov 10:00').waitFor();
    await page.getByText('all processes, since 22 Nov 10:00, up to a minute late').waitFor();
    const day = dayNow();
    const buckets = day.buckets.map((bucket) => ({ ...bucket, refused: undefined }));

    server.state.day = { ...day, buckets };
    server.clock.advance(2_000);

    await page.getByText('– refused').waitFor();
    await page.getByText('It has no refused requests of this time').waitFor();
    await page.getByText('this process, since 08:31').waitFor();
    await expect.poll(() => page.locator('.readout').textContent()).toContain('refused –');
    await expect.poll(() => page.getByText('0 refused').count()).toBe(0);
  });
});

describe('a group that no model has', () => {
  it('is not offered, and a key of it is flagged when it is issued and later', async () => {
    const { page } = await openedPage(browser, '#/keys');

    await page.getByRole('button', { name: 'Issue a key' }).first().click();
    const group = page.getByLabel('Group', { exact: true });
    await expect.poll(() => group.inputValue()).toBe('default');
    await expect
      .poll(() => page.locator('datalist option').evaluateAll((all) => all.length))
      .toBe(2);
    await group.fill('stuff');
    await page.getByLabel('Id', { exact: true }).fill('new-team');
    await page.getByLabel('Limit, in your currency unit').fill('25');
    await page.getByRole('button', { name: 'Issue', exact: true }).click();
    await page.getByText('No model serves the group stuff.').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel('I have stored it').check();
    await page.getByRole('button', { name: 'Done' }).click();

    await page.getByText('no model', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'new-team' }).click();
    await page.getByText('No model serves the group stuff.').waitFor();
  });
});

it('`/` begins a new search, also when the last one left its text', async () => {
  const { page } = await openedPage(browser, '#/calls');
  const ids = [call(3).requestId, call(1).requestId];

  for (const id of ids) {
    await page.getByRole('searchbox').waitFor();
    await page.keyboard.press('/');
    await page.getByRole('searchbox').and(page.locator(':focus')).waitFor();
    await page.keyboard.insertText(id);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**#/calls/${id}?range=1h`);
    await page.getByRole('heading', { name: id }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: id }).waitFor({ state: 'detached' });
  }
  await page.getByRole('searchbox').and(page.locator(':focus')).waitFor();
  // As a paste does, into the field to which the focus came back.
  await page.keyboard.insertText('next');

  await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('next');
});
