// suite: slow
/** The scan of a request body: what is refused, and the spans of its members. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import { scanJson } from '../../src/bytes/json/scan/scan.ts';
import { Tape } from '../../src/bytes/json/tape.ts';
import { isGatewayError } from '../../src/errors.ts';
import { isJsonObject, parseJson } from '../../src/json.ts';
import { runsOf } from '../support/sample.ts';
import { goldenBodies } from './golden-bodies.ts';
import { objectText, often, readText } from './json-arbitrary.ts';
import { type FoundMember, membersIn, tapeOf } from './scanned.ts';

describe('the members of a body', () => {
  it('are in order, with decoded names and exact spans', () => {
    const body = Buffer.from(' { "a" : 1.0 ,"mod\\u0065l":"x\\"y", "c":[{"d":"}"} ] } ');

    const members = membersIn(tapeOf(body));

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

  it('are found at any alignment of the body in memory', () => {
    const text = `{"model":"${'m'.repeat(70)}","n":1}`;

    for (let offset = 0; offset < 9; offset += 1) {
      const memory = new Uint8Array(offset + text.length).fill(0x22);
      memory.set(Buffer.from(text), offset);
      const body = memory.subarray(offset);
      const { cells } = scanJson(body);
      const tape = new Tape(wholeBody(Buffer.from(body)), cells, false);

      expect(contentOf(body, membersIn(tape))).toEqual(JSON.parse(text));
    }
  });

  it('agree with JSON.parse on every body that is accepted', () => {
    fc.assert(
      fc.property(objectText, (text) => {
        const body = Buffer.from(text);

        expect(contentOf(body, membersIn(tapeOf(body)))).toEqual(readText(text));
      }),
      often,
    );
  });
});

describe('golden bodies', () => {
  it('are more than 120', () => {
    expect(goldenBodies.length).toBeGreaterThan(120);
  });

  it.each(goldenBodies)('$body is $outcome', ({ body, outcome }) => {
    expect(outcomeOf(Buffer.from(body, 'latin1'))).toBe(outcome);
  });

  it.each(goldenBodies)('$body is $outcome at every alignment of its strings', ({
    body,
    outcome,
  }) => {
    for (let pad = 1; pad < 4; pad += 1) {
      const memory = Buffer.concat([Buffer.alloc(pad), Buffer.from(body, 'latin1')]);

      expect(outcomeOf(memory.subarray(pad))).toBe(outcome);
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
        const verdict = outcomeOf(body);

        if (verdict === 'ok') {
          expect(contentOf(body, membersIn(tapeOf(body)))).toEqual(readText(body.toString()));
        } else if (verdict === 'invalid_json' || verdict === 'not_an_object') {
          expect(isJsonObject(parseJson(body.toString()))).toBe(false);
        }
      }),
      { ...often, numRuns: runsOf(3_000) },
    );
  });

  it('are refused when cut at any byte', () => {
    const body = Buffer.from('{"a":[1.5e1,{"b":"\\u0041\\n"},true,null],"c":{"d":[]}}');

    for (let end = 0; end < body.length; end += 1) {
      expect(outcomeOf(body.subarray(0, end))).toMatch(/^(?:invalid_json|not_an_object)$/);
    }
  });
});

describe('limits', () => {
  it('64 levels are accepted, 65 and a million are refused', () => {
    expect(outcomeOf(nested('[', ']', 63))).toBe('ok');
    expect(outcomeOf(nested('[', ']', 64))).toBe('too_deep');
    expect(outcomeOf(nested('{"a":', '}', 63, '1'))).toBe('ok');
    expect(outcomeOf(nested('{"a":', '}', 64, '1'))).toBe('too_deep');
    expect(outcomeOf(Buffer.from(`{"a":${'['.repeat(1_000_000)}`))).toBe('too_deep');
  });

  it('10,000 members in one object are accepted, one more is refused, at any level', () => {
    expect(outcomeOf(Buffer.from(objectOf(10_000)))).toBe('ok');
    expect(outcomeOf(Buffer.from(objectOf(10_001)))).toBe('too_many_values');
    expect(outcomeOf(Buffer.from(`{"a":${objectOf(10_000)}}`))).toBe('ok');
    expect(outcomeOf(Buffer.from(`{"a":${objectOf(10_001)}}`))).toBe('too_many_values');
  });

  it('500,000 values are accepted, one more is refused', () => {
    expect(outcomeOf(Buffer.from(`{"a":[${'1,'.repeat(499_998)}1]}`))).toBe('ok');
    expect(outcomeOf(Buffer.from(`{"a":[${'1,'.repeat(499_999)}1]}`))).toBe('too_many_values');
  });

  it('a name of 4,096 bytes is accepted, a longer one is refused', () => {
    expect(outcomeOf(Buffer.from(`{"${'n'.repeat(4096)}":1}`))).toBe('ok');
    expect(outcomeOf(Buffer.from(`{"${'n'.repeat(4097)}":1}`))).toBe('name_too_long');
  });
});

describe('duplicate names', () => {
  it.each([2, 15, 16, 17, 18, 100])('are found among %i members, plain and escaped', (count) => {
    const names = Array.from({ length: count - 1 }, (_, index) => `"name${index}":0`);

    for (const twice of ['"name0"', '"nam\\u00650"']) {
      expect(outcomeOf(Buffer.from(`{${names.join(',')},${twice}:1}`))).toBe('duplicate_key');
      expect(outcomeOf(Buffer.from(`{${twice}:1,${names.join(',')}}`))).toBe('duplicate_key');
    }
  });

  it('are found among names too long to compare in place', () => {
    const long = 'n'.repeat(200);

    expect(outcomeOf(Buffer.from(`{"a":1,"${long}":1,"${long}":2}`))).toBe('duplicate_key');
    expect(outcomeOf(Buffer.from(`{"a":1,"${long}":1,"a":2}`))).toBe('duplicate_key');
    expect(outcomeOf(Buffer.from(`{"a":1,"${long}":1,"${long}x":2}`))).toBe('ok');
  });

  it('in different objects are accepted', () => {
    expect(outcomeOf(Buffer.from('{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}'))).toBe('ok');
  });
});

it('a refusal never echoes the body', () => {
  for (const { body, outcome } of goldenBodies) {
    if (outcome === 'ok') continue;
    const secret = Buffer.from(`${body}SECRET`, 'latin1');

    expect(refusalOf(secret)).toMatchObject({ code: 'invalid_request' });
    expect(refusalOf(secret)?.message).not.toContain('SECRET');
  }
});

function refusalOf(body: Uint8Array): Error | undefined {
  try {
    scanJson(body);
    return undefined;
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}

function outcomeOf(body: Uint8Array): string {
  const refusal = refusalOf(body);
  return isGatewayError(refusal) ? (refusal.reason ?? '') : 'ok';
}

function slice(body: Uint8Array, span: { readonly start: number; readonly end: number }): string {
  return Buffer.from(body.subarray(span.start, span.end)).toString();
}

/** The parsed members in a null-prototype object, which can have a member `__proto__`. */
function contentOf(body: Uint8Array, members: readonly FoundMember[]): unknown {
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
