/** Keys and owners in the console: found, edited, issued from a file; in each look. */
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCsv } from '../../src/admin/csv.ts';
import { axeFindings, startBrowser } from './browser/browser.ts';
import { type looks, type OpenedPage, openedPage } from './browser/opened-page.ts';
import { issueKeys } from './fakes/keys.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

const unit = 1_000_000_000n;

async function withKeys(place: string, look: keyof typeof looks = 'light'): Promise<OpenedPage> {
  const opened = await openedPage(browser, '#/now', { look });
  await issueKeys(opened.server);
  // Its first route is shown: before that it may replace the next one.
  await opened.page.getByText('live', { exact: true }).waitFor();
  await opened.page.goto(`${opened.server.url}${place}`);
  return opened;
}

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();

const keyList = (page: Page) => page.getByRole('region', { name: 'Keys' });

describe('the list of keys', () => {
  it('is searched by metadata and owner, and sorted', async () => {
    const { page } = await withKeys('#/keys');
    const search = page.getByRole('searchbox');
    const rows = keyList(page).locator('tbody tr');

    for (const [text, count] of [
      ['app-web@example.com', 1],
      ['platform', 2],
      ['nobody', 0],
    ] as const) {
      await search.fill(text);
      await search.press('Enter');
      await expect.poll(() => rows.count()).toBe(count);
    }
    await page.getByText('No key matches this search.').waitFor();
    await page.getByText('No owner matches this search.').waitFor();
    await page.getByRole('link', { name: 'Show all keys' }).click();
    await page.getByLabel('Order').selectOption('left');
    await expect.poll(() => rows.first().getAttribute('data-key')).toBe('partner-eu');
    await page.getByLabel('Order').selectOption('used');

    await expect.poll(() => rows.nth(1).getAttribute('data-key')).toBe('team-search');
    expect(page.url()).toContain('sort=used');
  });

  it('has the key of a user, whatever view the search is in', async () => {
    const { page } = await withKeys('#/spend');

    await page.keyboard.press('/');
    await page.getByRole('searchbox').fill('app-web@example.com');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('link', { name: 'app-web' }).click();

    await page.getByRole('dialog', { name: 'Key' }).getByText('app-web@example.com').waitFor();
  });

  it('has a short bar for each budget, and its amounts on one line', async () => {
    const { page } = await withKeys('#/keys');
    const cell = keyList(page).locator('[data-key="qa-old"] td.budget');

    const bar = await cell.locator('.bar').boundingBox();
    const text = await cell.locator('.quota-text').boundingBox();

    expect(bar?.width).toBeLessThanOrEqual(200);
    expect(text?.height).toBeLessThan(24);
    await expect.poll(() => cell.textContent()).toBe('2.00 of 500.00 a month');
  });

  it.each(['light', 'dark', 'phone'] as const)('and the sheets fit in %s', async (look) => {
    const { page, complaints } = await withKeys('#/keys', look);
    const width = await page.evaluate('innerWidth');
    const check = async (): Promise<void> => {
      expect(await axeFindings(page)).toEqual([]);
      await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      const isWide = (nodes: readonly { scrollWidth: number; clientWidth: number }[]): boolean =>
        nodes.some((node) => node.scrollWidth > node.clientWidth);
      expect(await page.locator('dialog[open]').evaluateAll(isWide)).toBe(false);
    };

    await keyList(page).getByRole('link', { name: 'team-search' }).waitFor();
    await check();
    await keyList(page).getByRole('link', { name: 'team-search' }).click();
    const keySheet = page.getByRole('dialog', { name: 'Key' });
    await keySheet.getByRole('link', { name: 'platform' }).waitFor();
    await check();
    await keySheet.getByRole('link', { name: 'platform' }).click();
    const ownerSheet = page.getByRole('dialog', { name: 'Owner' });
    await ownerSheet.getByText('Its keys (2)').waitFor();
    await check();
    await ownerSheet.getByRole('link', { name: 'team-design' }).click();
    await keySheet.getByRole('heading', { name: 'team-design' }).waitFor();
    await press(page, 'Edit');
    await page.getByText('Rate limits').click();
    await check();
    expect(complaints()).toEqual([]);
  });
});

describe('a key', () => {
  it('is edited, and only what was changed is sent', async () => {
    const { server, page } = await withKeys('#/keys/app-web');

    await press(page, 'Edit');
    const dialog = page.getByRole('dialog', { name: 'Edit app-web' });
    await dialog.getByText('Models: all of the group').click();
    await dialog.getByText('gpt-5-mini').click();
    await dialog.getByText('Rate limits').click();
    await dialog.getByLabel('calls per minute').fill('60');
    await dialog.getByLabel('Limits of single models').fill('gpt-5-mini:tokens=900/day');
    await dialog.getByLabel('Calls at once').fill('4');
    await dialog.getByLabel('Last day, UTC').fill('2027-01-31');
    await dialog.getByLabel('Owner').fill('platform');
    await press(page, 'Add a label');
    await dialog.getByLabel('Name of a label').last().fill('cost');
    await dialog.getByLabel('Text of a label').last().fill('4711');
    await server.admin.keys.edit('ben', 'app-web', { group: 'batch' });
    await press(page, 'Save');
    await page.getByText('app-web is changed.').waitFor();

    expect(await server.admin.keys.find('app-web')).toMatchObject({
      ...{ group: 'batch', models: ['gpt-5-mini'], maxConcurrentCalls: 4 },
      rates: [{ calls: { perMinute: 60 } }, { model: 'gpt-5-mini', tokens: { perDay: 900 } }],
      expiresAtMs: Date.UTC(2027, 1, 1),
      owner: { id: 'platform' },
      metadata: { team: 'web', user: 'app-web@example.com', cost: '4711' },
    });
    await page.getByText('gpt-5-mini:tokens=900/day').waitFor();
  });

  it('loses what is taken away, and names the field that is wrong', async () => {
    const { server, page } = await withKeys('#/keys/app-mobile');
    await server.admin.keys.edit('setup', 'app-mobile', {
      ...{ models: ['gpt-5-mini'], maxConcurrentCalls: 3, owner: 'platform' },
      ...{ rates: [{ calls: { perDay: 9 } }], expiresAtMs: Date.UTC(2027, 0, 31, 7, 30) },
    });
    await page.reload();
    await press(page, 'Edit');
    const dialog = page.getByRole('dialog', { name: 'Edit app-mobile' });

    for (const [label, wrong, sentence] of [
      ['calls per day', '1,000', 'without separators'],
      ['Limits of single models', 'calls=1', 'must be a limit such as'],
      ['Calls at once', '0', 'a whole number of 1 or more'],
      ['Last day, UTC', '2020-01-01', 'today or a later day'],
      ['Owner', 'nobody', 'owner'],
    ] as const) {
      const before = await dialog.getByLabel(label).inputValue();
      await dialog.getByLabel(label).fill(wrong);
      await press(page, 'Save');
      await dialog.getByRole('alert').filter({ hasText: sentence }).waitFor();
      await expect.poll(() => dialog.getByLabel(label).getAttribute('aria-invalid')).toBe('true');
      await dialog.getByLabel(label).fill(before);
    }
    await dialog.getByText('Models: gpt-5-mini').click();
    await dialog.getByText('gpt-5-mini', { exact: true }).click();
    for (const label of ['calls per day', 'Calls at once', 'Owner']) {
      await dialog.getByLabel(label).fill('');
    }
    for (const _ of ['team', 'user']) {
      await dialog.getByRole('button', { name: 'Remove the label' }).first().click();
    }
    await press(page, 'Save');
    await page.getByText('app-mobile is changed.').waitFor();

    const found = await server.admin.keys.find('app-mobile');
    expect(found).toMatchObject({
      ...{ models: undefined, rates: undefined, maxConcurrentCalls: undefined, owner: undefined },
      ...{ metadata: {}, expiresAtMs: Date.UTC(2027, 0, 31, 7, 30) },
    });
  });

  it('of a group that no model has is flagged, in the form before it is issued', async () => {
    const { page } = await withKeys('#/keys');

    await press(page, 'Issue a key');
    await page.getByLabel('Group', { exact: true }).fill('stuff');
    await page.getByText('No model serves the group stuff.').waitFor();
    await page.getByLabel('Limit, in your currency unit').fill('1');
    await press(page, 'Issue');
    await page.getByText('curl http').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel('I have stored it').check();
    await press(page, 'Done');

    await keyList(page).getByText('no model').waitFor();
  });
});

describe('an owner', () => {
  it('is added, edited, limited, topped up, disabled, enabled and removed', async () => {
    const { server, page } = await withKeys('#/keys');
    const dialogs = page.getByRole('dialog');

    await press(page, 'Add an owner');
    await page.getByLabel('Id', { exact: true }).fill('qa');
    await page.getByLabel('Name', { exact: true }).fill('Quality');
    await page.getByLabel('The limit is for').selectOption('month');
    await page.getByLabel('Months begin on day').fill('15');
    await press(page, 'Add');
    await page.getByRole('link', { name: 'qa', exact: true }).click();
    await page.getByText('No key names this owner yet.').waitFor();
    await press(page, 'Set limit');
    await dialogs.last().getByLabel('Limit, in your currency unit').fill('50');
    await dialogs.last().getByRole('button', { name: 'Set limit' }).click();
    await page.getByText('50.00 left').waitFor();
    await press(page, 'Top up');
    await dialogs.last().getByLabel('Amount, in your currency unit').fill('10');
    await dialogs.last().getByRole('button', { name: 'Top up' }).click();
    await page.getByText('60.00 left').waitFor();
    await press(page, 'Edit');
    await page.getByText('Rate limits').click();
    await page.getByLabel('tokens per day').fill('5000');
    await press(page, 'Save');
    await page.getByText('tokens=5000/day').waitFor();
    expect(await server.admin.owners.find('qa')).toMatchObject({
      ...{ name: 'Quality', period: 'month', anchorDay: 15, limitNanos: 50n * unit },
      rates: [{ tokens: { perDay: 5_000 } }],
    });
    for (const word of ['Disable', 'Enable']) {
      await press(page, word);
      await dialogs.last().getByRole('button', { name: word }).click();
      await page.getByText(`qa is ${word.toLowerCase()}d.`).waitFor();
    }
    await press(page, 'Remove');
    await page.getByLabel('Type qa to confirm').fill('qa');
    await press(page, 'Remove for good');
    await page.getByText('qa is removed.').waitFor();

    expect((await server.admin.owners.list()).data.map(({ id }) => id)).toEqual(['platform']);
  });
});

describe('many keys', () => {
  const csv = (...rows: readonly string[]): string =>
    ['id,group,limit,period,metadata.user', ...rows, ''].join('\r\n');

  it('are issued from a file, and their secrets are offered once', async () => {
    const { server, page, complaints } = await withKeys('#/keys');

    await press(page, 'Issue many');
    const text = csv('ada,default,5,month,"Ada, A"', ',stuff,1,,');
    await page
      .getByLabel('A CSV file')
      .setInputFiles({ name: 'keys.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await page.getByText('2 keys are ready to be issued.').waitFor();
    await page.getByText('No model serves the group stuff.').waitFor();
    await page.getByLabel('Name of this batch').fill('autumn');
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Issue the keys');
    await page.getByText('2 keys were issued.').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      press(page, 'Download the secrets'),
    ]);
    const saved = readCsv(await readFile(await download.path(), 'utf8')).rows;
    const [, first, second] = saved.map(({ cells }) => cells);
    expect(download.suggestedFilename()).toBe('autumn-secrets.csv');
    expect(first?.slice(0, 3)).toEqual(['2', 'ada', 'issued']);
    expect(second?.slice(0, 3)).toEqual(['3', 'autumn-2', 'issued']);
    expect(await server.keys.find(first?.[3] ?? '')).toMatchObject({
      ...{ id: 'ada', metadata: { user: 'Ada, A' } },
    });
    await page.getByLabel('I have stored the file').check();
    await press(page, 'Done');

    await keyList(page).getByRole('link', { name: 'autumn-2' }).waitFor();
    await expect.poll(() => page.content()).not.toContain(first?.[3]);
    await expect
      .poll(() => page.evaluate('JSON.stringify([history.state, {...localStorage}])'))
      .toBe('[null,{}]');
    expect(complaints()).toEqual([]);
  });

  it('with mistakes are not issued, and all mistakes are shown by their lines', async () => {
    const { server, page } = await withKeys('#/keys');
    const before = await server.admin.keys.list();

    await press(page, 'Issue many');
    await page.getByLabel('or its text').fill(csv('ada,default,5,year,', 'bob,,x,,'));
    await page.getByText('3 problems: nothing can be issued yet.').waitFor();
    await page.getByText('Line 3 group is missing').waitFor();
    await page.getByText('Line 2 period must be one of').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Issue the keys');
    await page.getByText('Choose a file, or correct its rows').waitFor();
    await page.getByLabel('or its text').fill('group,owner\ndefault,nobody\n');
    await press(page, 'Issue the keys');
    await page.getByText('No key was issued. Correct the rows above.').waitFor();

    await page.getByText('Line 2 owner').waitFor();
    expect((await server.admin.keys.list()).data).toEqual(before.data);
  });

  it('of a batch that is repeated are issued once', async () => {
    const { page } = await withKeys('#/keys');
    for (const [count, sentence] of [
      [1, '1 key was issued.'],
      [2, '1 existed and were left as they are.'],
    ] as const) {
      await press(page, 'Issue many');
      await page.getByLabel('Name of this batch').fill('autumn');
      await page.getByLabel('or its text').fill(csv(...Array(count).fill(',default,5,,')));
      await press(page, 'Issue the keys');
      await page.getByText(sentence).waitFor();
      await page.getByLabel('I have stored the file').check();
      await press(page, 'Done');
    }

    await keyList(page).getByRole('link', { name: 'autumn-2' }).waitFor();
  });
});
