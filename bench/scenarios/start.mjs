/**
 * The cost to a host before its first call: the time to import the package, the size of its
 * tarball, and the packages that come with it.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { row } from '../lib/compare.mjs';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const importsPerRound = 5;

/**
 * Imports zod and undici first, because most hosts have them anyway; then the package, which finds
 * both in memory. The CPU time of that second step shows whether the machine was busy.
 */
const probe = `
  const started = performance.now();
  await import('zod');
  await import('undici');
  const between = performance.now();
  const cpu = process.cpuUsage();
  await import('./dist/index.js');
  const { user, system } = process.cpuUsage(cpu);
  const ended = performance.now();
  process.stdout.write(JSON.stringify({
    peersMs: between - started,
    packageMs: ended - between,
    packageCpuMs: (user + system) / 1000,
  }));
`;

export const scenario = {
  name: 'start',
  title: 'Start-up: import, tarball, dependencies',

  async run(context) {
    const imports = [];
    for (let done = 0; done < context.rounds * importsPerRound; done += 1) {
      imports.push(await importOnce());
    }
    const of = (figure) => imports.map((times) => times[figure]);
    const { size, unpackedSize } = await packed();
    const packages = await packagesThatCome();
    context.note(`Packages that come with it: ${packages.join(', ')}.`);
    context.note('The processes that import and pack count as foreign load.');
    return [
      row({ contender: 'zod and undici', figure: 'import', unit: 'ms', values: of('peersMs') }),
      ours('import beyond these', 'ms', of('packageMs'), { of: 'median', max: 60 }),
      ours('CPU of that import', 'ms', of('packageCpuMs')),
      ours('tarball', 'kB', [size / 1000], { of: 'median', max: 2_000 }),
      ours('unpacked', 'kB', [unpackedSize / 1000]),
      ours('packages that come with it', '', [packages.length], { of: 'median', max: 2 }),
    ];
  },
};

const ours = (figure, unit, values, target) =>
  row({ contender: 'tollgate', figure, unit, values, target });

/** In a separate process, because a module is loaded only once. */
async function importOnce() {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', probe], {
    cwd: root,
  });
  return JSON.parse(stdout);
}

/** The tarball of `npm publish`, without building again. */
async function packed() {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
  });
  // An array of packages up to npm 11, an object keyed by name since.
  return Object.values(JSON.parse(stdout))[0];
}

/** From the lockfile: the `dependencies`, and theirs in turn. */
async function packagesThatCome() {
  const lock = JSON.parse(await readFile(new URL('../../package-lock.json', import.meta.url)));
  const found = new Set();
  const add = ({ dependencies = {} }) => {
    for (const name of Object.keys(dependencies)) {
      if (found.has(name)) continue;
      found.add(name);
      add(lock.packages[`node_modules/${name}`]);
    }
  };
  add(lock.packages['']);
  return [...found].sort();
}
