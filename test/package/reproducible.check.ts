/**
 * Whoever packs a commit gets the same bytes: the build of this folder, against a copy that is
 * built in another folder, at another time, in another time zone, with another umask.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const repo = fileURLToPath(new URL('../../', import.meta.url));

it('npm pack is reproducible byte for byte', { timeout: 600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-packed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const copy = join(folder, 'another', 'clone');
  copyOfRepo(copy);

  const here = packed(repo, 'umask 022; npm pack --ignore-scripts');
  const there = packed(copy, 'umask 077; chmod -R go-rwx .; TZ=Pacific/Auckland npm pack');

  expect(there).toBe(here);

  /** The digest of the tarball that the command packs in the folder. */
  function packed(cwd: string, command: string): string {
    const destination = mkdtempSync(join(folder, 'tarball-'));
    const shell = ['-c', `${command} --loglevel=error --pack-destination=${destination}`];
    const { status, stderr } = spawnSync('sh', shell, { cwd, encoding: 'utf8' });
    expect([status, status === 0 || stderr]).toEqual([0, true]);
    const [name = ''] = readdirSync(destination);
    return createHash('sha512')
      .update(readFileSync(join(destination, name)))
      .digest('hex');
  }
});

/** What git ignores, and git itself. */
const left = new Set(['.git', 'node_modules', 'dist', '.build', 'coverage', '.data']);

function copyOfRepo(copy: string): void {
  cpSync(repo, copy, { recursive: true, filter: (path) => !left.has(basename(path)) });
  symlinkSync(join(repo, 'node_modules'), join(copy, 'node_modules'));
}
