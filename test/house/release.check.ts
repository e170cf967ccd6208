/** What must be true before a release, and what a reader of the shipped pages can rely on. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

describe('a release', () => {
  const whole = {
    repository: { url: 'https://example.com/a.git' },
    homepage: 'https://example.com',
    bugs: { url: 'https://example.com/issues', email: 'security@example.com' },
  };

  it.each([
    [whole, []],
    [{}, ['repository.url', 'homepage', 'bugs.url', 'bugs.email']],
    [{ ...whole, homepage: '' }, ['homepage']],
    [{ ...whole, bugs: { url: whole.bugs.url } }, ['bugs.email']],
  ])('is refused while package.json lacks an address: %j', (fields, missing) => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-release-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'package.json');
    writeFileSync(path, JSON.stringify(fields));

    const { status, stderr } = spawnSync('node', ['.ci/may-publish.mjs', path], {
      cwd: root,
      encoding: 'utf8',
    });

    expect(status).toBe(missing.length === 0 ? 0 : 1);
    expect(stderr.match(/lacks (.*?)\. /)?.[1] ?? '').toBe(missing.join(', '));
  });

  it('runs the check', () => {
    const scripts = member(manifest, 'scripts');

    expect(member(scripts, 'prepublishOnly')).toBe('node .ci/may-publish.mjs');
  });
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
