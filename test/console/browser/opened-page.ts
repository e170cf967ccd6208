/** A page of the fake console in Chromium, with a clock of the test, and the page's errors. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { type FakeConsole, type FakeState, fakeConsole } from '../fakes/console.ts';
import { nowMs } from '../fakes/data.ts';
import { complaintsOf } from './browser.ts';

/** A page that shows a place of the console. */
export interface OpenedPage {
  readonly server: FakeConsole;
  readonly page: Page;
  /** Errors, and what the content security policy stopped. */
  complaints(): readonly string[];
}

interface Look extends BrowserContextOptions {
  readonly viewport: { readonly width: number; readonly height: number };
}

/** The sizes and colours in which the console is looked at. */
export const looks: Readonly<Record<'light' | 'dark' | 'phone', Look>> = {
  light: { viewport: { width: 1280, height: 800 } },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true },
};

/** Opens a view, such as `#/calls`, of a console with this state. */
export async function openedPage(
  browser: Browser,
  place: string,
  {
    state = {},
    look = 'light',
  }: { readonly state?: Partial<FakeState>; readonly look?: keyof typeof looks } = {},
): Promise<OpenedPage> {
  const server = await fakeConsole(state);
  const context = await browser.newContext({
    ...looks[look],
    timezoneId: 'UTC',
    locale: 'en-GB',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  onTestFinished(async () => {
    await context.close();
    await server.close();
  });
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  await page.clock.install({ time: nowMs });
  await page.goto(`${server.url}${place}`);
  return {
    server,
    page,
    // The browser also logs every reply that is an error, which the page shows itself.
    complaints: () => complaints.filter((text) => !text.startsWith('Failed to load resource')),
  };
}
