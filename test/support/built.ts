/** The package and the examples as `npm start` builds them, once for all test files. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';

const root = join(import.meta.dirname, '../..');
const sources = ['src', 'adapters', 'examples', 'console-page.ts', 'tsup.config.ts'];
const lock = join(root, '.build/building');
/** A build takes ten seconds. A lock that is older was left by a process that was killed. */
const abandonedMs = 120_000;

/** The built program `tollgate`. */
export const program: string = join(root, 'dist/command.js');
/** The built example of `npm start`. */
export const quickstart: string = join(root, '.build/examples/quickstart.js');

/** Builds both, unless they are newer than their sources. Other processes wait for the one. */
export async function build(): Promise<void> {
  mkdirSync(join(root, '.build'), { recursive: true });
  while (!isBuilt()) {
    if (!takesLock()) {
      await after(100);
      continue;
    }
    try {
      if (!isBuilt()) execFileSync('npm', ['run', 'prestart'], { cwd: root });
    } finally {
      rmdirSync(lock);
    }
  }
}

function takesLock(): boolean {
  if (Date.now() - (changedMs(lock) ?? Date.now()) > abandonedMs) rmdirSync(lock);
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}

/** The CommonJS files of the package are what a build writes last. */
function isBuilt(): boolean {
  const built = [quickstart, join(root, 'dist/index.cjs')].map(changedMs);
  return built.every((ms) => ms !== undefined && ms > newest());
}

function newest(): number {
  const files = sources.flatMap((name) =>
    name.endsWith('.ts')
      ? [name]
      : readdirSync(join(root, name), { recursive: true }).map((path) => join(name, String(path))),
  );
  return Math.max(...files.map((path) => changedMs(join(root, path)) ?? 0));
}

/** When a file was last written; undefined if there is none. */
function changedMs(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
