/** The states of the console when something is wrong, or not loaded yet. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Admin, AdminError } from '../../src/admin/index.ts';
import { axeFindings, startBrowser } from './browser/browser.ts';
import { openedPage } from './browser/opened-page.ts';
import type { FakeConsole } from './fakes/console.ts';
import { clause, failingNow } from './fakes/data.ts';
import { issueKeys } from './fakes/keys.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

/** Replaces the list of calls. */
function listing(server: FakeConsole, list: Admin['calls']['list']): void {
  server.state.calls = { ...server.state.calls, list };
}

const down = (): never => {
  throw new AdminError('unavailable', 'The usage log did not answer in time.');
};

describe('a panel', () => {
  it('that loads shows its form first, and after 300 ms what it loads', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    listing(server, () => new Promise(() => {}));

    await page.getByRole('link', { name: 'Calls', exact: true }).click();
    const text = page.getByText('Loading calls …');

    await text.waitFor();
    await expect
      .poll(() => text.evaluate((node) => node.parentElement?.getAttribute('role')))
      .toBe('status');
    expect(await axeFindings(page)).toEqual([]);
  });

  it('that fails says why and can be tried again, while the rest of the page works', async () => {
    const { server, page, complaints } = await openedPage(browser, '#/now');
    const { list } = server.state.calls;
    listing(server, down);

    await page.getByRole('link', { name: 'Calls', exact: true }).click();
    await page.getByText('The usage log did not answer in time.').waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await expect.poll(() => page.getByRole('searchbox').isEnabled()).toBe(true);
    expect(await axeFindings(page)).toEqual([]);
    listing(server, list);
    await page.getByRole('button', { name: 'Retry' }).click();

    await page.getByRole('link', { name: 'req_7b7691' }).waitFor();
    expect(complaints()).toEqual([]);
  });

  it('of one view fails alone: the spend is shown without its books', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    server.state.usage = { ...server.state.usage, books: down };

    await page.getByRole('link', { name: 'Spend', exact: true }).click();

    await page.getByRole('alert').getByText('The usage log did not answer in time.').waitFor();
    await page.getByRole('table', { name: 'Spend, the most expensive first' }).waitFor();
  });

  it('without calls shows how to make one', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    listing(server, async () => ({ data: [], next: undefined, source: 'log' }));

    await page.getByRole('link', { name: 'Calls', exact: true }).click();

    await page.getByText('No calls: the last hour.').waitFor();
    await expect.poll(() => page.locator('pre').textContent()).toContain('/v1/chat/completions');
    expect(await axeFindings(page)).toEqual([]);
  });
});

/** Sets the visibility by hand: in headless Chromium every page is visible. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    const document = Reflect.get(globalThis, 'document');
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
}

describe('many tabs', () => {
  it('work, because only the visible one has a stream', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    await page.getByText('live', { exact: true }).waitFor();

    for (let tab = 2; tab <= 8; tab += 1) {
      const pages = page.context().pages();
      const last = pages.at(-1);
      if (last !== undefined) await setHidden(last, true);
      await expect.poll(() => server.streams()).toBe(0);
      const next = await page.context().newPage();
      await next.goto(`${server.url}#/now`);
      await next.getByText('live', { exact: true }).waitFor();
    }
    await setHidden(page, false);
    await page.getByRole('link', { name: 'Channels', exact: true }).click();

    await page.getByText('anthropic-eu', { exact: true }).first().waitFor();
    expect(server.streams()).toBe(2);
  });

  it('that are hidden poll once a minute, so that their titles still warn', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    await page.getByText('live', { exact: true }).waitFor();
    await expect.poll(() => page.title()).toBe('Now · Acme gateway');
    await setHidden(page, true);
    await expect.poll(() => server.streams()).toBe(0);
    server.state.now = failingNow();

    await page.clock.fastForward(60_000);

    await expect.poll(() => page.title()).toMatch(/^●/);
    expect(server.streams()).toBe(0);
  });
});

describe('a request without an answer', () => {
  it('is aborted after half a minute, and can be tried again', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    const { list } = server.state.calls;
    listing(server, () => new Promise(() => {}));
    await page.getByRole('link', { name: 'Calls', exact: true }).click();
    await page.getByText('Loading calls …').waitFor();

    await page.clock.fastForward(30_000);
    await page.getByText('The gateway did not answer.').first().waitFor();
    listing(server, list);
    await page.getByRole('button', { name: 'Retry' }).click();

    await page.getByRole('link', { name: 'req_7b7691' }).waitFor();
  });

  it('that would change something says that it may have', async () => {
    const { server, page } = await openedPage(browser, '#/channels');
    const never = (): Promise<never> => new Promise(() => {});
    server.state.channels = { ...server.state.channels, disable: never };

    await page.getByRole('button', { name: 'Turn off openai-main' }).click();
    await page.getByRole('button', { name: 'Turn off', exact: true }).click();
    await page.clock.fastForward(30_000);

    await page.getByText('The change may have been made: look before you try again.').waitFor();
  });
});

describe('the connection', () => {
  it('is stale while the gateway is gone, and says since when', async () => {
    const { server, page, complaints } = await openedPage(browser, '#/now');
    await page.getByText('All is well.').waitFor();

    server.down();
    await page.getByText('stale since 09:30:').waitFor();
    await expect.poll(() => page.locator('body.stale').count()).toBe(1);
    await expect.poll(() => page.getByText('All is well.').isVisible()).toBe(true);
    await page.clock.runFor(42_000);
    await page.getByText('(42 s)').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    server.up();
    await page.clock.runFor(10_000);

    await page.getByText('live', { exact: true }).waitFor();
    await expect.poll(() => page.locator('body.stale').count()).toBe(0);
    expect(complaints()).toEqual([]);
  });

  it('brings new figures as the gateway sends them', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    await page.getByText('All is well.').waitFor();
    const text = 'Channel openai-main is out.';

    server.state.now = { ...server.state.now, sentence: [clause('channel', text)] };
    server.clock.advance(2_000);

    await page.getByRole('link', { name: text }).waitFor();
    await expect.poll(() => page.title()).toBe('▲ Now · Acme gateway');
  });

  it('that was never made can be tried again', async () => {
    const { page } = await openedPage(browser, '#/now');
    await page.route('**/api/session', (route) => route.abort());

    await page.reload();
    await page.getByText('The gateway did not answer.').waitFor();
    await page.unroute('**/api/session');
    await page.getByRole('button', { name: 'Retry' }).click();

    await page.getByText('All is well.').waitFor();
  });
});

describe('an operator', () => {
  it('who is signed out meanwhile sees nothing more', async () => {
    const { server, page, complaints } = await openedPage(browser, '#/calls');
    await page.getByRole('link', { name: 'req_7b7691' }).waitFor();

    server.state.access = undefined;
    await page.getByRole('link', { name: 'req_7b7691' }).click();

    await page.getByRole('heading', { name: 'Signed out' }).waitFor();
    await page.getByText('signed out', { exact: true }).waitFor();
    await expect.poll(() => page.getByText('req_7b7691').count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
    expect(complaints()).toEqual([]);
  });

  it('whose session ends while the page only watches is told by the stream', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    await page.getByText('All is well.').waitFor();

    server.state.access = undefined;
    server.clock.advance(62_000);

    await page.getByRole('heading', { name: 'Signed out' }).waitFor();
  });

  it('who may only read finds no action anywhere', async () => {
    const access = { actor: 'eve', can: 'read' } as const;
    const { server, page } = await openedPage(browser, '#/now', { state: { access } });
    await issueKeys(server);

    await page.getByText('read only').waitFor();
    for (const place of ['keys', 'keys/app-web', 'channels', 'calls/req_7b19c4', 'spend']) {
      await page.goto(`${server.url}#/${place}`);
      const shown = place.startsWith('calls') ? 'Did this call run?' : undefined;
      if (place === 'keys/app-web') await page.getByText('20.00 left').waitFor();
      if (place === 'channels') await page.getByText('every channel is out').waitFor();
      if (shown !== undefined) await page.getByText(shown).waitFor();
      const actions = /^(?:Issue|Top up|Set|Rotate|Disable|Enable|Remove|Edit|Turn|It )/;
      await expect.poll(() => page.getByRole('button', { name: actions }).count()).toBe(0);
      await page.keyboard.press('Escape');
    }
  });
});

describe('ten thousand keys', () => {
  it('come in pages of a hundred, and are found by a search', async () => {
    const { server, page } = await openedPage(browser, '#/now');
    for (let index = 0; index < 10_000; index += 1) {
      server.keys.issue({
        id: `key-${String(index).padStart(5, '0')}`,
        group: 'many',
        limitNanos: 1n,
      });
    }

    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    const rows = page.locator('tbody tr');
    await page.getByRole('link', { name: 'key-00000' }).waitFor();
    await expect.poll(() => rows.count()).toBe(100);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('link', { name: 'key-00100' }).waitFor();
    await expect.poll(() => rows.count()).toBe(100);
    await page.getByText('page 2').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('key-0912');
    await page.keyboard.press('Enter');

    await page.getByRole('link', { name: 'key-09129' }).waitFor();
    await expect.poll(() => rows.count()).toBe(10);
    await expect.poll(() => page.getByRole('button', { name: 'Next' }).count()).toBe(0);
  });
});
