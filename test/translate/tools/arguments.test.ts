// suite: quick
/** The arguments and ids of tool calls, in the form that strict upstreams accept. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentsObject } from '../../../src/canonical/arguments.ts';
import { derivedCallId, newCallId, portableCallId } from '../../../src/canonical/call-ids.ts';
import { jsonText, rawJson } from '../../../src/canonical/raw-json.ts';
import { isJsonObject, member, parseJson } from '../../../src/json.ts';

describe('the arguments of a call', () => {
  it.each([
    '{"id":12345678901234567890,"rate":1.0,"tiny":1e-400}',
    '{"a":1,"a":2}',
    ' { "path" : "a\\/b\\u0041\\n" } ',
    '{}',
  ])('stay verbatim if they are an object: %s', (text) => {
    const written = argumentsObject(text);

    expect(written).toEqual({ json: text, isWrapped: false });
    expect(jsonText({ args: rawJson(written.json) })).toContain(text);
  });

  it.each(['', ' \n\t '])('are an empty object if there are none: %j', (text) => {
    expect(argumentsObject(text)).toEqual({ json: '{}', isWrapped: false });
  });

  it.each([
    '[1]',
    'null',
    '"text"',
    '7',
    '{"a":',
    '{a:1}',
    '{} {}',
  ])('are wrapped as text if they are not an object: %s', (text) => {
    const { json, isWrapped } = argumentsObject(text);

    expect(isWrapped).toBe(true);
    expect(parseJson(json)).toEqual({ _raw: text });
  });

  it('never break a line of SSE, and keep their digits', () => {
    const { json } = argumentsObject('{\r\n  "id": 98765432109876543210,\n  "text": "a\\nb"\r}');

    expect(json).not.toMatch(/[\r\n]/);
    expect(json).toContain('98765432109876543210');
    expect(member(parseJson(json), 'text')).toBe('a\nb');
  });

  it('have the same value as before, for any object', () => {
    const law = fc.property(fc.json(), fc.nat(4), (text, indent) => {
      const value = parseJson(text);
      fc.pre(isJsonObject(value));
      const pretty = JSON.stringify(value, null, indent);

      const { json, isWrapped } = argumentsObject(pretty);

      expect(isWrapped).toBe(false);
      expect(parseJson(json)).toEqual(value);
    });

    fc.assert(law);
  });
});

describe('the id of a call', () => {
  it('is generated with 24 letters and digits', () => {
    const uuid = '3b241101-e2bb-4255-8caf-4136c566a962';

    expect(newCallId(() => uuid)).toMatch(/^call_[A-Za-z0-9]{24}$/);
    expect(newCallId(() => 'id-1')).toMatch(/^call_[A-Za-z0-9]{24}$/);
    expect(newCallId(() => 'id-1')).not.toBe(newCallId(() => 'id-2'));
  });

  it('is the same for the same position in the history', () => {
    expect(derivedCallId(3, 1)).toBe('call_t3p1');
  });

  it.each(['call_1', 'toolu_01A-b', 'x'.repeat(64)])('stays if it is valid: %s', (id) => {
    expect(portableCallId(id)).toBe(id);
  });

  it('is changed the same way for equal ids and differently for others', () => {
    const changed = ['call:1', 'call.1', 'call 1', '', 'ü', 'x'.repeat(65), 'x'.repeat(66)];

    const portable = changed.map(portableCallId);

    expect(new Set(portable).size).toBe(changed.length);
    expect(changed.map(portableCallId)).toEqual(portable);
    for (const id of portable) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('is valid for every provider after one change, for any input', () => {
    const law = fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (id) => {
      const portable = portableCallId(id);

      expect(portable).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(portableCallId(portable)).toBe(portable);
    });

    fc.assert(law);
  });
});
