// suite: quick
/** Reasoning items of the input: what each becomes in the common form. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { portableCallId } from '../../../src/canonical/call-ids.ts';
import { writeEnvelope } from '../../../src/canonical/envelope.ts';
import {
  callEnvelope,
  reasoningEnvelope,
  textEnvelope,
  unsignedEnvelope,
} from '../../../src/canonical/reasoning-envelopes.ts';
import type { Part } from '../../../src/canonical/request.ts';
import { type TurnEntry, withSignatures } from '../../../src/canonical/signature-marks.ts';
import {
  type ReadReasoning,
  readReasoningItem,
} from '../../../src/dialects/openai/responses/server/read-messages.ts';
import { isJsonObject, type JsonObject } from '../../../src/json.ts';
import { parsed } from '../../support/codec.ts';

const gemini = (data: string) => ({ provider: 'gemini', kind: 'signature', data }) as const;
const redacted = { provider: 'anthropic', kind: 'encrypted', data: 'cd' } as const;
const summary = (...texts: readonly string[]): JsonObject => ({
  summary: texts.map((text) => ({ type: 'summary_text', text })),
});

function read(item: JsonObject): ReadReasoning {
  return readReasoningItem({ at: 'input[2]', value: { type: 'reasoning', ...item } });
}

function parsedObject(json: string): JsonObject {
  const value = parsed(json);
  return isJsonObject(value) ? value : {};
}

describe('a reasoning item', () => {
  const at = 'input[2].encrypted_content';

  it('with the signature of a call or a text also gives what was shown', () => {
    const call = callEnvelope({
      type: 'tool_begin',
      choice: 0,
      call: 0,
      id: 'c1',
      name: 'f',
      arguments: '',
      providerData: gemini('s1'),
    });
    const shown = { kind: 'reasoning', at: 'input[2]', text: 'a\n\nb', displayOnly: true };

    expect(read({ ...summary('a', 'b'), encrypted_content: call ?? '' }).entries).toEqual([
      shown,
      { kind: 'signature_mark', signs: 'call', callId: 'c1', providerData: gemini('s1'), at },
    ]);
    expect(
      read({ summary: [], encrypted_content: textEnvelope(gemini('s2')) ?? '' }).entries,
    ).toEqual([
      { kind: 'signature_mark', signs: 'text', callId: undefined, providerData: gemini('s2'), at },
    ]);
  });

  it('of any form is read, or refused by its path', () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(unsignedEnvelope('t'), reasoningEnvelope('t', redacted), 'rs_tg_1'),
    );
    const names = ['id', 'summary', 'content', 'encrypted_content', 'status'];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (item) => {
        try {
          const { entries, dropped } = read(parsedObject(JSON.stringify(item)));

          expect(entries.length + dropped.length).toBeLessThanOrEqual(3);
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_request' });
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('signatures of one turn', () => {
  const call = (id: string): Part => ({
    kind: 'tool_call',
    at: id,
    id,
    name: 'f',
    arguments: '{}',
  });
  const text = (value: string): Part => ({ kind: 'text', at: value, text: value });
  const shown: Part = { kind: 'reasoning', at: 'r', text: 'hm', displayOnly: true };
  const mark = (signs: 'call' | 'text', data: string, callId?: string): TurnEntry => ({
    kind: 'signature_mark',
    signs,
    callId,
    providerData: gemini(data),
    at: data,
  });
  const outline = (entries: readonly TurnEntry[]) => {
    const { parts, dropped } = withSignatures(entries);
    const named = parts.map((part) => {
      const name = part.kind === 'tool_call' ? part.id : part.kind === 'text' ? part.text : part.at;
      expect(part.providerDataAt).toBe(part.providerData?.data);
      return part.providerData === undefined ? name : `${name}:${part.providerData.data}`;
    });
    return [...named, ...dropped.map((at) => `dropped ${at}`)];
  };

  it.each<[string, readonly TurnEntry[], readonly string[]]>([
    ['a call by its id', [mark('call', 's', 'b'), call('a'), call('b')], ['a', 'b:s']],
    ['a call before them', [call('a'), mark('call', 's', 'a'), call('b')], ['a:s', 'b']],
    ['the next call if the id is unknown', [mark('call', 's', 'x'), call('a')], ['a:s']],
    [
      'each call once',
      [mark('call', 's'), mark('call', 't'), call('a'), call('b')],
      ['a:s', 'b:t'],
    ],
    [
      'no call that another signature names',
      [mark('call', 's'), mark('call', 't', 'a'), call('a'), call('b')],
      ['a:t', 'b:s'],
    ],
    ['no call that does not follow', [call('a'), mark('call', 's')], ['a', 'dropped s']],
    ['the text before them', [text('A'), mark('text', 's'), text('B')], ['A:s', 'B']],
    ['a text across what was only shown', [text('A'), shown, mark('text', 's')], ['A:s', 'r']],
    ['an empty text after a call', [call('a'), mark('text', 's')], ['a', ':s']],
    [
      'an empty text after a signed one',
      [text('A'), mark('text', 's'), mark('text', 't')],
      ['A:s', ':t'],
    ],
  ])('go to %s', (_, entries, expected) => {
    expect(outline(entries)).toEqual(expected);
  });

  it('are each on one part or listed, and no part is lost or moved', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd');
    const entry: fc.Arbitrary<TurnEntry> = fc.oneof(
      id.map(call),
      id.map(text),
      fc.constant(shown),
      fc
        .tuple(fc.constantFrom('call', 'text'), fc.option(id, { nil: undefined }))
        .map(([signs, callId]) => mark(signs, '', callId)),
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 12 }), (drawn) => {
        const entries = drawn.map((one, index) =>
          one.kind === 'signature_mark'
            ? { ...one, ...mark(one.signs, `s${index}`, one.callId) }
            : one,
        );
        const marks = entries.filter(({ kind }) => kind === 'signature_mark').map(({ at }) => at);
        const others = entries.filter(({ kind }) => kind !== 'signature_mark');

        const { parts, dropped } = withSignatures(entries);

        const placed = parts.flatMap(({ providerData }) => providerData?.data ?? []);
        expect([...placed, ...dropped].sort()).toEqual([...marks].sort());
        const kept = parts.filter((part) => part.kind !== 'text' || part.text !== '');
        expect(kept.map(({ at }) => at)).toEqual(others.map(({ at }) => at));
      }),
      { numRuns: 500 },
    );
  });

  it('find the call whose id was made portable', () => {
    const id = `${'x'.repeat(70)}/1`;
    const sent = { ...call(portableCallId(id)) };
    const sealed = writeEnvelope({ provider: 'gemini', kind: 'call', data: 's', callId: id });

    const { parts } = withSignatures([...read({ encrypted_content: sealed }).entries, sent]);

    expect(parts).toMatchObject([{ providerData: gemini('s') }]);
  });
});
