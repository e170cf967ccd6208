// suite: quick host
/** Streamed replies of any upstream in the native format, also read by Google’s SDK. */

import { createServer } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { ApiError, type GenerateContentResponse, GoogleGenAI } from '@google/genai';
import { describe, expect, it } from 'vitest';
import type { ContentEvent, ReplyUsage } from '../../../src/canonical/reply.ts';
import type { ContentStreamWriter, ReplyHead } from '../../../src/dialects/codec.ts';
import { writeStream } from '../../../src/dialects/gemini/server/write-stream.ts';
import { GatewayError } from '../../../src/errors.ts';
import { items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { closed, listening } from '../../support/servers.ts';
import { collect } from '../../testing/helpers.ts';

const head: ReplyHead = {
  fallbackId: 'fallback-1',
  createdSeconds: 0,
  newId: () => 'id',
  modelId: 'asked-1',
  wantsUsage: true,
  framing: 'sse',
};
const usage: ReplyUsage = {
  inputTokens: 10,
  outputTokens: 8,
  cachedInputTokens: undefined,
  cacheWriteTokens: undefined,
  reasoningTokens: 5,
  audioInputTokens: undefined,
  audioOutputTokens: undefined,
};
const stop: ContentEvent = { type: 'finish', choice: 0, reason: 'stop' };
const failure = new GatewayError('upstream_failed', 'The upstream failed\u2028 here.');
const errorText =
  '{"error":{"code":502,"message":"The upstream failed\\u2028 here.","status":"UNAVAILABLE"}}';
const batches: readonly (readonly ContentEvent[])[] = [
  [{ type: 'start', id: 'up-1', model: 'model-2' }],
  [{ type: 'reasoning', choice: 0, text: 'hm' }],
  [text('a\u2028')],
  [text('b'), ...begin(0, 'f'), { type: 'tool_arguments', choice: 0, call: 0, text: '{"n":\n' }],
  [...begin(1, 'g'), { type: 'tool_arguments', choice: 0, call: 1, text: '{}' }],
  [{ type: 'tool_arguments', choice: 0, call: 0, text: '1}' }],
  [{ type: 'tool_end', choice: 0, call: 0 }, { type: 'tool_end', choice: 0, call: 1 }, stop],
  [{ type: 'usage', usage }],
];

describe('a stream of events', () => {
  it('has the exact framing that Google’s strictest parsers need', () => {
    const writer = writeStream(head);

    const written = [...batches.map((batch) => writer.write(batch)), writer.end()];

    const tail = '"modelVersion":"model-2","responseId":"up-1"}\r\n\r\n';
    const event = (parts: string, more = '') =>
      `data: {"candidates":[{"content":{"role":"model","parts":[${parts}]},"index":0${more}}],`;
    const figures =
      '"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":3,"totalTokenCount":18,' +
      '"thoughtsTokenCount":5},';
    expect(written).toEqual([
      '',
      `${event('{"text":"hm","thought":true}')}${tail}`,
      `${event('{"text":"a\\u2028"}')}${tail}`,
      `${event('{"text":"b"}')}${tail}`,
      '',
      '',
      `${event(
        '{"functionCall":{"id":"id-f","name":"f","args":{"n": 1}}},' +
          '{"functionCall":{"id":"id-g","name":"g","args":{}}}',
      )}${tail}`,
      '',
      `${event('{"text":""}', ',"finishReason":"STOP"')}${figures}${tail}`,
    ]);
  });

  it('has one event for each choice, and a finish for each', () => {
    const documents = documentsOf([
      [text('a'), { ...text('b'), choice: 1 }],
      [stop, { type: 'finish', choice: 1, reason: 'length' }],
    ]);

    expect(documents.map((document) => member(document, 'candidates'))).toMatchObject([
      [{ index: 0, content: { parts: [{ text: 'a' }] } }],
      [{ index: 1, content: { parts: [{ text: 'b' }] } }],
      [{ index: 0, finishReason: 'STOP' }],
      [{ index: 1, finishReason: 'MAX_TOKENS' }],
    ]);
  });

  it('sends logprobs with the next part', () => {
    const tokens = [{ token: 'a', logprob: -0.5, top: [] }];

    const documents = documentsOf([[{ type: 'logprobs', choice: 0, tokens }], [text('a')], [stop]]);

    expect(documents).toMatchObject([
      { candidates: [{ logprobsResult: { chosenCandidates: [{ token: 'a' }] } }] },
      { candidates: [{ avgLogprobs: -0.5 }] },
    ]);
  });

  it('reports a blocked prompt in its only event', () => {
    const documents = documentsOf([
      [{ type: 'blocked', reason: 'SAFETY', message: undefined }],
      [{ type: 'usage', usage }],
    ]);

    expect(documents).toMatchObject([
      { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { totalTokenCount: 18 } },
    ]);
    expect(documents[0]).not.toHaveProperty('candidates');
  });

  it('has no content if the reply was blocked before it began', () => {
    const [document] = documentsOf([[{ type: 'finish', choice: 0, reason: 'content_filter' }]]);

    expect(member(document, 'candidates')).toEqual([{ index: 0, finishReason: 'SAFETY' }]);
  });

  it('keeps the content before a reply was blocked', () => {
    const documents = documentsOf([
      [text('a')],
      [{ type: 'finish', choice: 0, reason: 'content_filter', message: 'No more.' }],
    ]);

    expect(documents.map((document) => member(document, 'candidates'))).toMatchObject([
      [{ content: { parts: [{ text: 'a' }] } }],
      [{ content: { parts: [{ text: '' }] }, finishReason: 'SAFETY', finishMessage: 'No more.' }],
    ]);
  });
});

describe('an array', () => {
  const array = { ...head, framing: 'json_array' } as const;

  it('is one JSON document, written piece by piece', () => {
    const writer = writeStream(array);

    const pieces = [writer.write([text('a')]), writer.write([text('b')]), writer.write([stop])];
    const end = writer.end();

    expect(pieces.map((piece) => piece.slice(0, 4))).toEqual(['[{"c', '\r\n,{', '']);
    expect(end.endsWith('}\r\n]')).toBe(true);
    expect(items(parseJson(`${pieces.join('')}${end}`))).toHaveLength(3);
  });

  it('is empty without events', () => {
    expect(writeStream(array).end()).toBe('[]');
  });

  it('ends with the error if the stream fails', () => {
    const begun = writeStream(array);
    const first = begun.write([text('a')]);

    const [last = ''] = begun.breakOff(failure);

    expect(items(parseJson(`${first}${last}`))[1]).toEqual(JSON.parse(errorText));
    expect(writeStream(array).breakOff(failure)).toEqual([`[${errorText}]`]);
  });

  it('has nothing after its end', () => {
    const writer = writeStream(array);
    writer.end();

    expect(writer.breakOff(failure)).toEqual([]);
  });
});

it('an error in mid-stream is an event, and then the bare document in a separate write', () => {
  expect(writeStream(head).breakOff(failure)).toEqual([`data: ${errorText}\r\n\r\n`, errorText]);
});

describe('Google’s SDK', () => {
  it('reads every event by itself', async () => {
    const chunks = await sdkReads((writer) => [
      ...batches.map((batch) => writer.write(batch)),
      writer.end(),
    ]);

    const candidates = chunks.flatMap((chunk) => chunk.candidates ?? []);
    expect(candidates.flatMap(({ content }) => content?.parts ?? [])).toEqual([
      { text: 'hm', thought: true },
      { text: 'a\u2028' },
      { text: 'b' },
      { functionCall: { id: 'id-f', name: 'f', args: { n: 1 } } },
      { functionCall: { id: 'id-g', name: 'g', args: {} } },
      { text: '' },
    ]);
    expect(chunks.at(-1)).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { totalTokenCount: 18 },
      modelVersion: 'model-2',
      responseId: 'up-1',
    });
  });

  it('throws if the stream fails', async () => {
    const reading = sdkReads((writer) => [writer.write([text('a')]), ...writer.breakOff(failure)]);

    const error = await reading.catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 502 });
  });
});

function text(output: string): Extract<ContentEvent, { readonly type: 'text' }> {
  return { type: 'text', choice: 0, text: output };
}

function begin(call: number, name: string): readonly ContentEvent[] {
  return [{ type: 'tool_begin', choice: 0, call, id: `id-${name}`, name, arguments: '' }];
}

function documentsOf(rows: readonly (readonly ContentEvent[])[]): readonly JsonValue[] {
  const writer = writeStream(head);
  const body = [...rows.map((row) => writer.write(row)), writer.end()].join('');
  return body.split('\r\n\r\n').flatMap((event) => {
    if (event === '') return [];
    expect(event).toMatch(/^data: \{[^\r\n\u2028\u2029]*\}$/);
    return [parseJson(event.slice('data: '.length)) ?? null];
  });
}

/**
 * Feeds the output of a writer to the real client, each piece in a separate turn of the event loop.
 */
async function sdkReads(
  play: (writer: ContentStreamWriter) => readonly string[],
): Promise<readonly GenerateContentResponse[]> {
  const server = createServer(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of play(writeStream(head))) {
      response.write(piece);
      await setImmediate();
    }
    response.end();
  });
  const baseUrl = await listening(server);
  try {
    const ai = new GoogleGenAI({ apiKey: 'placeholder', httpOptions: { baseUrl } });
    return await collect(await ai.models.generateContentStream({ model: 'm', contents: 'Hello!' }));
  } finally {
    await closed(server);
  }
}
