/** A host's folder: the packed package, installed together with compilers and Node's types only. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const repo = fileURLToPath(new URL('../../', import.meta.url));

/** The compilers a host may have, as package aliases: the oldest we support up to the newest. */
export const compilers: Readonly<Record<string, string>> = {
  'typescript-5.4': 'npm:typescript@5.4.5',
  'typescript-5.9': 'npm:typescript@5.9.3',
  'typescript-6.0': 'npm:typescript@6.0.3',
  'typescript-7.0': 'npm:typescript@7.0.2',
};

const packed = z.tuple([
  z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) }),
]);

/** A host's folder, created for one run. */
export interface Consumer {
  /** The files in the tarball, sorted. */
  readonly files: readonly string[];
  /** The installed packages, including Tollgate, sorted. */
  installed(): readonly string[];
  /** Runs a program in the folder; returns its output, or throws an error with it. */
  run(program: string, ...args: readonly string[]): string;
  remove(): void;
}

/** Packs the built package, without building it again, and installs it. */
export function installPacked(): Consumer {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-consumer-'));
  const [{ filename, files }] = packed.parse(
    JSON.parse(
      run(repo, 'npm', ['pack', '--json', '--ignore-scripts', `--pack-destination=${folder}`]),
    ),
  );
  const manifest = {
    name: 'host',
    private: true,
    dependencies: { tollgate: `file:${filename}` },
    devDependencies: { '@types/node': '20.19.43', ...compilers },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  for (const name of ['public-api', 'exported-values']) {
    for (const extension of ['mts', 'cts']) {
      cpSync(join(repo, `test/types/${name}.ts`), join(folder, `${name}.${extension}`));
    }
  }
  run(folder, 'npm', ['install', '--no-audit', '--no-fund']);

  return {
    files: files.map(({ path }) => path).sort(),
    installed: () =>
      run(folder, 'npm', ['ls', '--omit=dev', '--all', '--parseable'])
        .split('\n')
        .flatMap((path) => path.split('node_modules/').slice(1).slice(-1))
        .sort(),
    run: (program, ...args) => run(folder, program, args),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function run(folder: string, program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}\n${stderr}`);
}
