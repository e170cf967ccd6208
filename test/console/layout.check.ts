/** The page fits its window and nothing covers its header, however long the names in it are. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from './browser/browser.ts';
import { openedPage } from './browser/opened-page.ts';
import { wellNow } from './fakes/data.ts';
import { hostileNow, placeText } from './fakes/texts-of-others.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

const names = {
  short: 'Acme',
  'of several words': 'Acme Payments – Production EU',
  long: 'Acme Payments – Production EU, all regions and both of the clusters',
  'as the gateway makes them': 'V1StGXR8_Z5jdHi6B3myTQ',
  'of 256 characters without a break': 'x'.repeat(256),
};
const widths = [360, 719, 721, 900, 1_024, 1_119, 1_121, 1_180, 1_240, 1_280, 1_600];

interface Box {
  readonly name: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The parts of the header that overlap, and the elements whose text leaves their box. */
async function headerFaults(page: Page): Promise<readonly string[]> {
  const boxes = await page
    .locator('.brand, .tabs, .ranges, .connection, .person')
    .evaluateAll((parts): Box[] =>
      parts.map((part) => {
        const { left, right, top, bottom } = part.getBoundingClientRect();
        return { name: part.className, left, right, top, bottom };
      }),
    );
  const overlaps = boxes.flatMap((one, index) =>
    boxes
      .slice(index + 1)
      .filter((other) => overlap(one, other))
      .map((other) => `${one.name} and ${other.name} overlap`),
  );
  const cut = await page.locator('header.top *').evaluateAll((nodes): string[] => {
    const styleOf = Reflect.get(globalThis, 'getComputedStyle');
    return nodes
      .filter((node) => {
        const { overflowX, display } = styleOf(node);
        const isWider = node.clientWidth > 1 && node.scrollWidth > node.clientWidth + 1;
        return isWider && overflowX === 'visible' && display !== 'inline';
      })
      .map((node) => `${node.className} is wider than its box`);
  });
  return [...overlaps, ...cut];
}

function overlap(one: Box, other: Box): boolean {
  const isBeside = one.right <= other.left + 1 || other.right <= one.left + 1;
  const isAbove = one.bottom <= other.top + 1 || other.bottom <= one.top + 1;
  return !isBeside && !isAbove;
}

describe.each(Object.entries(names))('with names that are %s', (_kind, name) => {
  it('no view scrolls sideways, and the header is in order at every width', async () => {
    const access = { actor: name, can: 'manage' } as const;
    const { server, page } = await openedPage(browser, '#/now', {
      state: { title: name, access, now: hostileNow(name) },
    });
    placeText(server, name);
    const faults: string[] = [];

    for (const place of [
      'now',
      'calls',
      'spend',
      'keys',
      'keys/key-1',
      'channels',
      'models',
      'audit',
      'calls/x',
    ]) {
      await page.goto(`${server.url}#/${place}`);
      await page.locator('main table:visible, dialog[open] dl').first().waitFor();
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        const wide = Number(await page.evaluate('document.documentElement.scrollWidth'));
        if (wide > width) faults.push(`${place} at ${width}: ${wide} wide`);
        const cut = await page
          .locator('.view-calls .table-place')
          .evaluateAll((tables) => tables.filter((one) => one.scrollWidth > one.clientWidth));
        if (width >= 1_024 && cut.length > 0) faults.push(`${place} at ${width}: a cut table`);
        const found = await headerFaults(page);
        faults.push(...found.map((fault) => `${place} at ${width}: ${fault}`));
      }
    }

    expect(faults).toEqual([]);
  });
});

it('the ranges have room on a phone, however short the name of the process is', async () => {
  const now = wellNow();
  const replica = { ...now.replica, host: 'vm', isShared: false };
  const { page } = await openedPage(browser, '#/now', {
    state: { title: 'Acme', now: { ...now, replica } },
    look: 'phone',
  });
  await page.getByText('vm, 0.1.0').waitFor();

  for (const width of [360, 390, 430, 600]) {
    await page.setViewportSize({ width, height: 800 });
    const links = await page.locator('.range-links').boundingBox();
    expect(links?.width).toBeGreaterThan(180);
  }
});
