/** Texts of others, wherever they are shown, are text: nothing in them runs or leads away. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallDetail, Now } from '../../src/admin/index.ts';
import { startBrowser } from './browser.ts';
import { call, detail, failingNow, models } from './fake-data.ts';
import { openedPage } from './opened-page.ts';

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

/** Every text of the figures that is not ours. */
function hostileNow(text: string): Now {
  const now = failingNow();
  return {
    ...now,
    refusals: now.refusals.map((refusal) => ({
      ...refusal,
      code: text,
      meaning: text,
      remedy: text,
    })),
    sentence: [{ text, href: text, severity: 'bad' }],
    attention: now.attention.map((entry) => ({ ...entry, text, href: text })),
  };
}

function hostileCall(text: string): CallDetail {
  const names = { keyId: text, group: text, modelId: text, channelId: text, protocol: text };
  const found = detail(call(0, { ...names, requestId: text, reservationId: text }));
  return {
    ...found,
    upstreamModel: text,
    meaning: text,
    remedy: text,
    metadata: { [text]: text },
    lines: [{ subject: text, period: text, heldNanos: 1n }],
    attempts: found.attempts.map((attempt) => ({
      ...attempt,
      channelId: text,
      meaning: text,
      remedy: text,
    })),
  };
}

describe.each(texts)('%j', (text) => {
  it('runs nothing, wherever it is shown', async () => {
    const { server, page, complaints } = await openedPage(browser, '#/now', {
      state: { now: hostileNow(text) },
    });
    const hostile = hostileCall(text);
    server.state.calls = {
      ...server.state.calls,
      list: async () => ({ data: [hostile], next: undefined, source: 'log' }),
      find: async (requestId) => ({ requestId, calls: [hostile], refusals: [] }),
    };
    server.state.channels = {
      ...server.state.channels,
      list: () =>
        models().map(({ channels }) => ({
          modelId: text,
          aliases: [text],
          channels: channels.map((channel) => ({
            ...channel,
            channelId: text,
            upstreamModel: text,
            groups: [text],
            remedy: text,
          })),
        })),
    };
    server.keys.issue({ id: 'key-1', group: text, limitNanos: 1n, metadata: { [text]: text } });

    const shown = page.getByText(text, { exact: false }).first();
    await shown.waitFor();
    for (const place of ['calls', 'channels', 'keys', 'keys/key-1']) {
      await page.goto(`${server.url}#/${place}`);
      await page.locator('main table, dialog[open] dl').first().waitFor();
      await shown.waitFor({ state: 'attached' });
    }
    await page.goto(`${server.url}#/calls/${encodeURIComponent(text)}`);
    await page.getByText('Held and charged').waitFor();

    expect(await page.evaluate('globalThis.ran')).toBeUndefined();
    expect(await page.locator('img, script:not([src]), b b, iframe, object').count()).toBe(0);
    const links = await page
      .locator('a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    expect(links.filter((href) => href !== null && !/^(?:#\/|http:\/\/127)/.test(href))).toEqual(
      [],
    );
    expect(complaints()).toEqual([]);
  });
});
