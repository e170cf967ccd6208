/**
 * The events of a streamed reply in each dialect, and of the Responses API: the first, the repeated and the last ones. A
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

const responsesEvent = (type, members) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 7, ...members })}\n\n`;
const response = {
  id: 'resp_0fef0f8a68937870006911e9ecf124819491634b434678464a',
  object: 'response',
  created_at: 1_763_683_200,
  status: 'in_progress',
  model: 'gpt-4o',
  output: [],
  tools: [],
  usage: null,
};
const outputId = 'msg_0fef0f8a68937870006911e9ef0ecc81949d727f28043244eb';
const outputText = (text) => ({ type: 'output_text', annotations: [], logprobs: [], text });
const outputItem = (status, content) => ({
  ...{ id: outputId, type: 'message', status, content, role: 'assistant' },
});
const outputPlace = { item_id: outputId, output_index: 0, content_index: 0 };
const outputWhole = outputItem('completed', [outputText(' word'.repeat(160))]);

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
  responses: {
    first:
      responsesEvent('response.created', { response }) +
      responsesEvent('response.in_progress', { response }) +
      responsesEvent('response.output_item.added', {
        output_index: 0,
        item: outputItem('in_progress', []),
      }) +
      responsesEvent('response.content_part.added', { ...outputPlace, part: outputText('') }),
    delta: responsesEvent('response.output_text.delta', {
      ...outputPlace,
      delta: ' word',
      logprobs: [],
      obfuscation: 'Tv7ebWtX2Ed',
    }),
    last:
      responsesEvent('response.output_text.done', {
        ...outputPlace,
        text: outputWhole.content[0].text,
        logprobs: [],
      }) +
      responsesEvent('response.content_part.done', {
        ...outputPlace,
        part: outputWhole.content[0],
      }) +
      responsesEvent('response.output_item.done', { output_index: 0, item: outputWhole }) +
      responsesEvent('response.completed', {
        response: {
          ...response,
          status: 'completed',
          output: [outputWhole],
          usage: { input_tokens: 180, output_tokens: 160, total_tokens: 340 },
        },
      }),
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
