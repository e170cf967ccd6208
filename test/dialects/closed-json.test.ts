// suite: quick
/** JSON that was cut off at any character can be read, with every text that had arrived. */
import { expect, it } from 'vitest';
import { closedJson } from '../../src/dialects/taps/document-tokens.ts';

const whole = '{"a":[{"b":"one \\"two\\" \\u00e9"},"three",4.5,true],"c":{"d":"five"} , "e":null}';
const texts = ['one \\"two\\" \\u00e9', 'three', 'five'];
const prefixes = Array.from({ length: whole.length }, (_, at) => whole.slice(0, at + 1));

it('is JSON wherever it was cut', () => {
  for (const prefix of prefixes) expect(() => JSON.parse(closedJson(prefix))).not.toThrow();
});

it('keeps each text whose closing quote has arrived', () => {
  for (const prefix of prefixes) {
    const closed = closedJson(prefix);
    for (const text of texts) {
      if (prefix.includes(`"${text}"`)) expect(closed).toContain(`"${text}"`);
    }
  }
});
