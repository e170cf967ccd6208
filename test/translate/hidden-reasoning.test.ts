// suite: quick
/** Native replies show reasoning only if it was requested, but never lose a signature. */
import { describe, expect, it } from 'vitest';
import { native } from '../support/any-model-gateway.ts';
import { document, eventStream, exchanged } from './laws/exchange.ts';
import { list, record } from './laws/tree.ts';

const question = { role: 'user', parts: [{ text: 'How is it?' }] };

function requestWith(members: object = {}, framing: 'json' | 'sse' = 'json') {
  return native(framing, JSON.stringify({ contents: [question], ...members }));
}

const including = (includeThoughts: boolean) => ({
  generationConfig: { thinkingConfig: { includeThoughts } },
});

const reasoned = document(
  JSON.stringify({
    choices: [{ message: { reasoning_content: 'Hm.', content: 'Fine.' }, finish_reason: 'stop' }],
  }),
);
const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };
const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } };
const signed = document(
  JSON.stringify({ role: 'assistant', content: [thinking, call], stop_reason: 'tool_use' }),
);

function contentIn(text: string): unknown {
  return record(list(record(JSON.parse(text)).candidates)[0]).content;
}

describe('reasoning in a native reply', () => {
  it.each([
    [{}, [{ text: 'Fine.' }]],
    [including(false), [{ text: 'Fine.' }]],
    [including(true), [{ text: 'Hm.', thought: true }, { text: 'Fine.' }]],
  ])('is present only if it was requested: %j', async (members, parts) => {
    const { answer: reply } = await exchanged('openai', requestWith(members), reasoned);

    expect(contentIn(reply.text)).toEqual({ role: 'model', parts });
  });

  it('is also left out of a stream', async () => {
    const chunk = (delta: object, finish_reason: string | null = null): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const chunks = [
      chunk({ reasoning_content: 'Hm.' }),
      chunk({ content: 'Fine.' }),
      chunk({}, 'stop'),
      'data: [DONE]\n\n',
    ];

    const { answer: reply } = await exchanged(
      'openai',
      requestWith({}, 'sse'),
      eventStream(...chunks),
    );

    expect(reply.text).toContain('Fine.');
    expect(reply.text).not.toMatch(/Hm\.|"thought"/);
  });

  it('is returned to its provider unchanged, although it was hidden', async () => {
    const { answer: reply } = await exchanged('anthropic', requestWith(), signed);
    expect(reply.text).not.toMatch(/Hm\.|"thought":true/);

    const response = { functionResponse: { id: 'toolu_1', name: 'look', response: { a: 1 } } };
    const next = {
      contents: [question, contentIn(reply.text), { role: 'user', parts: [response] }],
      tools: [{ functionDeclarations: [{ name: 'look' }] }],
    };
    const { sent } = await exchanged('anthropic', requestWith(next), signed);

    expect(list(record(JSON.parse(sent)).messages)[1]).toEqual({
      role: 'assistant',
      content: [thinking, call],
    });
  });
});
