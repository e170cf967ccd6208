// suite: quick
/** A tape has every value of a text, in its order, where it is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsedValue } from '../../src/bytes/json/scan/body.ts';
import { none, root, type Tape, type Value } from '../../src/bytes/json/tape.ts';
import { commonWords } from '../../src/bytes/json/words.ts';
import { jsonText, often, readText } from './json-arbitrary.ts';
import { membersIn, tapeOf, tapeOfJson } from './scanned.ts';

describe('the values of a tape', () => {
  it('are read level by level as JSON.parse reads them', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const [tape, value] = scanned(text);

        expect(rebuilt(tape, value)).toEqual(readText(text));
      }),
      often,
    );
  });

  it('have no white space around them', () => {
    const [tape, value] = scanned('[ 1 , "a]" ,\n{ "b" : [ ] } ]');

    const elements = tape.elements(value).map((element) => tape.raw(element).toString());

    expect(elements).toEqual(['1', '"a]"', '{ "b" : [ ] }']);
  });

  it.each([
    0, 1, 29, 30, 31, 32, 33, 34, 5000,
  ])('are found after a string of %i bytes and any number of backslashes', (length) => {
    for (const tail of ['', '\\', '\\\\', '"', '\\"', '"\\', '""', '\\\\\\"']) {
      const [tape, value] = scanned(JSON.stringify(['s'.repeat(length) + tail, 'next']));

      expect(tape.elements(value).map((element) => tape.text(element))).toEqual([
        's'.repeat(length) + tail,
        'next',
      ]);
    }
  });

  it('are none in a value that is neither object nor array, and in no value', () => {
    const [tape, value] = scanned('"[{"');

    for (const one of [value, none]) {
      expect([...tape.members(one), ...tape.elements(one)]).toEqual([]);
      expect(tape.get(one, 'a')).toBe(none);
    }
  });

  it('have a kind by their first byte', () => {
    const [tape, value] = scanned('[{},[],"",-1,0,true,false,null]');

    expect(tape.elements(value).map((element) => tape.kind(element))).toEqual([
      'object',
      'array',
      'string',
      'number',
      'number',
      'boolean',
      'boolean',
      'null',
    ]);
  });

  it('are found by their decoded name, whatever it is', () => {
    const tape = tapeOf('{"mod\\u0065l":"m","__proto__":1,"n":null}');

    expect(tape.raw(tape.get(root, 'model')).toString()).toBe('"m"');
    expect(membersIn(tape).map(({ name }) => name)).toEqual(['model', '__proto__', 'n']);
    expect(tape.get(root, '__proto__')).not.toBe(none);
    expect(tape.get(root, 'constructor')).toBe(none);
    expect([tape.get(root, 'n') === none, tape.present(root, 'n')]).toEqual([false, none]);
  });

  it('are compared by their decoded text, however it is escaped', () => {
    const same = ['"role"', '"r\\u006fle"', '"\\u0072\\u006f\\u006c\\u0065"'];
    const others = [
      '"Ã´le"',
      '"rôle"',
      '"rol"',
      '"rolE"',
      '"roles"',
      '"r\\u006fleX"',
      '""',
      '"r\\nle"',
    ];

    for (const name of [...same, ...others]) {
      const tape = tapeOf(`{${name}:${name}}`);
      const [value = none] = tape.members(root);

      expect(tape.isNamed(value, 'role'), name).toBe(same.includes(name));
      expect(tape.get(root, 'role') === value, name).toBe(same.includes(name));
      expect(tape.isNamed(value, 'rôle'), name).toBe(name === '"rôle"');
      expect(tape.isNamed(value, 'rÃ´le'), name).toBe(false);
      expect(tape.shortText(value)).toBe(JSON.parse(name));
    }
  });

  it('are found by a name of any characters', () => {
    const name = fc.string({ unit: fc.constantFrom(...'ab\\"/\n\u00c3\u00a9\u{1f600}') });
    const law = fc.property(name, name, (one, other) => {
      const tape = tapeOfJson({ [one]: 1 });

      expect(tape.get(root, other) !== none).toBe(one === other);
      expect(tape.get(root, one)).not.toBe(none);
    });

    fc.assert(law, often);
  });

  it('have their own names and texts, however much these are like a common word', () => {
    for (const word of commonWords) {
      for (const near of [word, `${word}x`, word.slice(1), word.toUpperCase(), `\u00e4${word}`]) {
        const tape = tapeOf(JSON.stringify({ [near]: near }));
        const [value = none] = tape.members(root);

        expect([tape.name(value), tape.shortText(value)]).toEqual([near, near]);
      }
    }
  });
});

/** A text with one member, and its value. */
function scanned(text: string): readonly [Tape, Value] {
  const tape = tapeOf(`{"v": ${text} }`);
  return [tape, tape.get(root, 'v')];
}

function rebuilt(tape: Tape, value: Value): unknown {
  if (tape.isArray(value)) return tape.elements(value).map((element) => rebuilt(tape, element));
  if (!tape.isObject(value)) return parsedValue(tape, value);
  return Object.fromEntries(
    tape.members(value).map((member) => [tape.name(member), rebuilt(tape, member)]),
  );
}
