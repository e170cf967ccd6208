// suite: quick
/** Gemini replies that no recording has: several candidates, streamed calls, citations. */
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { begin } from './client.ts';

function candidate(parts: readonly JsonValue[], given: JsonObject = {}): JsonObject {
  return { content: { role: 'model', parts }, ...given };
}

function event(parts: readonly JsonValue[], given: JsonObject = {}): JsonObject {
  return { candidates: [candidate(parts, given)] };
}

function read(...documents: readonly JsonValue[]): readonly ContentEvent[] {
  const reader = begin().readStream();
  return [...documents.flatMap((document) => reader.read(document)), ...reader.end()];
}

function callsIn(events: readonly ContentEvent[]): readonly (readonly [string, string])[] {
  return events.flatMap((one) =>
    one.type === 'tool_begin' ? [[one.name, one.arguments] as const] : [],
  );
}

function piece(jsonPath: string, value: JsonObject, call: JsonObject = {}): JsonObject {
  const functionCall = { partialArgs: [{ jsonPath, ...value }], willContinue: true, ...call };
  return event([{ functionCall }]);
}

const open = event([{ functionCall: { name: 'go', willContinue: true } }]);
const close = event([{ functionCall: {} }]);

describe('calls', () => {
  it('of one name are not merged', () => {
    const functionCall = { name: 'go', args: { to: 1 } };

    const events = read(event([{ functionCall }, { functionCall }]), event([{ functionCall }]));

    expect(callsIn(events)).toEqual(Array(3).fill(['go', '{"to":1}']));
    expect(events.at(-1)).toEqual({ type: 'finish', choice: 0, reason: 'tool_calls' });
  });

  it('keep their ids, except a repeated one, which is replaced', () => {
    const functionCall = { name: 'go', id: 'a' };

    const events = read(
      event([{ functionCall }, { functionCall }, { functionCall: { name: 'go' } }]),
    );

    const ids = events.flatMap((one) => (one.type === 'tool_begin' ? [one.id] : []));
    expect(ids[0]).toBe('a');
    expect(ids.slice(1)).toEqual([
      expect.stringMatching(/^call_[A-Za-z0-9]{24}$/),
      expect.stringMatching(/^call_[A-Za-z0-9]{24}$/),
    ]);
    expect(new Set(ids).size).toBe(3);
  });

  it('are assembled from fragments of every kind, at every depth', () => {
    const events = read(
      open,
      piece('$.a.b[0].c', { stringValue: 'one ', willContinue: true }),
      piece('$.a.b[0].c', { stringValue: 'two' }),
      piece('$.a.b[1]', { numberValue: 1.5 }),
      piece("$['a']['x y']", { boolValue: false }),
      piece('$.__proto__', { stringValue: 'p' }),
      piece('$.n', { nullValue: 'NULL_VALUE' }),
      close,
    );

    expect(callsIn(events)).toEqual([
      ['go', '{"a":{"b":[{"c":"one two"},1.5],"x y":false},"__proto__":"p","n":null}'],
    ]);
  });

  it('continue with a repeated id or without a name, and end where another begins', () => {
    const first = { name: 'go', id: 'a', willContinue: true };

    const events = read(
      event([{ functionCall: first }]),
      piece('$.x', { numberValue: 1 }, { name: 'go', id: 'a' }),
      event([{ functionCall: { name: 'go', id: 'b', willContinue: true } }]),
      piece('$.x', { numberValue: 2 }, { willContinue: false }),
    );

    expect(callsIn(events)).toEqual([
      ['go', '{"x":1}'],
      ['go', '{"x":2}'],
    ]);
  });

  it('that are truncated are never emitted', () => {
    const half = piece('$.x', { stringValue: 'half', willContinue: true });
    const ended = (finishReason: string) => ({ candidates: [{ finishReason }] });

    const stopped = read(open, half, ended('STOP'));
    const bounded = read(open, half, ended('MAX_TOKENS'));

    expect(callsIn([...stopped, ...bounded])).toEqual([]);
    expect(stopped.at(-1)).toEqual({ type: 'unusable', reason: 'upstream_unusable_output' });
    expect(bounded.at(-1)).toMatchObject({ type: 'finish', reason: 'length' });
  });

  it.each([
    '$.a[4000000000]',
    '$[0]',
    'a',
    '$..',
    '$',
    '',
    `$${'.a'.repeat(2_000)}`,
    '$.a[',
  ])('are not damaged by the path %#', (path) => {
    const events = read(open, piece(path, { numberValue: 1 }), close);

    const [[, json] = ['', '']] = callsIn(events);
    expect(JSON.parse(json)).toBeTypeOf('object');
    expect(json.length).toBeLessThan(20);
  });

  it('are not damaged by invalid arguments', () => {
    const functionCalls = [null, 'x', 7, [1]].map((args) => ({
      functionCall: { name: 'go', args },
    }));

    const events = read(event(functionCalls), event([{ functionCall: { args: {} } }]));

    expect(callsIn(events).map(([, json]) => json)).toEqual(['', '"x"', '7', '[1]']);
  });
});

describe('text', () => {
  it('that is empty only carries its signature', () => {
    const events = read(
      event([{ text: 'a' }, { text: '' }]),
      event([
        { text: '', thoughtSignature: 's' },
        { text: '', thought: true, thoughtSignature: 't' },
      ]),
      event([{ thoughtSignature: 'u' }], { finishReason: 'STOP' }),
    );

    const providerData = { provider: 'gemini', kind: 'signature' };
    expect(events).toEqual([
      { type: 'text', choice: 0, text: 'a' },
      { type: 'text', choice: 0, text: '', providerData: { ...providerData, data: 's' } },
      { type: 'reasoning', choice: 0, text: '', providerData: { ...providerData, data: 't' } },
      { type: 'text', choice: 0, text: '', providerData: { ...providerData, data: 'u' } },
      { type: 'finish', choice: 0, reason: 'stop' },
    ]);
  });

  it('does not include draft images', () => {
    const inlineData = { mimeType: 'image/png', data: '-_8=' };

    const events = read(event([{ inlineData, thought: true }, { inlineData }]));

    expect(events.slice(0, -1)).toEqual([
      { type: 'media', choice: 0, mimeType: 'image/png', data: '+/8=' },
    ]);
  });

  it('in a fence stays inside, however many backticks it has', () => {
    const [output] = read(
      event([{ text: 'So:' }, { executableCode: { language: 'PYTHON', code: "'```'" } }]),
    ).slice(1);

    expect(output).toMatchObject({ text: "\n````python\n'```'\n````\n" });
  });
});

describe('several candidates', () => {
  it('are distinguished by index, or by position without one', () => {
    const events = read(
      { candidates: [candidate([{ text: 'a' }]), candidate([{ text: 'b' }])] },
      { candidates: [candidate([{ text: 'B' }], { index: 1, finishReason: 'MAX_TOKENS' })] },
      event([{ functionCall: { name: 'go' } }], { finishReason: 'STOP' }),
    );

    const texts = events.flatMap((one) => (one.type === 'text' ? [[one.choice, one.text]] : []));
    expect(texts).toEqual([
      [0, 'a'],
      [1, 'b'],
      [1, 'B'],
    ]);
    expect(events.slice(-2)).toEqual([
      { type: 'finish', choice: 0, reason: 'tool_calls' },
      { type: 'finish', choice: 1, reason: 'length' },
    ]);
  });

  it('are complete only together', () => {
    const reader = begin().readStream();
    const first = candidate([{ text: 'a' }], { finishReason: 'STOP' });

    reader.read({ candidates: [first, candidate([{ text: 'b' }])] });
    const early = reader.complete();
    reader.read({ candidates: [candidate([], { index: 1, finishReason: 'STOP' })] });

    expect([early, reader.complete()]).toEqual([false, true]);
  });

  it('are unusable only together', () => {
    const broken = candidate([], { finishReason: 'MALFORMED_FUNCTION_CALL' });

    expect(read({ candidates: [broken, broken] })).toEqual([
      { type: 'unusable', reason: 'upstream_unusable_output' },
    ]);
    expect(read({ candidates: [candidate([{ text: 'a' }]), broken] }).slice(1)).toEqual([
      { type: 'finish', choice: 0, reason: 'stop' },
      { type: 'finish', choice: 1, reason: 'other', native: 'MALFORMED_FUNCTION_CALL' },
    ]);
  });

  it('lose the parts that AI Studio repeats in the first, and nothing else', () => {
    const textsOf = (...parts: readonly (readonly string[])[]): readonly unknown[] =>
      begin()
        .readReply({
          candidates: parts.map((texts) => candidate(texts.map((text) => ({ text })))),
        })
        .flatMap((one) => (one.type === 'text' ? [[one.choice, one.text]] : []));

    expect(textsOf(['a', 'b', 'c'], ['b'], ['c'])).toEqual([
      [0, 'a'],
      [1, 'b'],
      [2, 'c'],
    ]);
    expect(textsOf(['b'], ['b'])).toEqual([
      [0, 'b'],
      [1, 'b'],
    ]);
    expect(textsOf(['a', 'x'], ['b'])).toHaveLength(3);
  });
});

describe('finish reasons', () => {
  const finishes = (...texts: readonly string[]): ContentEvent | undefined =>
    read(event([{ text: 'a' }]), ...texts.map((finishReason) => event([], { finishReason }))).at(
      -1,
    );

  it.each([
    [['STOP', 'STOP'], { reason: 'stop' }],
    [['STOP', 'MAX_TOKENS', 'STOP'], { reason: 'length' }],
    [['MAX_TOKENS', 'SAFETY'], { reason: 'content_filter' }],
    [['SAFETY', 'STOP'], { reason: 'content_filter' }],
    [['LANGUAGE', 'STOP'], { reason: 'stop' }],
    [['SPII'], { reason: 'content_filter', native: 'SPII' }],
    [['LANGUAGE'], { reason: 'other', native: 'LANGUAGE' }],
    [['CONTINUATION'], { reason: 'length', native: 'CONTINUATION' }],
  ])('of %j', (texts, finish) => {
    expect(finishes(...texts)).toEqual({ type: 'finish', choice: 0, ...finish });
  });

  it('of a prompt that is blocked in the middle of the reply', () => {
    const events = read(event([{ text: 'a' }]), { promptFeedback: { blockReason: 'SAFETY' } });

    expect(events).toEqual([
      { type: 'text', choice: 0, text: 'a' },
      { type: 'finish', choice: 0, reason: 'content_filter', native: 'SAFETY' },
    ]);
  });
});

describe('citations', () => {
  const groundingChunks = [
    { web: { uri: 'https://a.example', title: 'A' } },
    { web: {} },
    { retrievedContext: { uri: 'gs://b' } },
  ];

  it('have offsets in UTF-16 units, where Google counts bytes', () => {
    const groundingMetadata = {
      groundingChunks,
      groundingSupports: [
        { segment: { endIndex: 4, text: '😀' }, groundingChunkIndices: [0, 1, 2, 9] },
        { segment: { startIndex: 5, endIndex: 8 }, groundingChunkIndices: [0] },
      ],
    };

    const events = read(event([{ text: '😀 ' }]), event([{ text: 'öa' }], { groundingMetadata }));

    expect(events.slice(2, 4)).toEqual([
      {
        type: 'citations',
        choice: 0,
        citations: [
          { url: 'https://a.example', title: 'A', start: 0, end: 2 },
          { url: 'gs://b', title: undefined, start: 0, end: 2 },
          { url: 'https://a.example', title: 'A', start: 3, end: 5 },
        ],
      },
      {
        type: 'provider_specific',
        choice: 0,
        provider: 'gemini',
        name: 'grounding_metadata',
        value: groundingMetadata,
      },
    ]);
  });

  it('are located by their text if the offset is within one of several parts', () => {
    const segment = { partIndex: 1, startIndex: 0, endIndex: 3, text: 'two' };
    const groundingMetadata = {
      groundingChunks,
      groundingSupports: [{ segment, groundingChunkIndices: [0] }],
    };

    const events = read(event([{ text: 'one ' }, { text: 'two' }], { groundingMetadata }));

    expect(events).toContainEqual(
      expect.objectContaining({
        citations: [{ url: 'https://a.example', title: 'A', start: 4, end: 7 }],
      }),
    );
  });

  it('have no offsets if Google sends none', () => {
    const events = read(event([{ text: 'a' }], { groundingMetadata: { groundingChunks } }));

    expect(events).toContainEqual(
      expect.objectContaining({
        citations: [
          { url: 'https://a.example', title: 'A', start: undefined, end: undefined },
          { url: 'gs://b', title: undefined, start: undefined, end: undefined },
        ],
      }),
    );
  });
});

describe('usage', () => {
  it('has each count from the last event that has it', () => {
    const events = read(
      { ...event([{ text: 'a' }]), usageMetadata: { promptTokenCount: 5, thoughtsTokenCount: 2 } },
      { usageMetadata: { candidatesTokenCount: 3, promptTokenCount: null } },
      { usageMetadata: { candidatesTokenCount: 4 } },
    );

    expect(events.at(-1)).toMatchObject({
      type: 'usage',
      usage: { inputTokens: 5, outputTokens: 6, reasoningTokens: 2 },
    });
  });

  it('has separate counts of audio', () => {
    const events = read({
      ...event([{ text: 'a' }]),
      usageMetadata: {
        promptTokenCount: 5,
        promptTokensDetails: [{ modality: 'TEXT' }, { modality: 'AUDIO', tokenCount: 3 }],
      },
    });

    expect(events.at(-1)).toMatchObject({ usage: { audioInputTokens: 3 } });
  });
});
