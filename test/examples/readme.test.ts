// suite: search
/** The code in README and docs compiles. */
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { beforeAll, expect, it } from 'vitest';
import { readText, repoFiles, root } from '../house/sources.ts';

const pages = repoFiles().filter((path) => path === 'README.md' || /^docs\/.*\.md$/.test(path));

/** A page that must not compile, to prove that the code is checked. */
const wrongPage = 'a page with a mistake';
const mistake = '```ts\nexport const gateway: number = "none";\n```\n';
let problems: ReadonlyMap<string, readonly string[]> = new Map();

beforeAll(() => {
  const texts = pages.map((page): [string, string] => [page, readText(page)]);
  problems = problemsOf(new Map([...texts, [wrongPage, mistake]]));
});

it.each(pages)('the code in %s compiles', (page) => {
  expect(problems.get(page)).toEqual([]);
});

it('code that does not compile would be found', () => {
  expect(problems.get(wrongPage)).toEqual([expect.stringContaining('not assignable')]);
});

const readmeGateway = blocksOf(readText('README.md')).filter((code) =>
  code.includes('export const gateway ='),
);

/** The blocks marked `ts`, in order. */
function blocksOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
}

/**
 * The compiler's errors in each page's blocks, with the options of the repo. All blocks are one
 * program, because reading the source and the types of packages takes longest.
 */
function problemsOf(texts: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const folders = new Map(
    [...texts].map(([page, text], index) => {
      const folder = join(root, `code-of-page-${index + 1}`);
      return [page, { folder, files: filesOf(folder, blocksOf(text)) }] as const;
    }),
  );
  const program = programOf(new Map([...folders.values()].flatMap(({ files }) => [...files])));
  // The source that a page imports is checked elsewhere.
  return new Map(
    [...folders].map(([page, { folder, files }]) => [
      page,
      [...files.keys()]
        .flatMap((path) => ts.getPreEmitDiagnostics(program, program.getSourceFile(path)))
        .map(
          ({ file, messageText }) =>
            `${file?.fileName.slice(folder.length + 1)}: ${textOf(messageText)}`,
        ),
    ]),
  );
}

/**
 * Each block is a module in a folder that does not exist. The `gateway.js` that others import is the
 * one that the page exports, or else that of the README.
 */
function filesOf(folder: string, blocks: readonly string[]): ReadonlyMap<string, string> {
  const isGateway = (code: string): boolean => code.includes('export const gateway =');
  const own = blocks.some(isGateway) ? [] : readmeGateway.filter(() => needsGateway(blocks));
  return new Map(
    [...own, ...blocks].map((code, index) => [
      join(folder, isGateway(code) ? 'gateway.ts' : `block-${index + 1}.ts`),
      // A block without imports or exports is a module too.
      `${code}\nexport {};\n`,
    ]),
  );
}

function needsGateway(blocks: readonly string[]): boolean {
  return blocks.some((code) => code.includes("from './gateway.js'"));
}

/** A program of files that exist only in memory. */
function programOf(files: ReadonlyMap<string, string>): ts.Program {
  const folders = new Set([...files.keys()].map((path) => dirname(path)));
  const options = compilerOptions();
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile, directoryExists } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.directoryExists = (path) => folders.has(path) || (directoryExists?.(path) ?? true);
  host.getSourceFile = (path, language, ...rest) => {
    const code = files.get(path);
    if (code === undefined) return getSourceFile(path, language, ...rest);
    return ts.createSourceFile(path, code, language, true);
  };
  return ts.createProgram([...files.keys()], options, host);
}

function textOf(message: string | ts.DiagnosticMessageChain): string {
  return ts.flattenDiagnosticMessageText(message, ' ');
}

/** The options of the repo, without the checks for libraries: a page may have unused names. */
function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [], files: [] },
    ts.sys,
    root,
  );
  return {
    ...options,
    declaration: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
}
