// suite: slow host
/** If the output of a command can't be written, its exit code says so, unless it was enough. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { build, program } from '../support/built.ts';
import { sqliteHost } from './serve/served.ts';

const env = { KEY: 'the-account-key' };

beforeAll(build, 60_000);

it.each([
  ['keys', 'issue', '--group', 'staff', '--limit', '5'],
  ['usage', 'calls'],
])('%s %s ends with 3 where its output is on a full disk', async (...args) => {
  const { folder } = await sqliteHost();
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', full, 'pipe'],
  });
  closeSync(full);
  let errors = '';
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  const [code] = await once(child, 'close');

  expect(code).toBe(3);
  expect(errors).toContain("standard output can't be written (ENOSPC)");
});

it.each([
  [0, '', ['schema']],
  [0, '', ['usage', 'calls']],
  [3, 'Replace the lost secret by keys rotate', ['keys', 'issue', '--group', 'g', '--limit', '5']],
] as const)('ends with %i where its reader has left: %j %j', async (code, sentence, args) => {
  const { folder } = await sqliteHost();
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  child.stdout.destroy();
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const [ended] = await once(child, 'close');

  expect(ended).toBe(code);
  expect(errors.includes("can't be written")).toBe(code !== 0);
  expect(errors).toContain(sentence);
});
