/** What must be true before a release, and what a reader of the shipped pages can rely on. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { member, parseJson } from '../../src/json.ts';
import { readText, repoFiles, root } from './sources.ts';

const manifest = parseJson(readText('package.json')) ?? null;
/** The pages for users, which the package has. */
const shipped = repoFiles().filter(
  (path) =>
    /^(?:README|CHANGELOG|SECURITY)\.md$/.test(path) || /^docs\/(?!internals\/).*\.md$/.test(path),
);
const maxWords = 45_000;

interface Package {
  readonly fields?: object;
  readonly pages?: Readonly<Record<string, string>>;
  readonly env: NodeJS.ProcessEnv;
}

describe('a release', () => {
  const whole = {
    repository: { url: 'https://example.com/a.git' },
    homepage: 'https://example.com',
    bugs: { url: 'https://example.com/issues', email: 'security@example.com' },
  };
  const picture = '![Now](https://example.com/docs/pictures/now.png)';
  const github = { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://example.com/token' };

  it.each([
    [whole, ''],
    [{}, 'lacks repository.url, homepage, bugs.url, bugs.email.'],
    [{ ...whole, homepage: '' }, 'lacks homepage.'],
    [{ ...whole, bugs: { url: whole.bugs.url } }, 'lacks bugs.email.'],
  ])('is refused while package.json lacks an address: %j', (fields, refusal) => {
    expectRefusal(refusedBecause({ fields, env: github }), refusal);
  });

  it.each([
    ['README.md', 'README.md shows docs/pictures/now.png, which is not in the package.'],
    ['docs/console.md', 'docs/console.md shows docs/pictures/now.png,'],
    ['docs/internals/proofs.md', ''],
  ])('is refused while a page shows a picture by a relative link: %s', (page, refusal) => {
    const pages = { [page]: `${picture} ![Now](docs/pictures/now.png)` };

    expectRefusal(refusedBecause({ pages, env: github }), refusal);
  });

  it.each([
    [{}, 'there is no identity to sign the provenance with.'],
    [github, ''],
    [{ SIGSTORE_ID_TOKEN: 'a token' }, ''],
  ])('is refused where npm has no identity to sign the provenance with: %j', (env, refusal) => {
    expectRefusal(refusedBecause({ env }), refusal);
  });

  it('is public, has a provenance, and runs the check', () => {
    expect(member(manifest, 'publishConfig')).toEqual({ access: 'public', provenance: true });
    expect(member(member(manifest, 'scripts'), 'prepublishOnly')).toBe('node .ci/may-publish.mjs');
  });

  /** What the check prints for a package with these members, pages and variables. */
  function refusedBecause({ fields = whole, pages = {}, env }: Package): string {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-release-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'docs/internals'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify(fields));
    for (const [path, text] of Object.entries({ 'README.md': picture, ...pages })) {
      writeFileSync(join(folder, path), text);
    }
    const { status, stderr } = spawnSync(process.execPath, ['.ci/may-publish.mjs', folder], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
    expect(status).toBe(stderr === '' ? 0 : 1);
    return stderr;
  }

  function expectRefusal(printed: string, refusal: string): void {
    expect(printed.split('\n').length).toBe(refusal === '' ? 1 : 2);
    expect(printed).toContain(refusal);
  }
});

describe('the README', () => {
  it('has at most 200 lines, and begins with what runs', () => {
    const lines = readText('README.md').split('\n');

    expect(lines.length).toBeLessThanOrEqual(201);
    const first = lines.slice(0, 25).join('\n');
    expect(first).toContain('npm ci && npm start');
    expect(first).toContain('npm ci && npm test');
  });

  it('offers `npx tollgate demo` only where the name of the package is known to be ours', () => {
    const isPublished = member(manifest, 'repository') !== undefined;

    expect(isPublished || !readText('README.md').includes('npx tollgate demo')).toBe(true);
  });
});

describe('the pages for users', () => {
  it(`have at most ${maxWords} words together`, () => {
    const pages = shipped.filter((path) => !/^(?:CHANGELOG|SECURITY)/.test(path));
    const counts = pages.map((path) => wordsIn(readText(path)));

    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(maxWords);
  });

  it.each(shipped)('%s names no command that only the repository has', (page) => {
    // The first screen of the README is for a clone.
    const text = readText(page).replace(/^npm ci && npm \w+ .*$/gm, '');

    expect(text.match(/npm (?:run [\w:-]+|test)\b|npx vitest run|TEST_FORM/g) ?? []).toEqual([]);
  });

  it.each(shipped)('%s begins with a title, and a sentence of prose', (page) => {
    const [title = '', , sentence = ''] = readText(page).split('\n');

    expect(title).toMatch(/^# \S/);
    expect([page, sentence]).toEqual([page, expect.stringMatching(/^[A-Z`*]/)]);
  });
});

/** Words, of prose, tables and code: what has a letter or a digit between spaces. */
function wordsIn(text: string): number {
  return (text.match(/\S+/g) ?? []).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
