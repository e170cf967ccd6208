/**
 * Which test files a run has. The first line of each file says in which run it is and what it
 * needs, `// suite: slow host`; `TEST_FORM` chooses the run. test/README.md describes both.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Each file has one of these, and may have those of `needs`. */
const places = ['quick', 'slow', 'search', 'services', 'alone'] as const;
/**
 * `host`: it opens sockets, starts processes or mounts hosts. `runtime`: it sees another part of
 * Node or of its engine. `first`: it takes long.
 */
const needs = ['host', 'runtime', 'first'] as const;

type Tag = (typeof places)[number] | (typeof needs)[number];

/** A test file and the tags of its first line. */
export interface TestFile {
  readonly path: string;
  readonly tags: ReadonlySet<Tag>;
}

/** How much is run; undefined in `npm test`. */
export const form: string | undefined = process.env.TEST_FORM;

/** Every test file, but those that have packages of their own. */
const testFiles: readonly TestFile[] = readdirSync(join(root, 'test'), { recursive: true })
  .map((path) => `test/${String(path).replaceAll('\\', '/')}`)
  .filter((path) => path.endsWith('.test.ts') && !path.includes('/node_modules/'))
  .filter((path) => !path.startsWith('test/clients/'))
  .sort()
  .map((path) => ({ path, tags: tagsOf(path) }));

const runs: Readonly<Record<string, (file: TestFile) => boolean>> = {
  '': ({ tags }) => tags.has('quick') || tags.has('slow') || tags.has('alone'),
  quick: ({ tags }) => tags.has('quick'),
  searches: ({ tags }) => tags.has('search'),
  generators: ({ path, tags }) => tags.has('search') || isSampled(path),
  services: ({ tags }) => tags.has('services'),
  host: (file) => dependsOnNode(file) && !file.tags.has('search'),
  newest: dependsOnNode,
  full: () => true,
};

/** The files of a run: those that may run beside others, and those that run alone. */
export function filesOf(run = ''): readonly string[] {
  const isIn = runs[run];
  if (isIn !== undefined) return pathsOf(isIn);
  const known = Object.keys(runs).join(', ');
  throw new Error(`TEST_FORM=${run} is not known: use one of ${known}.`);
}

const isAlone = new Set(pathsOf(({ tags }) => tags.has('alone')));
/** The files of this run that may run beside others. */
export const together: readonly string[] = filesOf(form).filter((path) => !isAlone.has(path));
/** Those that measure the process: they run last, one at a time. */
export const alone: readonly string[] = filesOf(form).filter((path) => isAlone.has(path));
/** Those that would keep the other workers waiting at the end. */
export const first: readonly string[] = pathsOf(({ tags }) => tags.has('first'));

function pathsOf(isIn: (file: TestFile) => boolean): readonly string[] {
  return testFiles.filter(isIn).map(({ path }) => path);
}

function tagsOf(path: string): ReadonlySet<Tag> {
  const [line = ''] = readText(path).split('\n');
  const tags = /^\/\/ suite: ([a-z ]+)$/.exec(line)?.[1]?.split(' ') ?? [];
  const known = tags.filter((tag): tag is Tag => [...places, ...needs].some((one) => one === tag));
  if (known.length < tags.length || places.filter((place) => known.includes(place)).length !== 1) {
    throw new Error(`${path} must begin with "// suite: " and one of ${places.join(', ')}.`);
  }
  return new Set(known);
}

function dependsOnNode({ tags }: TestFile): boolean {
  return tags.has('host') || tags.has('runtime');
}

/** Runs a sample in `npm test`, see support/sample.ts. */
function isSampled(path: string): boolean {
  return readText(path).includes("support/sample.ts'");
}

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
