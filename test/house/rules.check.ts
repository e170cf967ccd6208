/** Every file keeps the style rules, and every rule finds a sample that breaks it. */
import { describe, expect, it } from 'vitest';
import { rules } from './rules.ts';
import { parse, readText, repoFiles, sources } from './sources.ts';

const files = sources();

describe('every file', () => {
  it('is read at all', () => {
    expect(files.map(({ fileName }) => fileName)).toContain('src/errors.ts');
  });

  for (const { sentence, covers, find } of rules) {
    it(sentence, () => {
      expect(files.filter(({ fileName }) => covers(fileName)).flatMap(find)).toEqual([]);
    });
  }

  it('is in a folder of at most 25 files', () => {
    const counts = new Map<string, number>();
    for (const path of repoFiles().filter((name) => /^(?:src|adapters|test)\//.test(name))) {
      const folder = path.slice(0, path.lastIndexOf('/'));
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }

    expect([...counts].filter(([, count]) => count > 25)).toEqual([]);
  });

  it('has no absolute path of a machine', () => {
    const machine = /(?<![\w.~-])(?:\/(?:home|root|tmp|Users|work)\/\w|[A-Z]:\\\w)/;
    const text = repoFiles().filter((path) => path !== 'package-lock.json' && !isBinary(path));

    expect(text.filter((path) => machine.test(readText(path)))).toEqual([]);
  });
});

describe('a sample that breaks the rule is found', () => {
  for (const { sentence, sample, find } of rules) {
    it(`${sentence}`, () => {
      expect(find(parse('src/sample.ts', sample))).not.toEqual([]);
    });
  }
});

function isBinary(path: string): boolean {
  return /\.(?:png|jpe?g|webp|gz|tgz|ico)$/.test(path);
}
