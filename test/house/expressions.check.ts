/**
 * No regular expression is worse than linear: its work on four times the text is fourfold, not
 * sixteenfold. A text of a caller or of an upstream may have 32 MiB, and all calls of a process
 * share its event loop. Expressions over other texts obey the same rule, so that none must be
 * judged by where its text comes from.
 */
import { describe, expect, it } from 'vitest';
import { length, superlinearGrowth, textOf } from './expressions/attacks.ts';
import { expressionsIn, publishedExpressions } from './expressions/sources.ts';
import { matcherOf } from './expressions/steps.ts';
import { parse } from './sources.ts';

describe('the regular expressions of src and adapters', () => {
  const found = publishedExpressions();

  it('are found', () => {
    expect(found.length).toBeGreaterThan(300);
  });

  it('are linear, however they are used and whatever the text is', () => {
    const known = new Map<string, string | undefined>();
    const problems = found.flatMap(({ place, expression }) => {
      const text = String(expression);
      if (!known.has(text)) known.set(text, problemOf(expression));
      const problem = known.get(text);
      return problem === undefined ? [] : [`${place} ${text} ${problem}`];
    });

    expect(problems).toEqual([]);
  });
});

describe('an expression that is worse than linear is found', () => {
  const samples: readonly RegExp[] = [
    /\s+$/,
    /^(a+)+$/,
    /^(a|a)*$/,
    /^(?:a*)*b/,
    /^\w+\d+:/,
    /^a?a*b?a*$/s,
    /a.*b/g,
    /a[\s\S]*?b/,
    /<!--.*?-->/gs,
    /\[[^\]]*\]/,
    /"(?:[^"\\]|\\.)*":/g,
    /\n\s+at (.*)/,
    /(\.\d\d\d*?)0+$/,
    /^data:([^,;]*)[^,]*;base64,/,
    /\$\{([^}]*)\}/g,
    /x(?:.*y)?/g,
    /x(?=.*y)/g,
    /x(?!.*y)/g,
    /(?<=x.*)y/g,
    /(?<!x+)y/,
    /(?<=^|,)\s*[^,]*;/g,
    /[a-z]{0,5000}:/i,
    /\p{L}+\p{N}/u,
    /(?:^|\n)(?:\s*\n)*#/,
  ];

  for (const sample of samples) {
    it(String(sample), () => {
      expect(problemOf(sample)).toContain('steps');
    });
  }
});

describe('an expression that is linear is not', () => {
  const samples: readonly RegExp[] = [
    /^\s+|x/,
    /(?<!\s)\s+$/,
    /^(?:\s*\{\s*\})+(?=\s*\{)/,
    /"[^"]*"/g,
    /\s\S*$/,
    /[+-]?\d{1,30}(?:\.\d{1,30})?/g,
    /^a*b?a{0,30}$/,
    /\w+/gu,
    /^(?!.*x)y/,
  ];

  for (const sample of samples) {
    it(String(sample), () => {
      expect(problemOf(sample)).toBeUndefined();
    });
  }
});

describe('the expressions of a file', () => {
  const expressionsOf = (text: string): readonly string[] =>
    expressionsIn(parse('src/dialects/sample.ts', text)).map(({ expression }) =>
      String(expression),
    );

  it('are its literals, wherever they are', () => {
    expect(expressionsOf('f(a.split(/b+/), { c: [/d/i] });')).toEqual(['/b+/', '/d/i']);
  });

  it('are also built ones, with the values of constants and imports', () => {
    const text = `
      import { envelopePrefixes as prefixes } from '../canonical/envelope.ts';
      const names = ['a', 'b'].map(doubled).join('|');
      function doubled(name: string): string { return name + name; }
      const one = new RegExp(\`(?:\${names})\` + String.raw\`\\s*\`, 'g');
      const two = RegExp(prefixes.join('|'));
    `;

    expect(expressionsOf(text)).toEqual([
      '/(?:aa|bb)\\s*/g',
      expect.stringMatching(/^\/\w+\|.+\/$/),
    ]);
  });

  it('are never built from what is known only when the code runs', () => {
    const text = 'export const has = (word: string): RegExp => new RegExp(word);';

    expect(() => expressionsOf(text)).toThrow('src/dialects/sample.ts:1');
  });
});

function problemOf(expression: RegExp): string | undefined {
  const found = superlinearGrowth(matcherOf(expression));
  if (found === undefined) return undefined;
  const { attack, steps } = found;
  return `takes ${steps[0]} steps for ${length} characters and ${steps[1]} or more for four times
    as many, such as ${JSON.stringify(textOf(attack, 60))}`.replace(/\n\s+/g, ' ');
}
