// suite: quick
/** The order of an assistant turn: where providers check it, and what each of them gets. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Part, ReasoningPart } from '../../src/canonical/request.ts';
import { items, type JsonValue } from '../../src/json.ts';
import { assistant, user } from '../support/plain-request.ts';
import * as anthropic from './anthropic/client.ts';
import * as gemini from './gemini/client.ts';
import { pick, textAt } from './matrix/json.ts';
import * as openai from './openai/client.ts';

const signed = (data: string, provider = 'anthropic'): ReasoningPart => ({
  kind: 'reasoning',
  at: data,
  text: data,
  providerData: { provider, kind: 'signature', data },
  providerDataAt: `${data}.encrypted_content`,
});
const text = (content: string): Part => ({ kind: 'text', at: content, text: content });
const call = (id: string, data?: string): Part => ({
  kind: 'tool_call',
  at: id,
  id,
  name: 'look',
  arguments: '{}',
  providerData: data === undefined ? undefined : { provider: 'gemini', kind: 'signature', data },
  providerDataAt: data === undefined ? undefined : `${id}.encrypted_content`,
});
const shown: Part = { kind: 'reasoning', at: 'shown', text: 'Hm.', displayOnly: true };
const ask = user(text('Go.'));

/** The blocks of the assistant turn, each as one word. */
function blocks(parts: readonly Part[]): readonly string[] {
  const { body, dropped } = anthropic.written({ turns: [ask, assistant(...parts), ask] });
  expect(dropped).toEqual([]);
  return items(pick(body, 'messages', 1, 'content')).map(wordOf);
}

function wordOf(block: JsonValue): string {
  return textAt(block, 'signature') || textAt(block, 'id') || textAt(block, 'text');
}

it.each<[string, readonly Part[], readonly string[]]>([
  ['a text after a call', [signed('s'), call('a'), text('A')], ['s', 'a', 'A']],
  [
    'texts after parallel calls',
    [call('a'), call('b'), text('A'), text('B')],
    ['a', 'b', 'A', 'B'],
  ],
  [
    'texts around each call',
    [text('A'), call('a'), text('B'), call('b'), text('C')],
    ['A', 'a', 'B', 'b', 'C'],
  ],
  [
    'interleaved thinking as it was',
    [signed('s'), call('a'), signed('t'), text('A'), call('b')],
    ['s', 'a', 't', 'A', 'b'],
  ],
  ['no blank text of its own reply', [text('\n\n'), signed('s'), text('A')], ['s', 'A']],
  ['nothing of what was only shown', [shown, signed('s'), call('a')], ['s', 'a']],
])('Anthropic gets %s', (_, parts, expected) => {
  expect(blocks(parts)).toEqual(expected);
});

it('Anthropic gets thinking, calls and texts in the model’s order, whatever it is', () => {
  const part = fc.constantFrom('thinking', 'call', 'text');
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 12 }), (kinds) => {
      const parts = kinds.map((kind, index) => {
        if (kind === 'text') return text(`text${index}`);
        return kind === 'call' ? call(`call${index}`) : signed(`signed${index}`);
      });

      expect(blocks(parts)).toEqual(parts.map((one) => one.at));
    }),
    { numRuns: 300 },
  );
});

it('thinking that came in one member is never joined with reasoning before it', () => {
  const unsigned: Part = { kind: 'reasoning', at: 'u', text: 'Theirs.' };
  const { body, dropped } = anthropic.written({
    turns: [ask, assistant(unsigned, shown, { ...signed('s'), text: '' }, call('a'))],
  });

  expect(pick(body, 'messages', 1, 'content', 0)).toEqual({
    type: 'thinking',
    thinking: '',
    signature: 's',
  });
  expect(dropped).toEqual(['u']);
});

it('Gemini gets the signatures of texts and calls, an empty last text included', () => {
  const withData = (part: Part, data: string): Part => ({
    ...part,
    providerData: { provider: 'gemini', kind: 'signature', data },
  });
  const parts = [shown, text('A'), call('a', 's1'), call('b'), withData(text(''), 's2')];

  const body = gemini.bodyOf({ turns: [ask, assistant(...parts)] });

  expect(pick(body, 'contents', 1, 'parts')).toEqual([
    { text: 'A' },
    { functionCall: { id: 'a', name: 'look', args: {} }, thoughtSignature: 's1' },
    { functionCall: { id: 'b', name: 'look', args: {} } },
    { text: '', thoughtSignature: 's2' },
  ]);
});

it('a compatible server gets what was shown as `reasoning_content`, if it expects any', () => {
  const turns = [ask, assistant(shown, call('a'), text('A'))];
  const request = openai.contentRequest({ turns });

  expect(openai.messagesOf(request, { reasoningHistory: true })[1]).toMatchObject({
    reasoning_content: 'Hm.',
    content: 'A',
    tool_calls: [{ id: 'a' }],
  });
  expect(openai.messagesOf(request)[1]).not.toHaveProperty('reasoning_content');
  expect(openai.droppedOf(request)).toEqual([]);
});

it('what another provider signed is listed by the caller’s name for it', () => {
  const turns = [ask, assistant(signed('s'), signed('g', 'gemini'), call('a', 'd'))];
  const thinking = ['s.encrypted_content', 'g.encrypted_content'];

  expect(new Set(gemini.begin({ turns }).dropped)).toEqual(new Set(['s', thinking[0]]));
  expect(new Set(anthropic.written({ turns }).dropped)).toEqual(
    new Set(['g', thinking[1], 'a.encrypted_content']),
  );
  expect(new Set(openai.droppedOf(openai.contentRequest({ turns })))).toEqual(
    new Set(['s', 'g', ...thinking, 'a.encrypted_content']),
  );
});
