/** Everything that READMEs and docs refer to exists: files, headings, tests and npm scripts. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readText, repoFiles, root } from './sources.ts';

const files = repoFiles();
const source = files
  .filter((path) => /^(?:src|adapters)\//.test(path))
  .map(readText)
  .join('\n');
const pages = files.filter((path) =>
  /^(?:README|CHANGELOG|SECURITY|(?:docs|src)\/.*)\.md$/.test(path),
);
/** The pages about the code itself. */
const described = [
  'docs/internals/architecture.md',
  'test/README.md',
  ...files.filter((path) => /^src\/.*\/README\.md$/.test(path)),
];
const scripts: unknown = JSON.parse(readText('package.json')).scripts;

describe('README and docs', () => {
  it('are read at all', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/guarantees.md']));
  });

  it.each(pages)('%s has no broken link', (page) => {
    expect(missingLinks(page, readText(page))).toEqual([]);
  });

  it.each(pages)('%s names commands that can be run', (page) => {
    expect(missingCommands(readText(page))).toEqual([]);
  });

  it.each(described)('%s names files and types that exist', (page) => {
    expect(missingNames(readText(page), folderOf(page))).toEqual([]);
  });

  it('are all in the index, docs/README.md', () => {
    const index = readText('docs/README.md');
    const listed = pages.filter((page) => /^docs\/.+\.md$/.test(page) && page !== 'docs/README.md');

    expect(listed.filter((page) => !index.includes(`](${page.slice('docs/'.length)})`))).toEqual(
      [],
    );
  });

  it('with broken references would be found', () => {
    const text = '[a](none.md) [b](README.md#none) `npm run none` `npx vitest run test/none`';

    expect([...missingLinks('README.md', text), ...missingCommands(text)]).toHaveLength(4);
    expect(missingNames('`stages/none.ts` `src/none/` `NoneType`')).toHaveLength(3);
    expect(missingNames('`serve.ts`', 'src/ports')).toEqual(['serve.ts']);
    expect(missingNames('`body/*.ts` `stages/serve.ts` `test/house/`', 'src/bytes')).toEqual([]);
  });
});

function missingLinks(page: string, text: string): readonly string[] {
  return [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
    .filter(([, path = '', heading]) => {
      const file = path === '' ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(root, file))) return true;
      return heading !== undefined && !headingsOf(readText(file)).includes(heading);
    })
    .map(([link]) => link);
}

/** The anchors that GitHub generates. */
function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function missingCommands(text: string): readonly string[] {
  const named = [...text.matchAll(/npm run ([\w:]+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !Object.keys(Object(scripts)).includes(name));
  const files = [...text.matchAll(/vitest run((?: [\w./-]+)+)/g)]
    .flatMap(([, paths = '']) => paths.trim().split(' '))
    .filter((path) => !existsSync(join(root, path)));
  return [...named, ...files];
}

/**
 * Files, folders and types in code spans; a `*` stands for one folder or file name. Paths begin in
 * `folder`, in `src` or at the root, or, on a page about all of the code, in any folder.
 */
function missingNames(text: string, folder?: string): readonly string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  const paths = spans.filter((span) => /^[\w*][\w*.-]*(?:\/[\w*.-]+)*(?:\/|\.m?ts)$/.test(span));
  const types = spans.filter((span) => /^[A-Z][a-z]\w+$/.test(span));
  const starts = folder === undefined ? ['.*/'] : [`/${folder}/`, '/src/', '/'];
  return [
    ...paths.filter((path) => {
      const pattern = new RegExp(`^(?:${starts.join('|')})${patternOf(path)}`);
      return !files.some((file) => pattern.test(`/${file}`));
    }),
    ...types.filter((type) => !new RegExp(`\\b${type}\\b`).test(source)),
  ];
}

function patternOf(path: string): string {
  const escaped = path.replaceAll('.', '\\.').replaceAll('*', '[^/]+');
  return path.endsWith('/') ? escaped : `${escaped}$`;
}

/** The folder that a README of `src` is about. */
function folderOf(page: string): string | undefined {
  return page.startsWith('src/') ? dirname(page) : undefined;
}
