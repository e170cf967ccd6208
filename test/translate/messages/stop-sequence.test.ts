// suite: quick
/** The stop sequence that ended a reply, where the server names it as vLLM and SGLang do. */
import { expect, it } from 'vitest';
import { json, sse } from '../../relay/streams.ts';
import { anyModelGateway, messages } from '../../support/any-model-gateway.ts';
import { foldedMessage, messagesEvents } from '../../support/laws/messages-laws.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

const stops = ['###', 'END'];
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const frame = { id: 'c', created: 1, model: 'm' };

/** How the caller's message ends if the choice ends with these members. */
async function stopOf(members: object, stream: boolean, delta: object = { content: 'Hi' }) {
  const end = { index: 0, finish_reason: 'stop', ...members };
  const chunks = [
    { ...frame, object: 'chat.completion.chunk', choices: [{ index: 0, delta }] },
    { ...frame, object: 'chat.completion.chunk', choices: [{ ...end, delta: {} }], usage },
  ].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  const message = { role: 'assistant', ...delta };
  const whole = { ...frame, object: 'chat.completion', choices: [{ ...end, message }], usage };
  const upstream = scriptedUpstream(
    stream ? sse(...chunks, 'data: [DONE]\n\n') : json(JSON.stringify(whole)),
  );
  const body = {
    ...{ model: 'm', max_tokens: 9, stop_sequences: stops, stream },
    messages: [{ role: 'user', content: 'hi' }],
  };
  const { text, headers } = await anyModelGateway({
    upstream,
    channel: { dialect: 'openai' },
  }).call(messages(JSON.stringify(body)));
  const reply = stream ? foldedMessage(messagesEvents(text)) : JSON.parse(text);
  return [reply.stop_reason, reply.stop_sequence, headers['x-tollgate-dropped']];
}

const named = ['stop_reason', 'matched_stop'].flatMap((name) =>
  [false, true].map((stream) => ({ name, stream })),
);

it.each(named)('is that of the request, in `$name`; streamed: $stream', async ({
  name,
  stream,
}) => {
  for (const stop of stops) {
    expect(await stopOf({ [name]: stop }, stream)).toEqual(['stop_sequence', stop, undefined]);
  }
  for (const other of [null, 128_009, '<|im_end|>', 'end_turn', '']) {
    expect(await stopOf({ [name]: other }, stream)).toEqual(['end_turn', null, undefined]);
  }
});

it.each(named)('is not that of a reply with a call, in `$name`; $stream', async ({
  name,
  stream,
}) => {
  const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };

  expect((await stopOf({ [name]: 'END' }, stream, { tool_calls: [call] })).slice(0, 2)).toEqual([
    'tool_use',
    null,
  ]);
});
