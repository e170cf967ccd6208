/** Chromium without a window, and what its pages do wrong. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Starts the Chromium that is installed on this machine. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    // Chromium's sandbox does not work for root, which is the user in many containers.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
}

/** What axe-core finds in the page, as sentences with the elements. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  // Run through the debugger, to which the page's content security policy does not apply.
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await Reflect.get(globalThis, 'axe').run();
    return violations.map(
      (found: { readonly help: string; readonly nodes: readonly { readonly html: string }[] }) =>
        `${found.help}: ${found.nodes.map(({ html }) => html).join(' ')}`,
    );
  });
}

/** A page's errors, and the warnings and errors that the browser reports. */
export function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return complaints;
}

function chromiumPath(): string {
  const folders = (process.env.PATH ?? '').split(':');
  const paths = folders.flatMap((folder) =>
    ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)),
  );
  const found = paths.find(isExecutable);
  if (found !== undefined) return found;
  throw new Error('There is no Chromium in the PATH. Install it, as Debian’s package chromium.');
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
