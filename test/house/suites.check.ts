/**
 * Every test file is run by one of `npm test`, `npm run test:generators` and `npm run
 * test:services`, as the lists of `test/suites.ts` divide them. Those of which `npm test` runs a
 * sample are run by the generators too.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readText, repoFiles, root } from './sources.ts';

const scripts: unknown = JSON.parse(readText('package.json')).scripts;
const files = repoFiles().filter(
  (path) => /^test\/.*\.test\.ts$/.test(path) && !path.startsWith('test/clients/'),
);

/** The run, or the two runs of a file of which one has a sample. */
function expectedRuns(path: string, runs: readonly string[]): readonly string[] {
  if (readText(path).includes("support/sample.ts'")) return ['test', 'generators'];
  return runs.slice(0, 1);
}

it('each test file is in exactly one run, and in two if the first has a sample of it', () => {
  const tests = runBy('test');
  const generators = runBy('test:generators');
  const services = runBy('test:services');

  expect(files.length).toBeGreaterThan(300);
  const runs = files.map((path) => ({
    path,
    runs: [
      ...(tests.has(path) ? ['test'] : []),
      ...(generators.has(path) ? ['generators'] : []),
      ...(services.has(path) && !tests.has(path) ? ['services'] : []),
    ],
  }));
  expect(runs.filter((file) => file.runs.length === 0)).toEqual([]);
  expect(runs).toEqual(runs.map((file) => ({ ...file, runs: expectedRuns(file.path, file.runs) })));
}, 120_000);

/** The files that a script of package.json runs, which must be plain `vitest run`. */
function runBy(name: string): ReadonlySet<string> {
  const command = String(Reflect.get(Object(scripts), name)).split(' ');
  const at = command.indexOf('vitest');
  const variables = command.slice(0, at).map((word) => word.split('='));
  const args = command.slice(at + 2);
  expect(command.slice(at, at + 2)).toEqual(['vitest', 'run']);
  const { TEST_FORM: _form, TEST_SUITE: _suite, ...others } = process.env;
  const listed = execFileSync(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'list', ...args, '--filesOnly', '--json'],
    { cwd: root, env: { ...others, ...Object.fromEntries(variables) }, encoding: 'utf8' },
  );
  const list: readonly { readonly file: string }[] = JSON.parse(
    listed.slice(listed.indexOf('[\n'), listed.lastIndexOf(']') + 1),
  );
  return new Set(list.map(({ file }) => file.slice(file.indexOf('/test/') + 1)));
}
