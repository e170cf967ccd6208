/**
 * The upstream of the benchmarks, a process of its own: one recorded chat completion, whole or
 * streamed, and the same stream in the other dialects.
 */
import { createServer } from 'node:http';

const reply = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1763683200,
    model: 'gpt-4o',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'x'.repeat(620), refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 180, completion_tokens: 160, total_tokens: 340 },
  }),
);
const event = (delta, finish = null) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1763683200,
    model: 'gpt-4o',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: null,
  })}\n\n`;
const geminiEvent = (finish) =>
  `data: ${JSON.stringify({
    candidates: [{ content: { parts: [{ text: ' word' }], role: 'model' }, ...finish, index: 0 }],
    usageMetadata: { promptTokenCount: 180, candidatesTokenCount: 160, totalTokenCount: 340 },
    modelVersion: 'gemini-3-pro',
    responseId: 'bench',
  })}\r\n\r\n`;
const anthropicEvent = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const message = {
  id: 'msg_bench',
  model: 'claude',
  usage: { input_tokens: 180, output_tokens: 1 },
};

/** What each dialect sends first, again and again, and last. */
const streams = {
  openai: {
    first: '',
    delta: event({ content: ' word' }),
    last: `${event({}, 'stop')}data: [DONE]\n\n`,
  },
  gemini: { first: '', delta: geminiEvent({}), last: geminiEvent({ finishReason: 'STOP' }) },
  anthropic: {
    first:
      anthropicEvent({ type: 'message_start', message }) +
      anthropicEvent({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'text', text: '' },
      }),
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

function streamOf(url) {
  if (url.endsWith('/messages')) return streams.anthropic;
  return url.includes(':streamGenerateContent') ? streams.gemini : streams.openai;
}

/** So many events, so many ms between them; 0 ms is a burst. */
function stream(res, { first, delta, last }, [events, everyMs]) {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  if (first !== '') res.write(first);
  let left = events;
  if (everyMs === 0) {
    for (; left > 0; left -= 1) res.write(delta);
    res.end(last);
    return;
  }
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return res.write(delta);
    clearInterval(timer);
    res.end(last);
  }, everyMs);
  res.on('close', () => clearInterval(timer));
}

const server = createServer((req, res) => {
  const [, events, everyMs] = /^\/(\d+)-(\d+)\//.exec(req.url ?? '') ?? [];
  req.resume();
  req.on('end', () => {
    if (events !== undefined) {
      return stream(res, streamOf(req.url), [Number(events), Number(everyMs)]);
    }
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': reply.length });
    res.end(reply);
  });
});
server.listen(0, '127.0.0.1', () => process.send?.(server.address().port));
