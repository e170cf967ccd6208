// suite: quick
/** A stream as a chat caller receives it, chunk by chunk and assembled. */
import fc from 'fast-check';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { writeStream } from '../../../src/dialects/openai/server/write-stream.ts';
import { GatewayError } from '../../../src/errors.ts';
import { isJsonObject, items, member } from '../../../src/json.ts';
import { assembled, chunksOf, deltasOf, head, streamOf, wholeOf } from './server-assemble.ts';
import { finish, replyEvents, text, time, usage, weather } from './server-events.ts';

describe('a stream', () => {
  it('consists of role, content, finish, usage and terminator', () => {
    const events: readonly ContentEvent[] = [
      { type: 'start', id: 'abc', model: undefined },
      text('Hi'),
      finish('stop'),
      usage,
    ];
    const constant =
      '"id":"chatcmpl-abc","object":"chat.completion.chunk","created":1795177645,' +
      '"model":"some/model:1"';
    const chunk = (delta: string, end = 'null'): string =>
      `data: {${constant},"choices":[{"index":0,"delta":${delta},"logprobs":null,` +
      `"finish_reason":${end}}],"usage":null}\n\n`;

    const stream = streamOf(events);

    expect(stream).toBe(
      [
        chunk('{"role":"assistant","content":""}'),
        chunk('{"content":"Hi"}'),
        chunk('{}', '"stop"'),
        `data: {${constant},"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,` +
          '"total_tokens":18,"prompt_tokens_details":{"cached_tokens":3},' +
          '"completion_tokens_details":{"reasoning_tokens":2}}}\n\n',
        'data: [DONE]\n\n',
      ].join(''),
    );
  });

  it('has no usage for a caller who did not request it', () => {
    const stream = streamOf([text('Hi'), finish('stop'), usage], { ...head, wantsUsage: false });

    expect(stream).not.toContain('usage');
  });

  it('sends a whole call in one chunk, and {} for a call without arguments', () => {
    const chunks = chunksOf(streamOf([...weather, ...time, finish('tool_calls')]));

    const fragments = deltasOf(chunks, 0).flatMap((delta) => items(member(delta, 'tool_calls')));

    expect(fragments).toEqual([
      {
        index: 0,
        id: 'call_a',
        type: 'function',
        function: { name: 'weather', arguments: '{"city":"Oslo","id":12345678901234567890}' },
        extra_content: { google: { thought_signature: 'c2ln' } },
      },
      { index: 1, id: 'call_b', type: 'function', function: { name: 'time', arguments: '' } },
      { index: 1, function: { arguments: '{}' } },
    ]);
  });

  it('ends with one error event, without a finish or a terminator', () => {
    const writer = writeStream(head);
    writer.write([text('Hi')]);

    const pieces = writer.breakOff(new GatewayError('upstream_failed', 'It broke.'));

    expect(pieces).toEqual([
      'data: {"error":{"message":"It broke.","type":"server_error","param":null,' +
        '"code":"upstream_failed"}}\n\n',
    ]);
  });

  it('is read by the openai package as the whole reply', async () => {
    const events: readonly ContentEvent[] = [
      text('Looking.'),
      ...weather,
      ...time,
      finish('tool_calls'),
      usage,
    ];

    const completion = await readByPackage(streamOf(events));

    expect(completion).toMatchObject(record(wholeOf(events)));
  });

  it('splits audio so that the openai package can concatenate the pieces', async () => {
    const events: readonly ContentEvent[] = [
      { type: 'media', choice: 0, mimeType: 'audio/wav', data: 'AQ==' },
      { type: 'media', choice: 0, mimeType: 'audio/wav', data: 'AgME' },
      finish('stop'),
    ];

    const completion = await readByPackage(streamOf(events));

    expect(completion.choices[0]?.message.audio?.data).toBe('AQIDBA==');
  });

  it('assembles to the whole reply for any events', () => {
    fc.assert(
      fc.property(replyEvents, (events) => {
        const chunks = chunksOf(streamOf(events));

        expect(assembled(chunks)).toEqual(wholeOf(events));
      }),
      { numRuns: 300 },
    );
  });

  it('finishes each choice once, after its content, and numbers calls without gaps', () => {
    fc.assert(
      fc.property(replyEvents, (events) => {
        const chunks = chunksOf(streamOf(events));

        for (const choice of [0, 1]) {
          const candidates = chunks
            .flatMap((chunk) => items(member(chunk, 'choices')))
            .filter((candidate) => member(candidate, 'index') === choice);
          const ends = candidates.map((candidate) => member(candidate, 'finish_reason') !== null);
          expect(ends).toEqual(ends.map((_, index) => index === ends.length - 1));
          const calls = deltasOf(chunks, choice).flatMap((delta) =>
            items(member(delta, 'tool_calls')).filter((call) => member(call, 'id') !== undefined),
          );
          expect(calls.map((call) => member(call, 'index'))).toEqual([...calls.keys()]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('reports the sum of input and output as the total', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (inputTokens, outputTokens) => {
        const usageEvent = { ...usage, usage: { ...usage.usage, inputTokens, outputTokens } };

        const written = member(wholeOf([text('Hi'), finish('stop'), usageEvent]), 'usage');

        expect(
          Number(member(written, 'prompt_tokens')) + Number(member(written, 'completion_tokens')),
        ).toBe(member(written, 'total_tokens'));
      }),
      { numRuns: 50 },
    );
  });
});

function record(value: unknown): object {
  return isJsonObject(value) ? value : {};
}

function readByPackage(stream: string): Promise<ChatCompletion> {
  const lines = chunksOf(stream).map((chunk) => `${JSON.stringify(chunk)}\n`);
  const { body } = new Response(lines.join(''));
  if (body === null) throw new Error('A response with text has a body.');
  return ChatCompletionStream.fromReadableStream(body).finalChatCompletion();
}
