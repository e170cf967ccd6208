/** Prints how long each of the worst bodies blocks the event loop in one section. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { childScript } from '../support/child-script.ts';

it('prints the longest section of each body', async () => {
  const script = await childScript(join(import.meta.dirname, 'measure.ts'));

  const running = promisify(execFile)(process.execPath, ['--expose-gc', script]);
  running.child.stdout?.pipe(process.stdout);
  const { stdout } = await running;

  expect(stdout).toMatch(/\n\d+ bodies were measured\n$/);
});
