/** A host's folder: the packed package, installed together with what the host has. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const repo = fileURLToPath(new URL('../../', import.meta.url));

const packed = z.tuple([
  z.object({
    filename: z.string(),
    size: z.number(),
    files: z.array(z.object({ path: z.string() })),
  }),
]);

/** What a host has besides the package. */
export interface Host {
  /** Packages by name, as in a manifest. */
  readonly packages?: Readonly<Record<string, string>>;
  /** Files and folders of this repo that are copied into the host's folder, by their name there. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A host's folder, created for one run. */
export interface Consumer {
  readonly folder: string;
  /** The files in the tarball, sorted. */
  readonly files: readonly string[];
  /** The size of the tarball in bytes. */
  readonly tarballBytes: number;
  /** The installed packages that a host needs in production, including Tollgate, sorted. */
  installed(): readonly string[];
  /** Runs a program in the folder; returns its output, or throws an error with it. */
  run(program: string, ...args: readonly string[]): string;
  /** Writes a file of the folder. */
  write(name: string, text: string): void;
  /** Reads a file of the folder. */
  read(name: string): string;
  remove(): void;
}

/** Packs the built package, without building it again, and installs it. */
export function installPacked(host: Host = {}): Consumer {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-consumer-'));
  const [{ filename, size, files }] = packed.parse(
    JSON.parse(
      run(repo, 'npm', ['pack', '--json', '--ignore-scripts', `--pack-destination=${folder}`]),
    ),
  );
  const manifest = {
    name: 'host',
    private: true,
    dependencies: { tollgate: `file:${filename}` },
    devDependencies: host.packages ?? {},
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  for (const [name, source] of Object.entries(host.files ?? {})) {
    cpSync(join(repo, source), join(folder, name), { recursive: true });
  }
  // NestJS 12 is for Node 20, but some of its own dependencies name a later version.
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-engine-strict'];
  run(folder, 'npm', ['install', ...options]);

  return {
    folder,
    files: files.map(({ path }) => path).sort(),
    tarballBytes: size,
    installed: () =>
      run(folder, 'npm', ['ls', '--omit=dev', '--all', '--parseable'])
        .split('\n')
        .flatMap((path) => path.split('node_modules/').slice(1).slice(-1))
        .sort(),
    run: (program, ...args) => run(folder, program, args),
    write: (name, text) => writeFileSync(join(folder, name), text),
    read: (name) => readFileSync(join(folder, name), 'utf8'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Without what Vitest sets for the tests of this repo. */
const { VITEST: _, ...environment } = process.env;
const hostEnvironment = { ...environment, NO_COLOR: '1' };

function run(folder: string, program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: folder,
    env: hostEnvironment,
    encoding: 'utf8',
  });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}\n${stderr}`);
}
