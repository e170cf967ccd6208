// suite: quick
/** Streams to Responses callers: the order and the time in which their events are written. */
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { writeStream } from '../../../src/dialects/openai/responses/server/write-stream.ts';
import { GatewayError } from '../../../src/errors.ts';
import { member } from '../../../src/json.ts';
import { responsesEvents } from '../../support/laws/responses-laws.ts';
import { call, described, each, finish, text, thought } from './brief.ts';
import { someUsage } from './events.ts';
import { countedHead, outputOf, plainContext, streamOf, typesOf } from './writer.ts';

describe('a stream', () => {
  it('announces a text, streams it, and repeats it whole', () => {
    const { events } = streamOf(each([text('Hel'), text('lo'), finish('stop')]));

    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
  });

  it('begins with the first event that shows that the upstream replies', () => {
    const writer = writeStream(countedHead(), plainContext);

    expect(writer.write([{ type: 'start', id: 'x', model: 'y' }])).toBe('');
    expect(writer.write([{ type: 'usage', usage: someUsage }])).toBe('');
    expect(writer.write([text('')])).toContain('event: response.created');
  });

  it('has nothing of its end before the end', () => {
    const writer = writeStream(countedHead(), plainContext);
    const before = writer.write([text('a'), finish('stop'), { type: 'usage', usage: someUsage }]);

    expect(before).not.toContain('.done');
    expect(writer.end()).toMatch(/output_text\.done[\s\S]*response\.completed/);
  });

  it('writes one delta for each fragment of arguments, and a whole call at its end', () => {
    const [begin, end] = call('weather', '{"city":');
    const more: ContentEvent = { type: 'tool_arguments', choice: 0, call: 0, text: '"Oslo"}' };
    const writer = writeStream(countedHead(), plainContext);
    const rows = [begin, more, end].map((event) =>
      writer.write(event === undefined ? [] : [event]),
    );

    expect(rows.map((row) => typesOf(responsesEvents(row)))).toEqual([
      ['created', 'in_progress', 'output_item.added', 'function_call_arguments.delta'],
      ['function_call_arguments.delta'],
      ['function_call_arguments.done', 'output_item.done'],
    ]);
  });

  it('holds a custom call back until it is whole', () => {
    const [begin, end] = call('patch', '{"input":"*** Begin"}');
    const writer = writeStream(countedHead(), plainContext);
    const rows = [begin, end].map((event) => writer.write([event]));

    expect(typesOf(responsesEvents(rows[0] ?? ''))).toEqual(['created', 'in_progress']);
    expect(typesOf(responsesEvents(rows[1] ?? ''))).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
    ]);
  });

  it('writes interleaved calls one after the other', () => {
    const [beginA, endA] = call('weather', '{"a":', 0);
    const [beginB, endB] = call('weather', '{"b":', 1);
    const more = (number: number): ContentEvent => ({
      type: 'tool_arguments',
      choice: 0,
      call: number,
      text: '1}',
    });
    const woven = [beginA, beginB, more(1), text('?'), more(0), endB, endA];

    expect(described(streamOf(each(woven)).response)).toEqual([
      'function_call: {"a":1}',
      'function_call: {"b":1}',
      'message: ?',
    ]);
  });

  it('writes all calls that nothing ended', () => {
    const [beginA] = call('weather', '{"a":', 0);
    const [beginB] = call('weather', '{"b":', 1);
    const [beginC] = call('patch', '{"input":"c"}', 2);
    const more = (number: number): ContentEvent => ({
      type: 'tool_arguments',
      choice: 0,
      call: number,
      text: '1}',
    });

    const { response } = streamOf(each([beginA, beginB, beginC, more(1), more(0)]));

    expect(described(response)).toEqual([
      'function_call: {"a":1}',
      'function_call: {"b":1}',
      'custom_tool_call: c',
    ]);
  });

  it('sends logprobs once, in the delta after those that had none of their own', () => {
    const context = { ...plainContext, wantsLogprobs: true };
    const logprobs = (token: string): ContentEvent => ({
      type: 'logprobs',
      choice: 0,
      tokens: [{ token, logprob: -1, top: [] }],
    });
    const rows = [[text('a'), logprobs('a')], [text('b')], [logprobs('b')], [text('c')]];

    const { events } = streamOf(rows, context);

    const deltas = events.filter(({ name }) => name === 'response.output_text.delta');
    expect(deltas.map(({ data }) => data)).toMatchObject([
      { delta: 'a', logprobs: [{ token: 'a' }] },
      { delta: 'b', logprobs: [] },
      { delta: 'c', logprobs: [{ token: 'b' }] },
    ]);
  });

  it('sends logprobs with the delta of their text', () => {
    const tokens = [{ token: 'é', logprob: -0.5, top: [] }];
    const context = { ...plainContext, wantsLogprobs: true };
    const row = [text('é'), { type: 'logprobs', choice: 0, tokens } as const];
    const logprobs = [{ token: 'é', logprob: -0.5, bytes: [195, 169], top_logprobs: [] }];

    const { events, response } = streamOf([row, [finish('stop')]], context);

    const delta = events.find(({ name }) => name === 'response.output_text.delta');
    expect(delta?.data).toMatchObject({ delta: 'é', logprobs });
    expect(response).toMatchObject({ output: [{ content: [{ logprobs }] }] });
    expect(JSON.stringify(outputOf(streamOf([row]).response))).not.toContain('top_logprobs');
  });

  it('keeps a text open for citations that come last, after its signature', () => {
    const providerData = { provider: 'gemini', kind: 'signature', data: 'S' } as const;
    const rows = each([
      thought('Hm.'),
      text('Oslo is cold.'),
      { type: 'text', choice: 0, text: '', providerData },
      {
        type: 'citations',
        choice: 0,
        citations: [
          { url: 'https://a.example', title: 'A', start: 0, end: 4 },
          { url: 'https://b.example', title: undefined, start: undefined, end: undefined },
        ],
      },
      finish('stop'),
    ]);

    const { response } = streamOf(rows);

    expect(described(response)).toEqual(['message: Oslo is cold.', 'reasoning:  +text:S']);
    expect(response).toMatchObject({
      output: [
        {
          content: [
            {
              annotations: [
                { type: 'url_citation', start_index: 0, end_index: 4, title: 'A' },
                { start_index: 13, end_index: 13, title: 'https://b.example' },
              ],
            },
          ],
        },
        {},
      ],
    });
  });

  it('counts the offsets of citations from the message that has their text', () => {
    const { response } = streamOf(
      each([
        text('One.'),
        ...call('weather', '{}'),
        text('Two 😀 three.'),
        {
          type: 'citations',
          choice: 0,
          citations: [
            { url: 'https://a.example', title: 'A', start: 11, end: 16 },
            { url: 'https://b.example', title: 'B', start: 2, end: 7 },
            { url: 'https://c.example', title: 'C', start: 0, end: 4 },
          ],
        },
      ]),
    );

    const [annotations] = outputOf(response).flatMap((item) => {
      const [part] = outputOf({ output: member(item, 'content') ?? [] });
      return member(part, 'text') === 'Two 😀 three.' ? [member(part, 'annotations')] : [];
    });
    expect(annotations).toMatchObject([
      { title: 'A', start_index: 7, end_index: 12 },
      { title: 'B', start_index: 0, end_index: 3 },
    ]);
  });

  it('ends with an error event and a failed response that has what was shown', () => {
    const writer = writeStream(countedHead(), plainContext);
    writer.write([...call('weather', '{}'), text('Half of')]);
    const error = new GatewayError('upstream_failed', 'It broke.');

    const pieces = writer.breakOff(error);

    expect(pieces.map((piece) => typesOf(responsesEvents(piece)))).toEqual([['error'], ['failed']]);
    expect(member(responsesEvents(pieces[1] ?? '')[0]?.data, 'response')).toMatchObject({
      id: 'resp_tg_n1',
      status: 'failed',
      error: { code: 'server_error', message: 'It broke.' },
      usage: null,
      output: [
        { type: 'function_call', status: 'completed' },
        { type: 'message', status: 'incomplete', content: [{ text: 'Half of' }] },
      ],
    });
    expect(writer.breakOff(error)).toEqual([]);
  });

  it('that fails before its first event begins like any other', () => {
    const writer = writeStream(countedHead(), plainContext);
    const pieces = writer.breakOff(new GatewayError('insufficient_quota', 'No money.'));

    expect(pieces.map((piece) => typesOf(responsesEvents(piece)))).toEqual([
      ['created', 'in_progress', 'error'],
      ['failed'],
    ]);
  });

  it('cannot break off after its end', () => {
    const writer = writeStream(countedHead(), plainContext);
    writer.end();

    expect(writer.breakOff(new GatewayError('upstream_failed', 'Late.'))).toEqual([]);
  });
});
