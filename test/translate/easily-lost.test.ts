// suite: quick
/** Data that translations once lost: one exchange for each, whole and streamed. */
import { describe, expect, it } from 'vitest';
import { list, record } from './laws/tree.ts';
import { answerFor, type Route, sentFor, streamFor } from './loss/translate.ts';

const toAnthropic: Route = { protocol: 'chat', dialect: 'anthropic', model: 'claude-sonnet-4-5' };
const toGemini: Route = { protocol: 'chat', dialect: 'gemini', model: 'gemini-3-pro-preview' };
const toOpenai: Route = { protocol: 'native', dialect: 'openai', model: 'gpt-4.1' };

function messageIn(json: string): Record<string, unknown> {
  return { ...record(record(list(record(JSON.parse(json)).choices)[0]).message) };
}

function streamed(route: Route, ...documents: readonly object[]): string {
  const events = documents.map((one) => `data: ${JSON.stringify(one)}\n\n`);
  return streamFor(route, [Buffer.from(events.join(''))]);
}

describe('an image given by its URL', () => {
  const image = { type: 'image_url', image_url: { url: 'https://img.test/a.png' } };
  const message = { role: 'assistant', content: 'Here:', images: [image] };
  const part = '"fileData":{"mimeType":"image/png","fileUri":"https://img.test/a.png"}';

  it('is a separate part for native callers', () => {
    const whole = answerFor(toOpenai, { choices: [{ message, finish_reason: 'stop' }] });
    const stream = streamed(
      toOpenai,
      { choices: [{ index: 0, delta: message }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    );

    expect(whole.json).toContain(part);
    expect(stream).toContain(part);
  });
});

describe('a citation of the caller’s documents by Anthropic', () => {
  it.each(['char_location', 'page_location', 'content_block_location'])('is kept: %s', (type) => {
    const citation = { type, cited_text: 'as it was', document_index: 0 };
    const content = [
      { type: 'text', text: 'First. ' },
      { type: 'text', text: 'Second.', citations: [citation] },
    ];

    const { json } = answerFor(toAnthropic, { content, stop_reason: 'end_turn' });

    expect(messageIn(json).extra_content).toEqual({
      anthropic: { citations: [{ ...citation, text_start: 7 }] },
    });
  });
});

describe('an unknown part of Gemini', () => {
  const parts = [
    { fileData: { fileUri: 'https://files.test/a' } },
    { toolCall: { toolType: 'SEARCH' } },
    { brandNew: { deep: [1] } },
  ];
  const reply = {
    candidates: [{ content: { parts: [{ text: 'Hi' }, ...parts] }, finishReason: 'STOP' }],
  };

  it('is passed on unchanged', () => {
    const { json } = answerFor(toGemini, reply);

    expect(messageIn(json).extra_content).toEqual({ google: { parts } });
    expect(streamed(toGemini, reply)).toContain(JSON.stringify({ google: { parts } }));
  });

  it('is not lost if it is a fragment of an argument', () => {
    const partialArgs = [{ jsonPath: '$.days', intValue: 3 }];
    const call = { name: 'look', partialArgs };
    const stream = streamed(toGemini, {
      candidates: [{ content: { parts: [{ functionCall: call }] }, finishReason: 'STOP' }],
    });

    expect(stream).toContain('{\\"days\\":3}');
  });
});

describe('the blocks of Anthropic’s server tools', () => {
  it('are returned with the message that a caller echoes', () => {
    const blocks = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    ];
    const content = [...blocks, { type: 'text', text: 'Found.' }];
    const { json } = answerFor(toAnthropic, { content, stop_reason: 'end_turn' });

    const sent = sentFor(toAnthropic, {
      model: 'm',
      messages: [
        { role: 'user', content: 'Search.' },
        messageIn(json),
        { role: 'user', content: 'And now?' },
      ],
    });

    const [, answer] = list(record(JSON.parse(sent.json)).messages).map(record);
    expect(answer?.content).toEqual(expect.arrayContaining(blocks));
    expect(sent.dropped).toEqual([]);
  });
});

describe('several reasoning signatures', () => {
  it('are sent in one delta, because clients keep only the last one', () => {
    const thought = (index: number, signature: string): readonly object[] => [
      {
        type: 'content_block_start',
        index,
        content_block: { type: 'thinking', thinking: `Thought ${index}.`, signature },
      },
      { type: 'content_block_stop', index },
    ];
    const stream = streamed(
      toAnthropic,
      { type: 'message_start', message: { id: 'msg_1' } },
      ...thought(0, 'first'),
      ...thought(1, 'second'),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    );

    expect(stream.match(/"reasoning_details"/g)).toHaveLength(1);
    expect(stream).toMatch(/"signature":"first".*"signature":"second"/);
  });
});

describe('an effort that not every model behind an alias supports', () => {
  it.each([
    ['minimal', 'LOW'],
    ['low', 'LOW'],
    ['medium', 'HIGH'],
    ['high', 'HIGH'],
  ])('is replaced by the nearest that all support: %s', (reasoning_effort, level) => {
    const messages = [{ role: 'user', content: 'Hi' }];

    const { json } = sentFor(
      { ...toGemini, model: 'gemini-flash-latest' },
      { model: 'm', messages, reasoning_effort },
    );

    const { generationConfig } = record(JSON.parse(json));
    expect(record(record(generationConfig).thinkingConfig).thinkingLevel).toMatch(
      new RegExp(`^${level}$`, 'i'),
    );
  });
});
