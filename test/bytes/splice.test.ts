// suite: slow
/** Editing members in the bytes keeps every other byte. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import { type MemberEdit, spliceMembers } from '../../src/bytes/body/splice.ts';
import { scanBody } from '../../src/bytes/json/scan/body.ts';
import { jsonText, objectText, often } from './json-arbitrary.ts';
import { membersIn, tapeOf } from './scanned.ts';

describe('spliced members', () => {
  it.each<readonly [string, string, readonly MemberEdit[], string]>([
    ['nothing', '{"a":1}', [], '{"a":1}'],
    ['an absent one taken out', '{"a":1}', [remove('b')], '{"a":1}'],
    ['one replaced', ' {"a" : 1.0 , "b":2}\n', [set('b', '"x"')], ' {"a" : 1.0 , "b":"x"}\n'],
    ['an escaped name', '{"mod\\u0065l":"a"}', [set('model', '"b"')], '{"mod\\u0065l":"b"}'],
    ['one added', '{"a":1 }', [set('b', '2')], '{"a":1,"b":2 }'],
    ['two added', '{"a":1}', [set('b', '2'), set('c', '3')], '{"a":1,"b":2,"c":3}'],
    ['one added to nothing', '{}', [set('a', '1')], '{"a":1}'],
    ['one added to space', ' { } ', [set('a', '1')], ' {"a":1 } '],
    ['a name to be escaped', '{}', [set('a"\\é\n', '1')], '{"a\\"\\\\é\\n":1}'],
    ['the first removed', '{ "a":1 , "b":2 }', [remove('a')], '{ "b":2 }'],
    ['the middle removed', '{"a":1, "b":2 , "c":3}', [remove('b')], '{"a":1, "c":3}'],
    ['the last removed', '{"a":1 , "b":2 }', [remove('b')], '{"a":1 }'],
    ['the last two removed', '{"a":1,"b":2,"c":3}', [remove('b'), remove('c')], '{"a":1}'],
    ['the first two removed', '{"a":1,"b":2,"c":3}', [remove('a'), remove('b')], '{"c":3}'],
    ['all removed', '{ "a":1,"b":2 }', [remove('a'), remove('b')], '{  }'],
    ['all removed, one added', '{"a":1}', [remove('a'), set('b', '2')], '{"b":2}'],
    ['the last removed, one added', '{"a":1,"b":2}', [remove('b'), set('c', '3')], '{"a":1,"c":3}'],
    [
      'a replaced one after a removed one',
      '{"a":1,"b":2}',
      [remove('a'), set('b', '3')],
      '{"b":3}',
    ],
    ['the last of two edits', '{"a":1}', [set('a', '2'), set('a', '3')], '{"a":3}'],
    [
      '__proto__',
      '{"__proto__":1}',
      [set('__proto__', '2'), set('a', '3')],
      '{"__proto__":2,"a":3}',
    ],
    [
      'a deeper member of the name left',
      '{"a":{"b":1},"b":2}',
      [set('b', '3')],
      '{"a":{"b":1},"b":3}',
    ],
  ])('%s', (_what, text, edits, expected) => {
    expect(spliced(text, edits)).toBe(expected);
  });

  it('leave big integers, 1.0, \\/ and odd spacing as they were', () => {
    const rest = ' "n":12345678901234567890,"f" :1.0,\n"s":"\\/\\u0041",\t"e":1E+2 ';

    expect(spliced(`{"model":"a",${rest}}`, [set('model', '"b"')])).toBe(`{"model":"b",${rest}}`);
  });

  it('copy no bytes of the body', () => {
    const body = Buffer.from(`{"model":"a","prompt":"${'p'.repeat(100)}"}`);

    const whole = wholeBody(body);

    const tape = scanBody(whole);
    const pieces = spliceMembers(tape, [set('model', '"b"')]);

    expect(
      pieces.filter(({ buffer, length }) => buffer === body.buffer && length > 90),
    ).toHaveLength(1);
    expect(spliceMembers(tape, [])).toEqual([body]);
    expect(spliceMembers(tape, [])[0]).toBe(body);
    expect(spliceMembers(tape, [])).not.toBe(whole.chunks);
  });

  it('make the intended object, with every other value unchanged', () => {
    const edit = fc.record({
      pick: fc.nat(25),
      name: fc.constantFrom('model', 'a', 'b', '__proto__', 'stream_options', ''),
      value: fc.option(jsonText, { nil: undefined }),
    });

    fc.assert(
      fc.property(objectText, fc.array(edit, { maxLength: 6 }), (text, picks) => {
        const body = Buffer.from(text);
        const members = membersIn(tapeOf(body));
        const edits = picks.map(({ pick, name, value }) => ({
          name: members[pick]?.name ?? name,
          value,
        }));
        const edited = new Map(edits.map(({ name, value }) => [name, value]));

        const result = Buffer.from(spliced(text, edits));
        const expected = new Map(
          members.map(({ name, value }) => [name, text8(body.subarray(value.start, value.end))]),
        );
        for (const [name, value] of edited) {
          if (value === undefined) expected.delete(name);
          else expected.set(name, value);
        }

        const found = membersIn(tapeOf(result)).map(({ name, value }) => [
          name,
          text8(result.subarray(value.start, value.end)),
        ]);
        expect(found).toEqual([...expected]);
      }),
      often,
    );
  });

  it('keep every byte outside replaced values', () => {
    fc.assert(
      fc.property(objectText, fc.nat(), jsonText, (text, pick, value) => {
        const body = Buffer.from(text);
        const members = membersIn(tapeOf(body));
        const member = members[pick % Math.max(1, members.length)];
        fc.pre(member !== undefined);

        const result = Buffer.from(spliced(text, [set(member.name, value)]));

        const expected = Buffer.concat([
          body.subarray(0, member.value.start),
          Buffer.from(value),
          body.subarray(member.value.end),
        ]);
        expect(result.equals(expected)).toBe(true);
      }),
      often,
    );
  });
});

function set(name: string, value: string): MemberEdit {
  return { name, value };
}

function remove(name: string): MemberEdit {
  return { name, value: undefined };
}

function spliced(text: string, edits: readonly MemberEdit[]): string {
  return Buffer.concat(spliceMembers(tapeOf(text), edits)).toString();
}

function text8(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}
