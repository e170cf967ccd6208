// suite: quick
/** Function names are mapped to the upstream’s rules and back. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { functionNames, type NameRule } from '../../../src/canonical/function-names.ts';

const openai: NameRule = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, maxLength: 64 };
const gemini: NameRule = { pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/, maxLength: 128 };

describe('the names of functions', () => {
  it('stay if they are valid', () => {
    const names = functionNames(['look_up', 'go-2'], openai);

    expect(names.upstream('look_up')).toBe('look_up');
    expect(names.caller('go-2')).toBe('go-2');
  });

  it('get a hash if they are not, and are restored in the reply', () => {
    const names = functionNames(['files.read'], openai);

    const upstream = names.upstream('files.read');

    expect(upstream).toMatch(/^files_read_[0-9a-f]{6}$/);
    expect(names.caller(upstream)).toBe('files.read');
  });

  it('are changed the same way in every request, so that prompt caches match', () => {
    const first = functionNames(['a.b', 'c'], openai);
    const second = functionNames(['d', 'c', 'a.b'], openai);

    expect(second.upstream('a.b')).toBe(first.upstream('a.b'));
  });

  it('are shortened to the provider’s limit, and stay distinct', () => {
    const long = 'x'.repeat(100);
    const names = functionNames([`${long}1`, `${long}2`], openai);

    const [one, two] = [names.upstream(`${long}1`), names.upstream(`${long}2`)];

    expect(one).toHaveLength(64);
    expect(one).not.toBe(two);
    expect(names.caller(two)).toBe(`${long}2`);
  });

  it('obey the length limit even if the pattern does not include it', () => {
    const names = functionNames(['abcdefghijklm'], { pattern: /^[a-z_0-9]+$/, maxLength: 12 });

    expect(names.upstream('abcdefghijklm')).toMatch(/^abcde_[0-9a-f]{6}$/);
  });

  it('begin with a letter or an underscore after a change', () => {
    expect(functionNames(['1.5'], gemini).upstream('1.5')).toMatch(/^__5_[0-9a-f]{6}$/);
  });

  it('never take the name of another function', () => {
    const changed = functionNames(['a.b'], openai).upstream('a.b');

    const names = functionNames(['a.b', changed], openai);

    expect(names.upstream(changed)).toBe(changed);
    expect(names.upstream('a.b')).not.toBe(changed);
    expect(names.caller(names.upstream('a.b'))).toBe('a.b');
    expect(names.caller(changed)).toBe(changed);
  });

  it('are returned unchanged if they are unknown', () => {
    const names = functionNames(['a.b'], openai);

    expect(names.caller('invented.by_the_model')).toBe('invented.by_the_model');
    expect(names.caller('constructor')).toBe('constructor');
  });

  it.each([
    ['OpenAI', openai],
    ['Gemini', gemini],
  ])('are valid for %s, distinct and restored, for any names', (_, rule) => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 140 }),
      fc.constantFrom('a.b', 'a:b', 'a_b', '__proto__', 'constructor', '1', ''),
    );
    const law = fc.property(fc.uniqueArray(name), (all) => {
      const names = functionNames(all, rule);

      const upstream = all.map(names.upstream);

      expect(new Set(upstream).size).toBe(all.length);
      expect(upstream.map(names.caller)).toEqual(all);
      for (const one of upstream) {
        expect(one).toMatch(rule.pattern);
        expect(one.length).toBeLessThanOrEqual(rule.maxLength);
      }
    });

    fc.assert(law, { numRuns: 300 });
  });
});
