// suite: quick
/** A truncated tool call is never passed on as a complete one. */
import { describe, expect, it } from 'vitest';
import { asking, eventStream, exchanged, protocolsOf } from '../laws/exchange.ts';

const start = (id: string): object => ({ type: 'message_start', message: { id, usage: {} } });
const begin = {
  type: 'content_block_start',
  index: 0,
  content_block: { type: 'tool_use', id: 'toolu_1', name: 'paint', input: {} },
};
const more = (partial_json: string): object => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'input_json_delta', partial_json },
});
const stop = [
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];

function stream(...events: readonly object[]): ReturnType<typeof eventStream> {
  return eventStream(...events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
}

it.each([
  [
    'openai',
    [
      {
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [{ index: 0, id: 'c', function: { name: 'paint', arguments: '{"a":1' } }],
            },
          },
        ],
      },
      { choices: [{ index: 0, delta: {}, finish_reason: 'content_filter' }] },
    ],
  ],
  [
    'anthropic',
    [
      start('msg_1'),
      begin,
      more('{"a":1'),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'refusal' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ],
  ],
] as const)('native callers get no call that a filter of %s truncated', async (dialect, events) => {
  const end = dialect === 'openai' ? ['data: [DONE]\n\n'] : [];
  const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);

  const { answer: reply } = await exchanged(
    dialect,
    asking('native', 'sse'),
    eventStream(...lines, ...end),
  );

  expect(reply.text).toContain('"finishReason":"SAFETY"');
  expect(reply.text).not.toMatch(/functionCall|_raw/);
});

describe.each(protocolsOf('anthropic'))('to %s, a call', (protocol) => {
  it.each([
    ['of a stream with another spliced in', [begin, more('{"a":"Spark'), start('msg_2'), begin]],
    ['that begins again where it was', [begin, more('{"a":"Spark'), begin]],
    ['that nothing ends', [begin, more('{"a":"Spark')]],
  ])('%s ends in one error', async (_, events) => {
    const scripted = stream(start('msg_1'), ...events, ...stop);

    const { answer: reply, gateway } = await exchanged(
      'anthropic',
      asking(protocol, 'sse'),
      scripted,
    );

    expect(reply.text).toContain('"error":{');
    expect(reply.text).not.toMatch(/_raw|"finish_reason":"|"finishReason"|\[DONE\]/);
    expect(gateway.records[0]?.outcome).not.toBe('complete');
  });

  it('of a message with a repeated start is complete', async () => {
    const whole = [
      begin,
      start('msg_1'),
      more('{"a":1}'),
      { type: 'content_block_stop', index: 0 },
    ];

    const { answer: reply, gateway } = await exchanged(
      'anthropic',
      asking(protocol, 'sse'),
      stream(start('msg_1'), ...whole, ...stop),
    );

    expect(reply.text).not.toContain('"error":{');
    expect(gateway.records[0]?.outcome).toBe('complete');
  });
});
