/** Signing in, as an operator does it: by a link that was printed. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { axeFindings, complaintsOf, startBrowser } from './browser/browser.ts';
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

describe('a sign-in link that is pasted into the tab of the sign-in page', () => {
  it.each([
    ['at first', 0],
    ['after a wrong one', 1],
    ['after several wrong ones', 3],
  ])('signs in %s, and its token leaves the address bar', async (_when, wrong) => {
    const { server, page } = await opened(({ origin }) => `${origin}/console`);
    await page.getByText('Open the link that was printed').waitFor();

    for (let count = 0; count < wrong; count += 1) {
      await page.goto(`${server.origin}/console/sign-in#token=wrong-${count}`);
      await page.getByText('This link was used before').waitFor();
      expect(page.url()).toBe(`${server.origin}/console/sign-in`);
    }
    await page.goto(linkTo(server));

    await page.waitForURL(`${server.origin}/console#/now?range=1h`);
    await page.getByText('The <gateway>').first().waitFor();
    await page.goBack();
    expect(page.url()).not.toContain('token');
  });
});

describe('a link to a view', () => {
  const view = '#/keys?range=24h&disabled=true';
  /** A page of another site, whose navigations send no cookie with SameSite=Strict. */
  const fromElsewhere = async (page: Page, url: string): Promise<void> => {
    await page.route('https://chat.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<a href="${url}">a view</a>` }),
    );
    await page.goto('https://chat.example/');
    await page.getByRole('link').click();
  };

  it('followed from another site opens it, where somebody is signed in', async () => {
    const { server, context, page } = await opened(linkTo);
    await page.waitForURL(`${server.origin}/console#/now?range=1h`);
    const other = await context.newPage();
    const complaints = complaintsOf(other);
    const statuses: number[] = [];
    other.on('response', (reply) => {
      if (new URL(reply.url()).pathname === '/console') statuses.push(reply.status());
    });

    await fromElsewhere(other, `${server.origin}/console${view}`);

    await other.waitForURL(`${server.origin}/console#/keys?range=24h&disabled=true`);
    // The first request came without the cookie, so it led to the sign-in page.
    expect(statuses).toEqual([303, 200, 200]);
    expect(complaints).toEqual([]);
  });

  it('is kept for after the sign-in, where nobody is signed in', async () => {
    const { server, page } = await opened(({ origin }) => `${origin}/console${view}`);
    await page.getByText('Open the link that was printed').waitFor();
    expect(page.url()).toBe(`${server.origin}/console/sign-in${view}`);

    await page.goto(linkTo(server));

    await page.waitForURL(`${server.origin}/console#/keys?range=24h&disabled=true`);
  });

  it('that has ended up in a signed-out tab is kept too', async () => {
    const { server, page } = await opened(linkTo);
    await page.waitForURL(`${server.origin}/console#/now?range=1h`);
    await page.getByRole('link', { name: 'Channels' }).click();
    await page.waitForURL(`${server.origin}/console#/channels?range=1h`);
    server.clock.advance(3_600_000 * 13);

    await page.getByRole('button', { name: 'Sign in again' }).click();
    await page.getByText('Open the link that was printed').waitFor();
    await page.goto(linkTo(server));

    await page.waitForURL(`${server.origin}/console#/channels?range=1h`);
    await page.getByText('The <gateway>').first().waitFor();
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
