/** What an operator does in the console, and what the admin library does then. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Admin } from '../../src/admin/index.ts';
import { axeFindings, startBrowser } from './browser/browser.ts';
import { type OpenedPage, openedPage } from './browser/opened-page.ts';
import type { FakeConsole } from './fakes/console.ts';
import { call } from './fakes/data.ts';
import { issueKeys } from './fakes/keys.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

const unit = 1_000_000_000n;

/** A place where the keys of the fake gateway exist. */
async function withKeys(place: string): Promise<OpenedPage> {
  const opened = await openedPage(browser, '#/now');
  await issueKeys(opened.server);
  await opened.page.goto(`${opened.server.url}${place}`);
  return opened;
}

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();

/** Records the calls of the methods of a part of the library. */
function recording<Part extends keyof Admin & ('channels' | 'calls')>(
  server: FakeConsole,
  part: Part,
  method: string,
  reply: unknown,
): readonly (readonly unknown[])[] {
  const calls: (readonly unknown[])[] = [];
  const recorded = async (...input: readonly unknown[]): Promise<unknown> => {
    calls.push(input);
    return reply;
  };
  server.state[part] = { ...server.state[part], [method]: recorded };
  return calls;
}

describe('a key', () => {
  it('is issued, and its secret is shown once, until the operator has stored it', async () => {
    const { server, page, complaints } = await withKeys('#/keys');

    await press(page, 'Issue a key');
    await page.getByLabel('Id', { exact: true }).fill('new-team');
    await page.getByLabel('Limit, in your currency unit').fill('25.50');
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Issue');
    const secret = (await page.getByLabel('Secret', { exact: true }).textContent()) ?? '';
    expect(await server.keys.find(secret)).toMatchObject({ id: 'new-team', group: 'default' });
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Copy');
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(secret);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByLabel('Secret', { exact: true }).isVisible()).toBe(true);
    await expect.poll(() => page.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true);
    await page.getByLabel('I have stored it').check();
    await press(page, 'Done');

    await page.getByRole('link', { name: 'new-team' }).waitFor();
    await expect.poll(() => page.content()).not.toContain(secret);
    expect(page.url()).not.toContain(secret);
    await expect
      .poll(() => page.evaluate('JSON.stringify([history.state, {...localStorage}])'))
      .toBe('[null,{}]');
    const { balances } = await server.admin.keys.find('new-team');
    expect(balances).toMatchObject([{ limitNanos: 25_500_000_000n, period: 'month' }]);
    expect(complaints()).toEqual([]);
  });

  it('that can’t be issued says which field is wrong', async () => {
    const { page } = await withKeys('#/keys');

    await press(page, 'Issue a key');
    for (const written of ['much', '-5', '0,50']) {
      await page.getByLabel('Limit, in your currency unit').fill(written);
      await press(page, 'Issue');
      await page.getByText('Write the limit as a number').waitFor();
    }
    await expect.poll(() => page.locator(':focus').getAttribute('name')).toBe('limitNanos');
    await page.getByLabel('Limit, in your currency unit').fill('1');
    await page.getByLabel('Id', { exact: true }).fill('app-web');
    await press(page, 'Issue');
    await page.getByText('The id "app-web" is taken.').waitFor();

    await expect.poll(() => page.locator(':focus').getAttribute('name')).toBe('id');
    expect(await axeFindings(page)).toEqual([]);
  });

  it.each([
    ['Set limit', 'Limit, in your currency unit', 'limitNanos'],
    ['Top up', 'Amount, in your currency unit', 'amountNanos'],
  ])('refuses a comma under “%s”, and shows the amount that it has parsed', async (...form) => {
    const [action, label, name] = form;
    const { server, page } = await withKeys('#/keys/partner-eu');
    const before = await server.admin.keys.find('partner-eu');

    await press(page, action);
    const dialog = page.getByRole('dialog').filter({ has: page.getByLabel(label) });
    for (const written of ['0,50', '1,500', '1.000,50', ',5', '5,']) {
      await page.getByLabel(label).fill(written);
      await dialog.getByRole('button', { name: action }).click();
      await dialog.getByText('with a point and without commas').waitFor();
      await expect.poll(() => dialog.getByText('That is').count()).toBe(0);
      await expect.poll(() => page.locator(':focus').getAttribute('name')).toBe(name);
    }
    expect(await server.admin.keys.find('partner-eu')).toEqual(before);
    await page.getByLabel(label).fill('1500.5');

    await dialog.getByText('That is 1,500.50.').waitFor();
  });

  it('is topped up once for a reference, however often it is sent', async () => {
    const { server, page } = await withKeys('#/keys/app-web');
    const dialog = page.getByRole('dialog', { name: 'Top up app-web' });

    for (const left of ['50.00 left', '50.00 left']) {
      await press(page, 'Top up');
      await dialog.getByLabel('Amount, in your currency unit').fill('30');
      await dialog.getByLabel('Reference').fill('INV-7');
      await dialog.getByRole('button', { name: 'Top up' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText(left).waitFor();
    }

    await page.getByText('30.00 was added to app-web.').waitFor();
    await page.getByText('INV-7 was counted before: nothing was added.').waitFor();
    const { balances } = await server.admin.keys.find('app-web');
    expect(balances).toMatchObject([{ extraNanos: 30n * unit }]);
    expect(server.audited().slice(-2)).toEqual([
      'done key.top_up app-web',
      'done key.top_up app-web',
    ]);
  });

  it('gets another limit', async () => {
    const { server, page } = await withKeys('#/keys/partner-eu');

    await press(page, 'Set limit');
    await expect
      .poll(() => page.getByLabel('Limit, in your currency unit').inputValue())
      .toBe('500');
    await page.getByLabel('Limit, in your currency unit').fill('800');
    await page
      .getByRole('dialog', { name: 'Set the limit' })
      .getByRole('button', { name: 'Set limit' })
      .click();

    await page.getByText('300.00 left').waitFor();
    expect(server.audited().at(-1)).toBe('done key.limit partner-eu');
  });

  it('is disabled and enabled after a confirmation, and the focus comes back', async () => {
    const { server, page } = await withKeys('#/keys/app-web');

    await press(page, 'Disable');
    await page.getByText('others may accept the key').waitFor();
    await page
      .getByRole('dialog', { name: 'Disable' })
      .getByRole('button', { name: 'Cancel' })
      .click();
    expect(server.audited()).not.toContain('done key.disable app-web');
    await press(page, 'Disable');
    await page
      .getByRole('dialog', { name: 'Disable' })
      .getByRole('button', { name: 'Disable' })
      .click();
    await page.getByText('app-web is disabled.').waitFor();
    await press(page, 'Enable');
    await page
      .getByRole('dialog', { name: 'Enable' })
      .getByRole('button', { name: 'Enable' })
      .click();

    await page.getByText('app-web is enabled.').waitFor();
    await page.getByRole('button', { name: 'Disable', exact: true }).waitFor();
    expect(server.audited().slice(-2)).toEqual([
      'done key.disable app-web',
      'done key.enable app-web',
    ]);
  });

  it('is rotated, and its old secret ends', async () => {
    const { server, page } = await withKeys('#/keys/app-web');

    await press(page, 'Rotate');
    await page.getByLabel('The old secret stays valid').selectOption('0');
    await press(page, 'Issue the new secret');
    const secret = (await page.getByLabel('Secret', { exact: true }).textContent()) ?? '';

    expect((await server.keys.find(secret))?.quota).toMatchObject([{ id: 'app-web' }]);
    expect((await server.admin.keys.find('app-web')).expiresAtMs).toBe(server.clock.now());
  });

  it('is removed only after its id was typed', async () => {
    const { server, page } = await withKeys('#/keys/qa-old');

    await press(page, 'Remove');
    await page.getByLabel('Type qa-old to confirm').fill('qa');
    await press(page, 'Remove for good');
    await page.getByText('This is not qa-old.').waitFor();
    await page.getByLabel('Type qa-old to confirm').fill('qa-old');
    await press(page, 'Remove for good');

    await page.getByText('qa-old is removed.').waitFor();
    await page.waitForURL('**#/keys?range=1h');
    expect(server.audited().at(-1)).toBe('done key.remove qa-old');
  });
});

describe('a channel', () => {
  it.each([
    ['in this process', 'process'],
    ['in all replicas', 'everywhere'],
  ] as const)('is turned off %s', async (label, where) => {
    const capabilities = { switchEverywhere: where === 'everywhere' };
    const { server, page } = await openedPage(browser, '#/channels', { state: { capabilities } });
    const calls = recording(server, 'channels', 'disable', { channelId: 'openai-main', where });

    await press(page, 'Turn off openai-main');
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Turn off');

    await page.getByText(`openai-main is off ${label}.`).waitFor();
    expect(calls).toEqual([['ada@acme.example', 'openai-main']]);
  });

  it('that is out is tested, and turned on with one more click', async () => {
    const { server, page, complaints } = await openedPage(browser, '#/channels?by=account');
    const enabled = { channelId: 'anthropic-us', where: 'everywhere' };
    const calls = recording(server, 'channels', 'enable', enabled);

    await press(page, 'Test anthropic-us');
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Send a call');
    await page.getByText('It works').waitFor();
    await page.getByText('812 ms').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Turn it on');

    await page.getByText('anthropic-us is on in all replicas.').waitFor();
    expect(calls).toEqual([['ada@acme.example', 'anthropic-us']]);
    expect(complaints()).toEqual([]);
  });

  it('gets only the changes that were made', async () => {
    const { server, page } = await openedPage(browser, '#/channels');
    const changed = { channelId: 'openai-main', before: [] };
    const weights = recording(server, 'channels', 'setWeight', changed);
    const priorities = recording(server, 'channels', 'setPriority', changed);
    const costs = recording(server, 'channels', 'setCost', changed);

    await press(page, 'Edit openai-main of gpt-5-mini');
    await page.getByLabel('Weight').fill('5');
    await page.getByLabel('Your cost').selectOption('set');
    await page.getByLabel('Input', { exact: true }).fill('0.15');
    await page.getByLabel('Output').fill('0.60');
    expect(await axeFindings(page)).toEqual([]);
    await press(page, 'Change everywhere');

    await page.getByText('Changed weight and cost of openai-main for gpt-5-mini.').waitFor();
    await press(page, 'Edit openai-main of gpt-5-mini');
    await page.getByLabel('Your cost').selectOption('reported');
    await expect.poll(() => page.getByLabel('Input', { exact: true }).isVisible()).toBe(false);
    await press(page, 'Change everywhere');
    await page.getByText('Changed cost of openai-main for gpt-5-mini.').waitFor();
    const who = ['ada@acme.example', 'openai-main'];
    expect(weights).toEqual([[...who, { weight: 5, modelId: 'gpt-5-mini' }]]);
    expect(priorities).toEqual([]);
    const rates = { input: 150_000_000n, output: 600_000_000n };
    expect(costs).toEqual([
      [...who, { cost: { per: 'token', rates }, modelId: 'gpt-5-mini' }],
      [...who, { cost: 'reported', modelId: 'gpt-5-mini' }],
    ]);
  });

  it('of one model is found by the link in the sentence about the state', async () => {
    const { page } = await openedPage(browser, '#/channels?model=claude-opus-4');

    await page.getByText('anthropic-eu', { exact: true }).waitFor();

    await expect.poll(() => page.locator('.models table').count()).toBe(1);
  });
});

describe('a call', () => {
  it.each([
    ['It ran: charge it', '0.04', { ran: true, chargeNanos: 40_000_000n }],
    ['It ran: charge it', '', { ran: true }],
    ['It did not run: release', '', { ran: false }],
  ] as const)('in doubt is ended by “%s” with “%s”', async (button, charge, resolution) => {
    const { server, page } = await openedPage(browser, `#/calls/${call(0).requestId}`);
    const calls = recording(server, 'calls', 'resolve', { status: 'settled' });

    await page.getByLabel('Charge, if it ran').fill(charge);
    await press(page, button);

    await page
      .getByRole('status')
      .getByText(/The call was charged|The hold was released/)
      .waitFor();
    const { requestId, reservationId } = call(0);
    expect(calls).toEqual([['ada@acme.example', requestId, { ...resolution, reservationId }]]);
  });

  it('in doubt is not charged an amount with a comma', async () => {
    const { server, page } = await openedPage(browser, `#/calls/${call(0).requestId}`);
    const calls = recording(server, 'calls', 'resolve', { status: 'settled' });

    await page.getByLabel('Charge, if it ran').fill('0,04');
    await press(page, 'It ran: charge it');

    await page.getByText('Write the charge as a number').waitFor();
    expect(calls).toEqual([]);
  });

  it('is found by its id from everywhere with /, and the focus comes back', async () => {
    const { page } = await openedPage(browser, '#/now');
    await page.getByText('All is well.').waitFor();

    await page.keyboard.press('/');
    await page.getByRole('searchbox').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(call(5).requestId);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Request' }).getByText('2 attempts').waitFor();
    await page.waitForURL(`**#/calls/${call(5).requestId}?range=1h`);
    await page.keyboard.press('Escape');

    await page.waitForURL('**#/calls?range=1h');
    await page.getByRole('searchbox').and(page.locator(':focus')).waitFor();
  });

  it('is on the page that the next button loads, and a filter goes to the first page', async () => {
    const { page } = await openedPage(browser, '#/calls');

    await press(page, 'Next');
    await page.getByRole('link', { name: call(41).requestId }).waitFor();
    await press(page, 'Previous');
    await page.getByRole('link', { name: call(0).requestId }).waitFor();
    await page.getByLabel('Outcome').selectOption('truncated');

    await page.waitForURL('**#/calls?range=1h&outcome=truncated');
    await page.getByText('upstream overloaded').waitFor();
    await expect.poll(() => page.locator('tbody tr.opens').count()).toBe(1);
  });
});

describe('the page', () => {
  it('keeps the range in the URL through every view', async () => {
    const { page } = await openedPage(browser, '#/now');

    await page.getByRole('link', { name: '24h' }).click();
    await page.getByText('Requests per hour').waitFor();
    await page.getByRole('link', { name: 'Spend', exact: true }).click();

    await page.waitForURL('**#/spend?range=24h');
    await page.getByText('2026-11-22 09:30 to 2026-11-23 09:30 UTC').waitFor();
  });

  it('shows the numbers of each chart as a table', async () => {
    const { server, page } = await openedPage(browser, '#/now');

    await press(page, 'As a table');

    const table = page.getByRole('table', { name: 'Requests by outcome' });
    await expect.poll(() => table.getByRole('row').count()).toBe(61);
    const [last] = server.state.now.buckets.slice(-1);
    const cells = await table.getByRole('row').nth(1).getByRole('cell').allTextContents();
    expect(cells).toEqual([last?.complete, last?.refused, last?.failed, last?.left].map(String));
  });

  it('groups the spend by two names, as CSV too, and shows where the books differ', async () => {
    const { page } = await openedPage(browser, '#/spend');

    await page.getByLabel('then by', { exact: true }).selectOption('key');
    await page.waitForURL('**#/spend?range=1h&by=model&second=key');
    await page.getByRole('cell', { name: 'team-search' }).first().waitFor();
    const csv = await page.getByRole('link', { name: 'CSV' }).getAttribute('href');
    expect(new URL(csv ?? '').searchParams.get('by')).toBe('model,key');

    await page.getByText('In no record:').waitFor();
    const books = page.getByRole('table', { name: 'Where the usage log' });
    await expect
      .poll(() => books.getByRole('cell').allTextContents())
      .toEqual(['team-search', 'default', '812.04', '812.00', '1.20', '0.041']);
  });
});
