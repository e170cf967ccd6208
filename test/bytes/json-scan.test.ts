/** The scan of a request body: what is refused, where members lie (SECURITY D5, T26-T30). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Member, scanJsonObject } from '../../src/bytes/json/scan/scan.ts';
import { isGatewayError } from '../../src/errors.ts';
import { isJsonObject, parseJson } from '../../src/json.ts';
import { goldenBodies } from './bodies.ts';
import { objectText, readText, seeded } from './json-arbitrary.ts';

describe('the members of a body', () => {
  it('come in their order, with decoded names and exact spans', () => {
    const body = Buffer.from(' { "a" : 1.0 ,"mod\\u0065l":"x\\"y", "c":[{"d":"}"} ] } ');

    const members = scanJsonObject(body);

    expect(members.map(({ name }) => name)).toEqual(['a', 'model', 'c']);
    expect(members.map(({ nameSpan }) => slice(body, nameSpan))).toEqual([
      '"a"',
      '"mod\\u0065l"',
      '"c"',
    ]);
    expect(members.map(({ value }) => slice(body, value))).toEqual([
      '1.0',
      '"x\\"y"',
      '[{"d":"}"} ]',
    ]);
  });

  it('are found wherever in its memory the body begins', () => {
    const text = `{"model":"${'m'.repeat(70)}","n":1}`;

    for (let offset = 0; offset < 9; offset += 1) {
      const memory = new Uint8Array(offset + text.length).fill(0x22);
      memory.set(Buffer.from(text), offset);
      const body = memory.subarray(offset);

      expect(contentOf(body, scanJsonObject(body))).toEqual(JSON.parse(text));
    }
  });

  it('agree with JSON.parse on every body that is accepted', () => {
    fc.assert(
      fc.property(objectText, (text) => {
        const body = Buffer.from(text);

        expect(contentOf(body, scanJsonObject(body))).toEqual(readText(text));
      }),
      seeded,
    );
  });
});

describe('golden bodies', () => {
  it('are more than 120', () => {
    expect(goldenBodies.length).toBeGreaterThan(120);
  });

  it.each(goldenBodies)('$body is $says', ({ body, says }) => {
    expect(verdictOn(Buffer.from(body, 'latin1'))).toBe(says);
  });

  it.each(goldenBodies)('$body is $says at every alignment of its strings', ({ body, says }) => {
    for (let pad = 1; pad < 4; pad += 1) {
      const memory = Buffer.concat([Buffer.alloc(pad), Buffer.from(body, 'latin1')]);

      expect(verdictOn(memory.subarray(pad))).toBe(says);
    }
  });
});

describe('mutated bodies', () => {
  it('are accepted only if JSON.parse reads the same members', () => {
    const bytes = fc.constantFrom(...Buffer.from('{}[]",:\\u0e1-+. \n\0\x80tfn/'));
    const mutation = fc.tuple(fc.nat(), fc.constantFrom('set', 'insert', 'delete'), bytes);
    const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 });

    fc.assert(
      fc.property(objectText, mutations, (text, edits) => {
        const body = edits.reduce(mutate, Buffer.from(text));
        const verdict = verdictOn(body);

        if (verdict === 'ok') {
          expect(contentOf(body, scanJsonObject(body))).toEqual(readText(body.toString()));
        } else if (verdict === 'invalid_json' || verdict === 'not_an_object') {
          expect(isJsonObject(parseJson(body.toString()))).toBe(false);
        }
      }),
      { ...seeded, numRuns: 3000 },
    );
  });

  it('are refused wherever they are cut', () => {
    const body = Buffer.from('{"a":[1.5e1,{"b":"\\u0041\\n"},true,null],"c":{"d":[]}}');

    for (let end = 0; end < body.length; end += 1) {
      expect(verdictOn(body.subarray(0, end))).toMatch(/^(?:invalid_json|not_an_object)$/);
    }
  });
});

describe('limits', () => {
  it('T29 64 levels pass, 65 and a million are refused', () => {
    expect(verdictOn(nested('[', ']', 63))).toBe('ok');
    expect(verdictOn(nested('[', ']', 64))).toBe('too_deep');
    expect(verdictOn(nested('{"a":', '}', 63, '1'))).toBe('ok');
    expect(verdictOn(nested('{"a":', '}', 64, '1'))).toBe('too_deep');
    expect(verdictOn(Buffer.from(`{"a":${'['.repeat(1_000_000)}`))).toBe('too_deep');
  });

  it('T30 10,000 members of one object pass, one more is refused, at the top and below', () => {
    expect(verdictOn(Buffer.from(objectOf(10_000)))).toBe('ok');
    expect(verdictOn(Buffer.from(objectOf(10_001)))).toBe('too_many_values');
    expect(verdictOn(Buffer.from(`{"a":${objectOf(10_000)}}`))).toBe('ok');
    expect(verdictOn(Buffer.from(`{"a":${objectOf(10_001)}}`))).toBe('too_many_values');
  });

  it('T30 500,000 values in all pass, one more is refused', () => {
    expect(verdictOn(Buffer.from(`{"a":[${'1,'.repeat(499_998)}1]}`))).toBe('ok');
    expect(verdictOn(Buffer.from(`{"a":[${'1,'.repeat(499_999)}1]}`))).toBe('too_many_values');
  });

  it('T30 a name of 4,096 bytes passes, a longer one is refused', () => {
    expect(verdictOn(Buffer.from(`{"${'n'.repeat(4096)}":1}`))).toBe('ok');
    expect(verdictOn(Buffer.from(`{"${'n'.repeat(4097)}":1}`))).toBe('name_too_long');
  });
});

describe('duplicate names', () => {
  it.each([2, 15, 16, 17, 18, 100])('are found among %i members, plain and escaped', (count) => {
    const names = Array.from({ length: count - 1 }, (_, index) => `"name${index}":0`);

    for (const twice of ['"name0"', '"nam\\u00650"']) {
      expect(verdictOn(Buffer.from(`{${names.join(',')},${twice}:1}`))).toBe('duplicate_key');
      expect(verdictOn(Buffer.from(`{${twice}:1,${names.join(',')}}`))).toBe('duplicate_key');
    }
  });

  it('are found among names too long to compare in place', () => {
    const long = 'n'.repeat(200);

    expect(verdictOn(Buffer.from(`{"a":1,"${long}":1,"${long}":2}`))).toBe('duplicate_key');
    expect(verdictOn(Buffer.from(`{"a":1,"${long}":1,"a":2}`))).toBe('duplicate_key');
    expect(verdictOn(Buffer.from(`{"a":1,"${long}":1,"${long}x":2}`))).toBe('ok');
  });

  it('in different objects are no duplicates', () => {
    expect(verdictOn(Buffer.from('{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}'))).toBe('ok');
  });
});

it('a refusal never echoes the body', () => {
  for (const { body, says } of goldenBodies) {
    if (says === 'ok') continue;
    const secret = Buffer.from(`${body}SECRET`, 'latin1');

    expect(refusalOf(secret)).toMatchObject({ code: 'invalid_request' });
    expect(refusalOf(secret)?.message).not.toContain('SECRET');
  }
});

function refusalOf(body: Uint8Array): Error | undefined {
  try {
    scanJsonObject(body);
    return undefined;
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}

function verdictOn(body: Uint8Array): string {
  const refusal = refusalOf(body);
  return isGatewayError(refusal) ? (refusal.reason ?? '') : 'ok';
}

function slice(body: Uint8Array, span: { readonly start: number; readonly end: number }): string {
  return Buffer.from(body.subarray(span.start, span.end)).toString();
}

/** What the members say, by a null-prototype object that `__proto__` can be a member of. */
function contentOf(body: Uint8Array, members: readonly Member[]): unknown {
  return Object.fromEntries(members.map(({ name, value }) => [name, readText(slice(body, value))]));
}

function mutate(body: Buffer, [place, kind, byte]: readonly [number, string, number]): Buffer {
  const at = body.length === 0 ? 0 : place % body.length;
  const rest = body.subarray(kind === 'insert' ? at : at + 1);
  return Buffer.concat([body.subarray(0, at), Buffer.from(kind === 'delete' ? [] : [byte]), rest]);
}

function nested(open: string, close: string, levels: number, inner = ''): Buffer {
  return Buffer.from(`{"x":${open.repeat(levels)}${inner}${close.repeat(levels)}}`);
}

function objectOf(count: number): string {
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;
}
