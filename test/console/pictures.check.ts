/**
 * The pictures of the console in README and docs. `WRITE_PICTURES=1` draws them again; otherwise
 * this checks that each is there, small, and shown on a page.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startBrowser } from './browser/browser.ts';
import { type looks, openedPage } from './browser/opened-page.ts';
import { palettePng } from './browser/palette-png.ts';
import type { FakeState } from './fakes/console.ts';
import { call, failingNow } from './fakes/data.ts';
import { issueKeys } from './fakes/keys.ts';

interface Picture {
  readonly name: string;
  readonly place: string;
  /** The last text that appears. */
  readonly shows: string;
  readonly look: keyof typeof looks;
  readonly state?: Partial<FakeState>;
}

const pictures: readonly Picture[] = [
  { name: 'now', place: '#/now', shows: 'Nothing needs a person.', look: 'light' },
  { name: 'dark', place: '#/now', shows: 'Nothing needs a person.', look: 'dark' },
  {
    name: 'failing',
    place: '#/now',
    shows: 'usage.record: timeout',
    look: 'light',
    state: { now: failingNow() },
  },
  {
    name: 'phone',
    place: '#/now',
    shows: 'Every channel of claude-opus-4 is out.',
    look: 'phone',
    state: { now: failingNow() },
  },
  { name: 'call', place: `#/calls/${call(1).requestId}`, shows: 'autocomplete', look: 'light' },
  { name: 'keys', place: '#/keys', shows: 'nearly out', look: 'light' },
];
const maxBytes = 150_000;
const folder = fileURLToPath(new URL('../../docs/pictures', import.meta.url));
const pages = ['README.md', 'docs/console.md'].map((path) =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8'),
);

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

it.each(pictures)('$name is there, small, and shown on a page', async (picture) => {
  const path = `${folder}/${picture.name}.png`;
  const shot = await screenshot(picture);
  if (process.env.WRITE_PICTURES === '1') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, shot);
  }

  const found = readFileSync(path);
  expect(found.subarray(1, 4).toString()).toBe('PNG');
  expect(found.length).toBeLessThan(maxBytes);
  // The same size in pixels: otherwise the page no longer looks like its picture.
  expect(found.readBigUInt64BE(16)).toBe(shot.readBigUInt64BE(16));
  expect(pages.some((page) => page.includes(`pictures/${picture.name}.png`))).toBe(true);
});

async function screenshot({ place, shows, look, state = {} }: Picture): Promise<Buffer> {
  const { server, page } = await openedPage(browser, '#/spend', { state, look });
  await issueKeys(server);
  await page.getByText('live', { exact: true }).waitFor();
  await page.goto(`${server.url}${place}`);
  await page.getByText(shows).first().waitFor();
  // Charts are drawn when their size is known.
  if (place === '#/now') await page.locator('.chart .plot').waitFor();
  // No element has the focus in a picture.
  await page.evaluate('document.activeElement?.blur()');
  await page.clock.runFor(100);
  return palettePng(await page.screenshot({ animations: 'disabled' }));
}
