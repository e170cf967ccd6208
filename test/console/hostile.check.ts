/** Untrusted texts are shown as text everywhere: nothing in them runs or opens another page. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from './browser/browser.ts';
import { openedPage } from './browser/opened-page.ts';
import { hostileNow, placeText } from './fakes/texts-of-others.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

const texts = [
  '<img src=x onerror="globalThis.ran=1">',
  '"><script>globalThis.ran=1</script>',
  "' onmouseover='globalThis.ran=1' x='",
  'javascript:globalThis.ran=1',
  '</textarea><svg/onload=globalThis.ran=1>',
  '{{constructor.constructor("globalThis.ran=1")()}}',
  '\u202e%0a<b>bold</b>',
] as const;

describe.each(texts)('%j', (text) => {
  it('runs nothing, wherever it is shown', async () => {
    const { server, page, complaints } = await openedPage(browser, '#/now', {
      state: { now: hostileNow(text) },
    });
    placeText(server, text);

    // The list of calls leaves out the middle of a long id, which its title has in full.
    const shown = page.getByText(text, { exact: false }).or(page.getByTitle(text)).first();
    await page.getByText(text, { exact: false }).first().waitFor();
    for (const place of ['calls', 'channels', 'keys', 'keys/key-1']) {
      await page.goto(`${server.url}#/${place}`);
      await page.locator('main table, dialog[open] dl').first().waitFor();
      await shown.waitFor({ state: 'attached' });
    }
    await page.goto(`${server.url}#/calls/${encodeURIComponent(text)}`);
    await page.getByText('Held and charged').waitFor();

    await expect.poll(() => page.evaluate('globalThis.ran')).toBeUndefined();
    await expect
      .poll(() => page.locator('img, script:not([src]), b b, iframe, object').count())
      .toBe(0);
    const links = await page
      .locator('a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    expect(links.filter((href) => href !== null && !/^(?:#\/|http:\/\/127)/.test(href))).toEqual(
      [],
    );
    expect(complaints()).toEqual([]);
  });
});
