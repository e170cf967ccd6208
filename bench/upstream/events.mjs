/**
 * The events of a streamed reply in each dialect: the first, the repeated and the last ones. A
 * stamped event contains the time at which it was sent.
 */
const stampDigits = 16;
const noStamp = '0'.repeat(stampDigits);

/** One HTTP chunk of a chunked body. */
export function chunkOf(text) {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

const openaiEvent = (delta, ending = {}) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1_763_683_200,
    model: 'gpt-4o',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...ending.choice }],
    usage: null,
    ...ending.chunk,
  })}\n\n`;

const geminiEvent = (ending) =>
  `data: ${JSON.stringify({
    candidates: [{ content: { parts: [{ text: ' word' }], role: 'model' }, ...ending, index: 0 }],
    usageMetadata: { promptTokenCount: 180, candidatesTokenCount: 160, totalTokenCount: 340 },
    modelVersion: 'gemini-3-pro',
    responseId: 'bench',
  })}\r\n\r\n`;

const anthropicEvent = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const message = {
  id: 'msg_bench',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [],
  usage: { input_tokens: 180, output_tokens: 1 },
};
const textBlock = { type: 'text', text: '' };

/** A chat with `include_usage` ends with a separate event for it, without choices. */
const openaiUsage = {
  choices: [],
  usage: { prompt_tokens: 180, completion_tokens: 160, total_tokens: 340 },
};

export const streams = {
  openai: {
    first: '',
    delta: openaiEvent({ content: ' word' }),
    stamped: openaiEvent({ content: ' word' }, { chunk: { at: noStamp } }),
    last: [
      openaiEvent({}, { choice: { finish_reason: 'stop' } }),
      openaiEvent({}, { chunk: openaiUsage }),
      'data: [DONE]\n\n',
    ].join(''),
  },
  gemini: {
    first: '',
    delta: geminiEvent({}),
    last: geminiEvent({ finishReason: 'STOP' }),
  },
  anthropic: {
    first:
      anthropicEvent({ type: 'message_start', message }) +
      anthropicEvent({ type: 'content_block_start', index: 0, content_block: textBlock }),
    delta: anthropicEvent({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: ' word' },
    }),
    last:
      anthropicEvent({ type: 'content_block_stop', index: 0 }) +
      anthropicEvent({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { output_tokens: 160 },
      }) +
      anthropicEvent({ type: 'message_stop' }),
  },
};

/** Writes stamped events: a copy of one chunk with the current µs of CLOCK_MONOTONIC. */
export function stamper({ stamped }) {
  const chunk = Buffer.from(chunkOf(stamped));
  const at = chunk.indexOf(noStamp);
  return () => {
    const [seconds, nanos] = process.hrtime();
    const bytes = Buffer.from(chunk);
    bytes.latin1Write(
      String(Math.round(seconds * 1e6 + nanos / 1e3)).padStart(stampDigits, '0'),
      at,
    );
    return bytes;
  };
}
