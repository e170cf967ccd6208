// suite: quick
/** Reads parts of a scanned body without parsing the rest. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findMember, kindAt, membersOf, valueAt } from '../../src/bytes/json/read/members.ts';
import { firstInside, isString, nextInside, skipValue } from '../../src/bytes/json/read/skip.ts';
import { type Span, scanJsonObject } from '../../src/bytes/json/scan/scan.ts';
import { jsonText, often, readText } from './json-arbitrary.ts';

describe('parts of a scanned body', () => {
  it('are read level by level as JSON.parse reads them', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const [body, span] = scanned(text);

        expect(rebuilt(body, span)).toEqual(readText(text));
      }),
      often,
    );
  });

  it('are spans without surrounding white space', () => {
    const [body, span] = scanned('[ 1 , "a]" ,\n{ "b" : [ ] } ]');

    const elements = elementsOf(body, span);

    expect(elements.map((element) => slice(body, element))).toEqual(['1', '"a]"', '{ "b" : [ ] }']);
  });

  it.each([
    0, 1, 29, 30, 31, 32, 33, 34, 5000,
  ])('are found after a string of %i bytes and any number of backslashes', (length) => {
    for (const tail of ['', '\\', '\\\\', '"', '\\"', '"\\', '""', '\\\\\\"']) {
      const [body, span] = scanned(JSON.stringify(['s'.repeat(length) + tail, 'next']));

      expect(elementsOf(body, span).map((element) => valueAt(body, element))).toEqual([
        's'.repeat(length) + tail,
        'next',
      ]);
    }
  });

  it('are empty for a value that is not an object', () => {
    const [body, span] = scanned('"[{"');

    expect(membersOf(body, span)).toEqual([]);
  });

  it('have a kind by their first byte', () => {
    const [body, span] = scanned('[{},[],"",-1,0,true,false,null]');

    expect(elementsOf(body, span).map((element) => kindAt(body, element))).toEqual([
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
    const body = Buffer.from('{"mod\\u0065l":"m","__proto__":1}');
    const members = scanJsonObject(body);

    expect(findMember(members, 'model')?.value).toEqual({ start: 14, end: 17 });
    expect(findMember(members, '__proto__')?.name).toBe('__proto__');
    expect(findMember(members, 'constructor')).toBeUndefined();
  });

  it('are compared by their decoded text, however it is escaped', () => {
    const same = ['"role"', '"r\\u006fle"', '"\\u0072\\u006f\\u006c\\u0065"'];
    const others = ['"rol"', '"rolE"', '"roles"', '"r\\u006fleX"', '""', '"r\\nle"'];

    const found = [...same, ...others].filter((text) => {
      const [body, { start, end }] = scanned(text);
      return isString(Buffer.from(body), start, end, 'role');
    });

    expect(found).toEqual(same);
  });

  it.each([
    '["',
    '[1',
    '[[',
    '[',
    '{',
    '{"',
    '{"a"',
    '{"a":',
  ])('a span that holds no scanned value is an error, never a hang: %s', (text) => {
    const body = Buffer.from(text);
    const span = { start: 0, end: body.length };

    expect(() => [membersOf(body, span), elementsOf(body, span), valueAt(body, span)]).toThrow(
      RangeError,
    );
  });
});

/** The elements of an array, found by skipping from one to the next; empty for other values. */
function elementsOf(body: Uint8Array, { start }: Span): readonly Span[] {
  const bytes = Buffer.from(body);
  if (bytes[start] !== 0x5b) return [];
  const elements: Span[] = [];
  let at = firstInside(bytes, start);
  while (bytes[at] !== 0x5d) {
    const end = skipValue(bytes, at);
    elements.push({ start: at, end });
    at = nextInside(bytes, end);
  }
  return elements;
}

/** A body with one member, and the span of its value. */
function scanned(text: string): readonly [Uint8Array, Span] {
  const body = new Uint8Array(Buffer.from(`{"v": ${text} }`));
  const [member] = scanJsonObject(body);
  if (member === undefined) throw new Error('one member was sent');
  return [body, member.value];
}

function rebuilt(body: Uint8Array, span: Span): unknown {
  const kind = kindAt(body, span);
  if (kind === 'array') return elementsOf(body, span).map((element) => rebuilt(body, element));
  if (kind !== 'object') return valueAt(body, span);
  return Object.fromEntries(
    membersOf(body, span).map(({ name, value }) => [name, rebuilt(body, value)]),
  );
}

function slice(body: Uint8Array, span: Span): string {
  return Buffer.from(body.subarray(span.start, span.end)).toString();
}
