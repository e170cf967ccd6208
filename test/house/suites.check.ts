/**
 * Every test file is run by one of `npm test`, `npm run test:searches` and `npm run
 * test:services`, as its first line says, and by the other Node versions if a host or the
 * runtime can change what it sees.
 */
import { expect, it } from 'vitest';
import { filesOf } from '../suites.ts';
import { readText, repoFiles, resolveImport } from './sources.ts';

const scripts: unknown = JSON.parse(readText('package.json')).scripts;
const files = repoFiles().filter(
  (path) => /^test\/.*\.test\.ts$/.test(path) && !path.startsWith('test/clients/'),
);

it('each test file is in one run', () => {
  const runs = ['test', 'test:searches', 'test:services'].map(runBy);

  expect(files.length).toBeGreaterThan(500);
  for (const path of files) {
    expect([path, runs.filter((run) => run.has(path)).length]).toEqual([path, 1]);
  }
});

it('what opens sockets, starts processes or mounts hosts runs on every Node', () => {
  const lines = files.map((path) => [path, readText(path).split('\n')[0] ?? ''] as const);
  const untagged = lines.filter(([path, line]) => {
    const isElsewhere = /\b(?:search|services|alone)\b/.test(line);
    return !isElsewhere && reachesHost(path) !== / host\b/.test(line);
  });

  expect(untagged.map(([path]) => path)).toEqual([]);
});

const hostModules = new Set([
  ...['http', 'https', 'http2', 'net', 'tls', 'dns', 'zlib'].map((name) => `node:${name}`),
  ...['child_process', 'worker_threads', 'async_hooks', 'v8', 'vm'].map((name) => `node:${name}`),
  ...['express', 'fastify', 'koa', 'hono', 'supertest', 'pino', 'winston', 'morgan'],
  ...['openai', '@google/genai', '@anthropic-ai/sdk', 'libsql', 'tsup'],
]);
const imported = new Map<string, readonly string[]>();

/** Whether the file or a helper of the tests that it imports uses such a module. */
function reachesHost(path: string, seen: Set<string> = new Set()): boolean {
  if (seen.has(path)) return false;
  seen.add(path);
  return valueImports(path).some((specifier) => {
    const target = resolveImport(path, specifier);
    if (target === undefined) return hostModules.has(specifier);
    return target.startsWith('test/') && target.endsWith('.ts') && reachesHost(target, seen);
  });
}

/** The imports of more than types. */
function valueImports(path: string): readonly string[] {
  const known = imported.get(path);
  if (known !== undefined) return known;
  const statements = readText(path).matchAll(
    /^(?:import|export)\s(?!type\b|\{ type [^,}]*\} from)(?:[^;]*?\sfrom\s)?'([^']+)'/gm,
  );
  const found = [...statements].map(([, specifier = '']) => specifier);
  imported.set(path, found);
  return found;
}

/** The files that a script of package.json runs, which must be plain `vitest run`. */
function runBy(name: string): ReadonlySet<string> {
  const command = String(Reflect.get(Object(scripts), name));
  expect(command).toMatch(/(?:^| )vitest run$/);
  return new Set(filesOf(/\bTEST_FORM=(\w+)/.exec(command)?.[1]));
}
