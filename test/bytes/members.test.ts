/** Reading parts of a scanned body without parsing the rest. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Span, scanJsonObject } from '../../src/bytes/json-scan.ts';
import {
  elementsOf,
  findMember,
  kindAt,
  membersOf,
  stringBytes,
  valueAt,
} from '../../src/bytes/members.ts';
import { jsonText, readText, seeded } from './json-arbitrary.ts';

describe('parts of a scanned body', () => {
  it('are read level by level as JSON.parse reads them', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const [body, span] = scanned(text);

        expect(rebuilt(body, span)).toEqual(readText(text));
      }),
      seeded,
    );
  });

  it('are spans without the space around them', () => {
    const [body, span] = scanned('[ 1 , "a]" ,\n{ "b" : [ ] } ]');

    const elements = elementsOf(body, span);

    expect(elements.map((element) => slice(body, element))).toEqual(['1', '"a]"', '{ "b" : [ ] }']);
  });

  it.each([
    0, 1, 29, 30, 31, 32, 33, 34, 5000,
  ])('lie behind a string of %i bytes and any number of backslashes', (length) => {
    for (const tail of ['', '\\', '\\\\', '"', '\\"', '"\\', '""', '\\\\\\"']) {
      const [body, span] = scanned(JSON.stringify(['s'.repeat(length) + tail, 'next']));

      expect(elementsOf(body, span).map((element) => valueAt(body, element))).toEqual([
        's'.repeat(length) + tail,
        'next',
      ]);
    }
  });

  it('are none in what is no array or no object', () => {
    const [body, span] = scanned('"[{"');

    expect(elementsOf(body, span)).toEqual([]);
    expect(membersOf(body, span)).toEqual([]);
  });

  it('know their kind by their first byte', () => {
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

  it('have at least as many bytes between their quotes as when decoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const [body, span] = scanned(JSON.stringify(value));

        expect(stringBytes(body, span)).toBeGreaterThanOrEqual(Buffer.byteLength(value));
      }),
      seeded,
    );
  });

  it('have no string bytes where they are no string', () => {
    const [body, span] = scanned('12345');

    expect(stringBytes(body, span)).toBe(0);
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

    expect(() => [elementsOf(body, span), membersOf(body, span), valueAt(body, span)]).toThrow(
      RangeError,
    );
  });
});

/** A body with one member, and where its value is. */
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
