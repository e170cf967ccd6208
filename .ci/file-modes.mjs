/**
 * Gives the files of the package the modes that they have with umask 022: npm packs modes as they
 * are, and the tarball must not depend on who packs it. Runs as the end of `prepack`.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';

const list = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts']);
const [{ files }] = JSON.parse(String(list));
for (const { path, mode } of files) chmodSync(path, mode & 0o100 ? 0o755 : 0o644);
