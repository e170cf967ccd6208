/** Signing in, as an operator does it: by a link that was printed. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { axeFindings, complaintsOf, startBrowser } from './browser.ts';
import { type ConsoleServer, consoleServer } from './console-host.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

async function opened(link: (server: ConsoleServer) => string) {
  const server = await consoleServer();
  const context = await browser.newContext();
  onTestFinished(async () => {
    await context.close();
    await server.close();
  });
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  const url = link(server);
  await page.goto(url);
  return { server, context, page, complaints, url };
}

const linkTo = ({ signIn, origin }: ConsoleServer) => signIn.link(`${origin}/console`);

describe('a sign-in link', () => {
  it('opens the console, and its token is left nowhere', async () => {
    const { server, context, page, complaints } = await opened(linkTo);

    await page.waitForURL(`${server.origin}/console`);
    await page.getByText('The <gateway>').first().waitFor();
    const visible = await page.evaluate('document.cookie');
    const state = await context.storageState();
    await page.goBack();

    expect(page.url()).toBe('about:blank');
    expect(visible).toBe('');
    expect(state.cookies).toMatchObject([
      { path: '/console', httpOnly: true, sameSite: 'Strict', secure: false },
    ]);
    expect(state.origins).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('says that it was used, if it is opened again by somebody else', async () => {
    const { url, page: first, server } = await opened(linkTo);
    await first.waitForURL(`${server.origin}/console`);
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();

    await page.goto(url);
    await page.getByText('This link was used before').waitFor();

    expect(await axeFindings(page)).toEqual([]);
    expect(await context.cookies()).toEqual([]);
  });
});

describe('the console without a session', () => {
  it('leads to a page that says where the link is', async () => {
    const { server, page, complaints } = await opened(({ origin }) => `${origin}/console`);

    await page.getByText('Open the link that was printed').waitFor();

    expect(page.url()).toBe(`${server.origin}/console/sign-in`);
    expect(await axeFindings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
